"""A page in a real Chromium: nothing is fetched, nothing is wrong, search and filters and links work, and names do nothing."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from offsets_tool.review.review import review_of
from tests.corpora import INCIDENTS
from tests.report.pages import page_of, page_of_incident
from tests.report.test_hostile_names import write_hostile_names

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="needs Playwright: pip install 'offsets-tool[dev]'"
)
PdfReader = pytest.importorskip("pypdf", reason="needs pypdf: pip install 'offsets-tool[dev]'").PdfReader

CHROMIUM: Final = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
WITNESS: Final = """
window.__told = [];
addEventListener("securitypolicyviolation", (event) => window.__told.push(`${event.violatedDirective} ${event.blockedURI}`));
"""
NO_NUMBERS: Final = """
[...document.querySelectorAll(".live")].flatMap((live) => Object.entries(live.view._runtime.scales)
  .filter(([, scale]) => scale.value.domain().some((each) => typeof each !== "string" && Number.isNaN(+each)))
  .map(([name]) => `${live.closest("figure").id}: ${name}`))
"""
"""The scales of pictures whose ends are no numbers: their marks are not seen."""
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium"),
]


class Opened(NamedTuple):
    """A page open in a browser, with the errors and requests since then."""

    page: Any
    errors: list[str]
    fetched: list[str]
    dialogs: list[str]

    def read_through(self) -> None:
        """Scroll to the end, so that every picture is drawn."""
        self.page.evaluate("document.documentElement.style.scrollBehavior = 'auto'")
        for figure in self.page.locator("figure").all():
            figure.scroll_into_view_if_needed()
            sync_api.expect(figure).to_have_class("is-live", timeout=60_000)
        assert self.page.evaluate("window.__told") == []
        assert self.page.evaluate(NO_NUMBERS) == []

    def texts(self) -> list[str]:
        """Return the texts of the timeline's events that are visible."""
        return [each.inner_text() for each in self.page.locator("#events > li:visible").all()]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


def opened(browser: Any, file: Path, **options: Any) -> Opened:
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900}, **options)
    found = Opened(context.new_page(), [], [], [])
    address = file.as_uri()

    def route(asked: Any) -> None:
        if asked.request.url.partition("#")[0] == address:
            asked.continue_()
            return
        found.fetched.append(asked.request.url)
        asked.abort()

    context.route("**/*", route)
    found.page.add_init_script(WITNESS)
    found.page.on("console", lambda said: found.errors.append(said.text) if said.type == "error" else None)
    found.page.on("pageerror", lambda error: found.errors.append(str(error)))
    found.page.on("dialog", lambda dialog: (found.dialogs.append(dialog.message), dialog.dismiss()))
    found.page.goto(address)
    return found


@pytest.fixture(scope="module")
def incident(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("incident") / "incident.html"
    file.write_text(page_of_incident(INCIDENTS / "reset-to-earliest", "payments"))
    return file


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    file = folder / "hostile.html"
    file.write_text(page_of(review_of(write_hostile_names(folder / "log"))))
    return file


@pytest.mark.parametrize(
    ("name", "scheme"), [("incident", "light"), ("incident", "dark"), ("hostile", "light")]
)
def test_nothing_is_wrong_and_nothing_is_fetched(
    browser: Any, name: str, scheme: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    seen = opened(browser, request.getfixturevalue(name), color_scheme=scheme)
    assert seen.page.locator("figure").count() > 0
    seen.read_through()
    seen.page.locator("summary").first.click()
    seen.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert (seen.errors, seen.fetched, seen.dialogs) == ([], [], [])
    assert seen.page.evaluate("typeof window.__pwned") == "undefined"
    ground = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground < "rgb(2") == (scheme == "dark")
    for width in (1280, 400):
        seen.page.set_viewport_size({"width": width, "height": 900})
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert len(seen.page.screenshot(path=str(tmp_path / "page.png"), full_page=True)) > 50_000


def test_search_and_filters(browser: Any, incident: Path) -> None:
    seen = opened(browser, incident)
    every = seen.texts()
    assert seen.page.locator("#matching").inner_text() == f"{len(every)} of {len(every)}"
    seen.page.fill("#search", "rebalance GENERATION 4:")
    (only,) = seen.texts()
    assert (
        "Rebalance to generation 4" in only
        and seen.page.locator("#matching").inner_text() == f"1 of {len(every)}"
    )
    seen.page.fill("#search", "")
    seen.page.select_option("#by-severity", "warning")
    (warning,) = seen.texts()
    assert "were set from outside" in warning
    seen.page.select_option("#by-severity", "")
    seen.page.select_option("#by-kind", "group")
    assert 0 < len(seen.texts()) < len(every) and all("commits for" not in text for text in seen.texts())
    seen.page.select_option("#by-kind", "")
    assert seen.texts() == every


def test_links_open_their_records_and_lead_back(browser: Any, incident: Path) -> None:
    seen = opened(browser, incident)
    record = seen.page.locator("#record-1-43")
    assert record.get_attribute("open") is None
    seen.page.locator("#finding-1 a.place").first.click()
    assert record.get_attribute("open") is not None
    sync_api.expect(record.locator("pre").first).to_be_in_viewport()
    assert '"committed' in record.inner_text() or '"offset"' in record.inner_text()
    record.locator(".back a").first.click()
    assert seen.page.url.endswith("#finding-1")
    sync_api.expect(seen.page.locator("#finding-1")).to_be_in_viewport()


def test_a_link_to_an_event_that_is_filtered_away_shows_it(browser: Any, incident: Path) -> None:
    seen = opened(browser, incident)
    seen.page.fill("#search", "nothing has these words")
    assert seen.texts() == []
    seen.page.evaluate("location.hash = 'event-1'")
    sync_api.expect(seen.page.locator("#event-1")).to_be_visible()


def test_the_switch_changes_the_ground_and_the_pictures(browser: Any, incident: Path) -> None:
    seen = opened(browser, incident, color_scheme="light")
    seen.read_through()
    seen.page.click("#theme")
    seen.page.click("#theme")
    assert seen.page.locator("#theme-name").inner_text() == "dark"
    assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(13, 16, 20)"
    seen.page.locator("figure").first.scroll_into_view_if_needed()
    sync_api.expect(seen.page.locator("figure").first).to_have_attribute("data-drawn", "dark")
    assert seen.errors == []


def test_it_prints_whole_also_where_it_is_filtered(browser: Any, incident: Path, tmp_path: Path) -> None:
    seen = opened(browser, incident, color_scheme="dark")
    seen.page.fill("#search", "generation 4")
    seen.page.pdf(path=str(tmp_path / "a.pdf"), prefer_css_page_size=True)
    pages = [" ".join(page.extract_text().split()) for page in PdfReader(tmp_path / "a.pdf").pages]
    assert "Group payments needs attention: 1 warning." in pages[0].replace("\u00a0", " ")
    text = " ".join(pages)
    assert "Rebalance to generation 6" in text and "--from-file reset.csv --execute" in text
    assert text.count("GroupMetadata") > 5 and "0000 00 " in text


def test_without_scripts_it_is_all_there(browser: Any, incident: Path) -> None:
    context = browser.new_context(offline=True, java_script_enabled=False)
    page = context.new_page()
    page.goto(incident.as_uri())
    assert page.locator("figure img").first.is_visible() and not page.locator("#filters").is_visible()
    assert page.locator("#events > li").count() == page.locator("#events > li:visible").count() > 0
    context.close()
