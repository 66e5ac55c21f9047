"""A page as its readers have it, on a desktop and a phone, light and dark: what goes wrong, and what axe finds."""

from pathlib import Path
from typing import Literal

from playwright.sync_api import BrowserContext, Page, expect

AXE = (Path(__file__).parents[1] / "vendor" / "axe" / "axe.min.js").read_text()
SERIOUS = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
  .filter(found => ["serious", "critical"].includes(found.impact))
  .map(found => `${found.id}: ${found.nodes.slice(0, 3).map(node => node.html.slice(0, 160)).join(" | ")}`)"""
# Violations of the policy are console errors as well; the event names the element.
VIOLATIONS = """document.addEventListener("securitypolicyviolation", event =>
  console.error("violation", event.violatedDirective, event.target?.outerHTML?.slice(0, 200)))"""
TWO_FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""What a changed preference brings about is done by then."""

Scheme = Literal["light", "dark"]
LOOKS: tuple[tuple[int, tuple[Scheme, Scheme]], ...] = ((1280, ("light", "dark")), (375, ("dark", "light")))
"""Widths, each with the theme in which a page is loaded and the one it then changes to.

A chart is laid out for the width at which it is drawn, so that each has a load of its own; themes change in place.
"""


def faults_of(page: Page, url: str) -> list[str]:
    """What goes wrong on a page of the application under `url`, from now on."""
    faults: list[str] = []
    page.add_init_script(VIOLATIONS)
    page.on("console", lambda message: faults.append(message.text) if message.type != "log" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("requestfailed", lambda request: faults.append(f"failed: {request.url}"))
    page.on(
        "request",
        lambda request: None if request.url.startswith((url, "data:")) else faults.append(f"off origin: {request.url}"),
    )
    return faults


def wrong_with(context: BrowserContext, url: str, path: str, *, says: str = "", answers: int = 200) -> list[str]:
    """What is wrong with a page of the application under `url`, each with the page, its width and its theme.

    That is: another answer than `answers`, `says` not in its text, any fault, a chart that is not drawn, what is wider
    than the screen, and, with everything folded open, what axe calls serious or critical.
    """
    found: list[str] = []
    for width, schemes in LOOKS:
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 900})
        faults = faults_of(page, url)
        page.emulate_media(color_scheme=schemes[0])
        answer = page.goto(url + path)
        if answer is None or answer.status != answers:
            faults.append(f"answered {answer and answer.status}")
        if says not in page.locator("main").inner_text():
            faults.append(f"does not say “{says}”")
        for scheme in schemes:
            _show(page, scheme)
            if page.locator("[data-chart]").count():
                expect(page.locator(".chart .main-svg").first, f"{path} {width} {scheme}").to_be_visible()
            needed = page.evaluate("document.documentElement.scrollWidth")
            if needed > width:
                faults.append(f"is {needed} px wide")
            found += [
                f"{path} {width} {scheme}: {fault}"
                for fault in faults
                # The console calls every answer that is an error one.
                if answers == 200 or "the server responded with a status of" not in fault
            ]
            faults.clear()
        # After the faults, because axe itself offends against the policy.
        page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
        page.evaluate(AXE)
        for scheme in reversed(schemes):
            _show(page, scheme)
            found += [f"{path} {width} {scheme}: {violation}" for violation in page.evaluate(SERIOUS)]
        page.close()
    return found


def _show(page: Page, scheme: Scheme) -> None:
    # Without motion: colours half-way between two themes are none of the page's.
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.evaluate(TWO_FRAMES)
