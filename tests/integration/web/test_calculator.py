"""The calculator, the careful fits on a run's page, and the list of all figures."""

import re
from html.parser import HTMLParser
from urllib.parse import urlencode

import pytest
from fastapi.testclient import TestClient

from app.config import Settings
from app.domain.metrics.catalogue import CATALOGUE
from app.main import create_app
from tests.integration.web.conftest import BASE_URL, Site


@pytest.fixture(scope="module")
def client(sqlite_template, tmp_path_factory: pytest.TempPathFactory):
    home = tmp_path_factory.mktemp("calculator")
    (home / "halflife.db").write_bytes(sqlite_template.read_bytes())
    with TestClient(create_app(Settings(home=home)), base_url=BASE_URL) as opened:
        yield opened


class Words(HTMLParser):
    """The text of a page, without what scripts hold."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.skipping = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.skipping = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self.skipping = False

    def handle_data(self, data: str) -> None:
        if not self.skipping:
            self.found.append(data)


def words(html: str) -> str:
    reader = Words()
    reader.feed(html)
    return re.sub(r"\s+", " ", " ".join(reader.found))


def test_counts_in_all_figures_out(client: TestClient) -> None:
    address = "/calculator?" + urlencode({"solved": "84,17,4,1,3,0", "of": "164", "theta": "50,80"})
    answer = client.get(address)
    assert answer.status_code == 200
    shown = words(answer.text)
    assert "λ, published index 0.931 R² 0.987, excellent; half-life 0.7" in shown
    assert "λ, careful fit, all attempts 0.878 0.676 to 1.120 · Decay" in shown
    assert "λ, careful fit, debugging alone (t ≥ 1) 0.813" in shown
    assert "Unequal difficulty makes effectiveness fall" in shown
    # θ, published, careful, careful for debugging alone.
    assert "80 2 2 (2 to 3) 2 (2 to 4)" in shown
    # What was entered stands in the form, and goes along with the planner's.
    assert answer.text.count('value="84,17,4,1,3,0"') == 2
    assert 'data-chart="figure"' in answer.text
    link = re.search(r'href="(/calculator/figures.json[^"]+)"', answer.text)
    assert link is not None
    figures = client.get(link[1].replace("&amp;", "&"))
    assert figures.json()["published"]["t_theta"] == {"50": 1, "80": 2}
    assert figures.headers["content-disposition"] == 'attachment; filename="decay.json"'


def test_unbounded_and_too_few_are_said(client: TestClient) -> None:
    shown = words(client.get("/calculator?solved=8,0,0&of=20").text)
    assert "no finite value" in shown
    assert "No upper end: nothing was solved after the first of these attempts" in shown
    assert "Half-life at most 0.6 attempts" in shown
    assert "50 none at most 1 none" in shown
    assert "Too few solves: 0 in these attempts" in shown
    # Of 14 at t = 1 three are solved, and of the other 11 none: neither an instant end nor no decline is ruled out.
    shown = words(client.get("/calculator?solved=150,3,0&of=164").text)
    assert "no decay at all is compatible too" in shown
    assert "Half-life 0.0 (0.0 to no upper end) attempts" in shown
    assert "Too few points" in shown


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"solved": "84,x", "of": "164"}, "&#39;x&#39; is not a count"),
        ({"solved": "84", "of": "many"}, "&#39;many&#39; is no number of problems"),
        ({"solved": "84,100", "of": "164"}, "184 solved and 0 censored of 164 problems"),
        ({"solved": "5", "of": "9", "theta": "0"}, "&#39;0&#39; is not a percentage between 0 and 100"),
        ({"problems": "164", "attempts": "6", "first": "100"}, "&#39;100&#39; is not a percentage between 0 and 100"),
        ({"problems": "0", "attempts": "6", "first": "50"}, "There must be 1 to 1,000,000, not 0"),
        ({"solved": "<b>", "of": "1"}, "&#39;&lt;b&gt;&#39; is not a count"),
    ],
)
def test_what_is_wrong_stands_under_its_field(client: TestClient, query: dict[str, str], said: str) -> None:
    answer = client.get("/calculator?" + urlencode(query))
    assert answer.status_code == 422
    assert said in answer.text
    assert "aria-invalid" in answer.text
    assert "data-chart" not in answer.text


def test_a_plan(client: TestClient) -> None:
    shown = words(client.get("/calculator?problems=164&attempts=6&first=50").text)
    # Connor's formula at ψ = 0.2 gives 9.7 points, 16 of 164 problems.
    assert "20 9.7 16" in shown
    assert "All attempts 0.15 per attempt" in shown
    nothing = words(client.get("/calculator?problems=3&attempts=1&first=50").text)
    assert "none can be found" in nothing
    assert "no decay would be found with these counts" in nothing


def test_an_empty_form_offers_an_example(client: TestClient) -> None:
    page = client.get("/calculator")
    assert page.status_code == 200
    link = re.search(r'href="(/calculator\?[^"]+)"', page.text)
    assert link is not None
    assert "0.931" in client.get(link[1].replace("&amp;", "&")).text


def test_every_figure_is_listed_with_its_paragraph(client: TestClient) -> None:
    page = client.get("/computed").text
    for metric in CATALOGUE:
        assert f"<code>{metric.slug}</code>" in page
        assert f'id="{metric.anchor}"' in page
    for anchor in ("planning", "paired", "intervals"):
        assert f'id="{anchor}"' in page


def test_a_run_shows_its_careful_fits(site: Site) -> None:
    # 96, 23, 16, 5, 2, 4 of 164.
    shown = words(site.client.get(f"/runs/{site.example.completed}").text)
    assert "λ, careful fit, all attempts 0.344 0.228 to 0.476 · Decay: the whole interval of λ lies above 0." in shown
    assert "λ, careful fit, debugging alone (t ≥ 1) 0.258 0.067 to 0.473" in shown
    assert "Only fresh-start arms tell the two apart" in shown
