"""axe finds nothing serious on any page, with everything folded open, on a desktop and a phone, light and dark."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.e2e.conftest import Served
from tests.e2e.test_pages_in_a_browser import PATHS, address

AXE = (Path(__file__).parents[1] / "vendor" / "axe" / "axe.min.js").read_text()
SERIOUS = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
  .filter(found => ["serious", "critical"].includes(found.impact))
  .map(found => `${found.id}: ${found.nodes.slice(0, 3).map(node => node.html.slice(0, 160)).join(" | ")}`)"""
ERRORS = ["/runs/99999", "/models/99999"]


FORMS = [("/runs/new", "Start the run"), ("/models", "Add the model"), ("/problem-sets/new", "Upload and try it")]


@pytest.mark.parametrize(("path", "button"), FORMS)
def test_nothing_serious_or_critical_about_refused_forms(
    browser: Browser, served: Served, path: str, button: str
) -> None:
    context = browser.new_context(viewport={"width": 375, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    found: list[str] = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.goto(served.url + path)
        with page.expect_response(lambda response: response.request.method == "POST") as answer:
            page.get_by_role("button", name=button, exact=True).click()
        assert answer.value.status == 422
        page.locator("[aria-invalid]").first.wait_for()
        page.evaluate(AXE)
        found += [f"{scheme} {violation}" for violation in page.evaluate(SERIOUS)]
    context.close()
    assert found == []


@pytest.mark.parametrize("path", [*PATHS, *ERRORS])
def test_nothing_serious_or_critical(browser: Browser, served: Served, path: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    found: list[str] = []
    for width in (1280, 375):
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.goto(served.url + address(served, path))
            page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
            page.evaluate(AXE)
            found += [f"{width} {scheme} {violation}" for violation in page.evaluate(SERIOUS)]
    context.close()
    assert found == []
