"""The dashboard in a real browser: Debian's chromium, driven by Playwright."""

from __future__ import annotations

import shutil
import threading
import time
from contextlib import contextmanager

import pytest
from sqlalchemy import insert, select

import tollens
from tollens.store import Store, engines
from tollens.store.tables import STEPS

from .conftest import CLOSE, HOSTILE, PAIR, READ, good

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
sync_api = pytest.importorskip("playwright.sync_api")


expect = sync_api.expect
WIDTH = "image => image.decode().then(() => image.naturalWidth)"
COLOURS = "all => all.map(e => getComputedStyle(e)).map(s => [s.backgroundColor, s.color])"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium; see .ci/browser.sh")


@contextmanager
def served(path, look, **settings):
    """The dashboard of a store in a thread, and its address; pages are closed before it ends."""
    import uvicorn

    from tollens.server.app import make_app
    from tollens.server.run import _listening
    from tollens.server.settings import ServeSettings

    settings = ServeSettings(port=0, **settings)
    with Store.open(path, create=False) as store, _listening(settings) as listener:
        config = uvicorn.Config(make_app(store, settings), log_level="error", lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            look.close()
            server.should_exit = True
            thread.join(20)


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def look(browser):
    """Open pages; at the end nothing must have been complained about in the console."""
    complaints, contexts = [], []

    def make(**options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda said: said.type in ("error", "warning") and complaints.append(said.text),
        )
        return page

    def close():
        while contexts:
            contexts.pop().close()

    make.complaints, make.close = complaints, close
    yield make
    close()
    assert complaints == []


def test_list_and_filter_without_loading_anew(store_path, look):
    with served(store_path, look) as address:
        page = look()
        page.goto(address)
        assert page.locator("#list tbody tr").count() == 5
        page.evaluate("window.same = true")
        page.fill("#q", "quie")
        expect(page.locator("#list tbody tr")).to_have_count(1)
        assert "q=quie" in page.url
        page.fill("#q", "")
        page.select_option("#state", "ALARM")
        expect(page.locator("#list tbody tr")).to_have_count(2)
        assert page.evaluate("window.same")
        assert page.get_by_text("<script>alert(1)</script>").count() == 1
        page.get_by_role("link", name="alarmed", exact=True).click()
        assert page.locator("h1").inner_text() == "alarmed"
        assert page.locator("img.figure").evaluate(WIDTH) > 0


def test_acknowledging_with_the_keyboard_alone(store_path, look):
    with served(store_path, look, token=READ, acknowledge_token=CLOSE) as address:
        page = look()
        page.goto(address)
        page.keyboard.type(CLOSE)  # the field has the focus
        page.keyboard.press("Enter")
        page.wait_for_selector("#list")
        press_until(page, "a", "alarmed")
        page.keyboard.press("Enter")
        page.wait_for_selector("#reason")
        press_until(page, "textarea", "")
        page.keyboard.type("the scale was halved; mended in v3")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_selector(".badge.quiet")
        assert page.get_by_text("mended in v3").count() == 1
        assert page.locator("#reason").count() == 0
        assert page.evaluate("document.cookie") == ""  # no script may read it


def press_until(page, tag, text):
    """Press Tab until an element has the focus."""
    for _ in range(40):
        page.keyboard.press("Tab")
        found = page.evaluate(
            "[document.activeElement.localName, document.activeElement.textContent]"
        )
        if found == [tag, text]:
            return
    raise AssertionError(f"Tab does not lead to {tag} {text}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_wider_than_the_screen(store_path, look, width, scheme):
    with served(store_path, look) as address:
        page = look(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page.goto(address)
        links = page.locator("#list tbody a")
        places = [links.nth(i).get_attribute("href") for i in range(links.count())]
        for place in ["/", "/login", *places]:
            page.goto(address + place)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, place
        ground, ink = page.evaluate(
            "(s => [s.backgroundColor, s.color])(getComputedStyle(document.body))"
        )
        assert (contrast(ground, ink)) > 4.5
        assert (light(ground) < light(ink)) == (scheme == "dark")


def light(colour):
    """The relative luminance of WCAG 2."""
    parts = [int(part) / 255 for part in colour[4:-1].split(",")]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_words_of_states_can_be_read(store_path, look):
    for scheme in ("light", "dark"):
        with served(store_path, look) as address:
            page = look(color_scheme=scheme)
            page.goto(address)
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            for own, ink in page.locator(".badge, .soft, td, a").evaluate_all(COLOURS):
                behind = ground if own == "rgba(0, 0, 0, 0)" else own
                assert contrast(behind, ink) >= 4.5, (scheme, behind, ink)


def test_new_steps_are_added(store_path, look):
    with served(store_path, look) as address, Store.open(store_path) as store:
        number = next(series.id for series in store.series() if series.name == "quiet")
        page = look()
        page.goto(f"{address}/series/{number}")
        assert page.locator("#steps tr").count() == 3
        with tollens.Monitor.open("quiet", "epsilon=1", store=store_path, seed=1) as monitor:
            monitor.step(good, neighbours=PAIR, version="new")
        page.evaluate(
            "htmx.ajax('GET', document.querySelector('#newer').getAttribute('hx-get'),"
            " {target: '#steps', swap: 'afterbegin', source: '#newer'}), 0"
        )
        expect(page.locator("#steps tr")).to_have_count(4)
        assert "new" in page.locator("#steps tr").first.inner_text()
        assert "after=4" in page.locator("#newer").get_attribute("hx-get")


def test_a_series_of_100_000_steps(store_path, look):
    with Store.open(store_path) as store:
        series = next(series for series in store.series() if series.name == "quiet")
        last = store.newest_steps()[series.id]
        with engines.writing(store._engine) as connection:
            row = dict(
                connection.execute(
                    select(STEPS).where(
                        STEPS.c.series_id == series.id, STEPS.c.number == last.number
                    )
                ).mappings().one()
            )  # fmt: skip
            for first in range(4, 100_001, 10_000):
                numbers = range(first, min(first + 10_000, 100_001))
                connection.execute(
                    insert(STEPS), [{**row, "number": n, "version": f"f{n}"} for n in numbers]
                )
        points = store.points(series.id)
        assert len(points) <= 6 * 200 + 1
        assert (points[0].number, points[-1].number) == (1, 100_000)
    with served(store_path, look) as address:
        page = look()
        page.goto(f"{address}/series/{series.id}")
        assert page.locator("#steps tr").count() == 50
        assert page.locator("img.figure").evaluate(WIDTH) > 0
        page.get_by_role("link", name="Show earlier steps").click()
        expect(page.locator("#steps tr")).to_have_count(100)
        assert "99,901" in page.locator("#steps tr").last.inner_text()
        page.get_by_role("link", name="Show earlier steps").click()
        expect(page.locator("#steps tr")).to_have_count(150)


def test_without_scripts(store_path, look):
    with served(store_path, look) as address:
        page = look(java_script_enabled=False)
        page.goto(address)
        page.fill("#q", "alarmed")
        page.get_by_role("button", name="Show").click()
        page.get_by_role("link", name="alarmed", exact=True).click()
        page.fill("#reason", "mended")
        page.get_by_role("button", name="Acknowledge").click()
        expect(page.get_by_text("mended")).to_be_visible()


def test_a_store_that_vanishes_is_said_and_comes_back(store_path, look):
    with served(store_path, look) as address:
        page = look()
        page.goto(address)
        away = store_path.with_name("away.db")
        store_path.rename(away)
        page.select_option("#state", "ALARM")
        page.wait_for_selector("#offline:not([hidden])")
        assert page.locator("#list tbody tr").count() == 5
        away.rename(store_path)
        page.select_option("#state", "quiet")
        page.wait_for_selector("#offline", state="hidden")
        expect(page.locator("#list tbody tr")).to_have_count(1)
    assert all("503" in one or "Response Status Error" in one for one in look.complaints)
    look.complaints.clear()


def test_hostile_names_on_the_page(store_path, look):
    with served(store_path, look) as address, Store.open(store_path) as store:
        number = next(series.id for series in store.series() if series.name == HOSTILE)
        page = look()
        page.on("dialog", lambda dialog: pytest.fail(dialog.message))
        page.goto(f"{address}/series/{number}")
        assert page.locator("h1").inner_text() == HOSTILE.replace("\u202e", "\\u202e")
