"""axe finds nothing serious on refused forms and on pages that are not there; on all others, see their own tests."""

import pytest
from playwright.sync_api import Browser

from tests.e2e.conftest import Served
from tests.e2e.visits import AXE, SERIOUS, wrong_with

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


@pytest.mark.parametrize("path", ERRORS)
def test_nothing_is_wrong_with_an_error(browser: Browser, served: Served, path: str) -> None:
    context = browser.new_context()
    assert wrong_with(context, served.url, path, answers=404) == []
    context.close()
