"""The pages without a browser: what they say, and what is said where something is wrong."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

pytest.importorskip("starlette")
pytest.importorskip("jinja2")

import tollens
from tollens.store import Store

from .conftest import HOSTILE, HTML, PAIR, SAME, csrf_of, good


def names(page):
    return re.findall(r'<a href="/series/(\d+)">', page.text)


def test_the_list_has_every_series_with_its_state_the_urgent_first(serve):
    client = serve()
    page = client.get("/", headers=HTML)
    assert page.status_code == 200
    order = ["alarmed", "failing", "stale", "quiet"]
    places = [page.text.index(f'<a href="/series/{client.ids[name]}">') for name in order]
    assert places == sorted(places)
    for word, count in (("ALARM", 2), ("failing", 1), ("stale", 1), ("quiet", 1)):
        assert f'<b class="{word}">{count}</b> {word}' in page.text


def test_names_of_others_stay_text(serve):
    client = serve()
    for place in ("/", f"/series/{client.ids[HOSTILE]}"):
        text = client.get(place, headers=HTML).text
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
        assert "\u202e" not in text
        assert "{{7*7}}" in text
    found = client.get("/", params={"q": '"><script>'}, headers=HTML)
    assert '"><script>' not in found.text


def test_filter_and_order(serve):
    client = serve()
    page = client.get("/?state=failing", headers=HTML)
    assert names(page) == [str(client.ids["failing"])]
    assert names(client.get("/?q=AL", headers=HTML))[0] == str(client.ids["alarmed"])
    by_name = names(client.get("/?sort=name", headers=HTML))
    assert by_name == [str(client.ids[name]) for name in sorted(client.ids)]
    assert "No promise is like that" in client.get("/?q=nothing", headers=HTML).text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("sort=colour", "sort is &#39;colour&#39;; it must be one of state, name"),
        ("state=ALARMED", "it must be one of ALARM"),
        ("page=0", "it must be a whole number of at least 1"),
        ("page=2", "page is 2; the last one is 1"),
        ("page=1e9", "must be a whole number"),
        ("colour=1", "there is no parameter &#39;colour&#39;"),
        ("q=" + "x" * 300, "q has 300 letters"),
    ],
)
def test_what_is_wrong_with_an_address_is_said(serve, query, words):
    page = serve().get("/?" + query, headers=HTML)
    assert page.status_code == 400
    assert words in page.text


def test_the_page_of_a_series(serve):
    client = serve()
    page = client.get(f"/series/{client.ids['alarmed']}", headers=HTML)
    for words in (
        "no set of outputs is more than", "x = <code>[1, 1, 1]</code>", "likely at step 2",
        "between version v1 and v2", "% of runs on x", "Open: version", 'name="reason"',
        "certified with error probability 0.05", "likely break; ALARM",
    ):  # fmt: skip
        assert words in page.text, words


def test_the_figure_is_svg_with_a_policy_of_its_own(serve):
    client = serve()
    answer = client.get(f"/series/{client.ids['alarmed']}/figure.svg")
    assert answer.headers["content-type"].startswith("image/svg+xml")
    ElementTree.fromstring(answer.text)
    nonce = re.search(r'<style nonce="([^"]+)">', answer.text)[1]
    assert f"style-src 'nonce-{nonce}'" in answer.headers["content-security-policy"]
    assert "alarm at step 2" in answer.text


def test_a_failed_step_says_why(serve):
    client = serve()
    page = client.get(f"/series/{client.ids['failing']}", headers=HTML)
    assert "failed: " in page.text
    assert "nowhere.py" in page.text


def test_steps_are_added_and_shown_in_pages(serve, store_path):
    with tollens.Monitor.open("quiet", "epsilon=1", store=store_path, seed=9) as monitor:
        for i in range(60):
            monitor.step(good, neighbours=PAIR, version=f"w{i}")
    client = serve()
    here = f"/series/{client.ids['quiet']}"
    page = client.get(here, headers=HTML)
    assert 'data-label="step">63<' in page.text
    assert 'data-label="step">14<' in page.text
    assert 'data-label="step">13<' not in page.text
    older = client.get(here + "?before=14", headers=HTML)
    assert 'data-label="step">13<' in older.text
    assert 'data-label="step">14<' not in older.text
    assert "Show earlier" not in older.text
    rows = client.get(here + "/steps?after=61")
    assert [int(n) for n in re.findall(r'data-label="step">(\d+)<', rows.text)] == [63, 62]
    assert "steps?after=63" in rows.text
    assert client.get(here + "/steps?after=63").status_code == 204
    assert client.get(here + "/steps?after=x").status_code == 400
    assert client.get(here + "?before=-1").status_code == 400


@pytest.mark.parametrize("place", ["/series/999", "/series/999/figure.svg", "/api/series/999"])
def test_there_is_no_such_series(serve, place):
    answer = serve().get(place)
    assert answer.status_code == 404
    assert "the store has no series 999" in answer.text


def test_other_addresses_and_methods(serve):
    client = serve()
    assert client.get("/series/abc", headers=HTML).status_code == 404
    assert client.get("/static/../app.py").status_code == 404
    assert client.get("/static/base.html").status_code == 404
    assert client.post("/", headers=SAME).status_code == 405
    assert client.delete("/series/1", headers=SAME).status_code == 405


def test_other_settings_are_another_series_of_the_name(serve, store_path):
    with tollens.Monitor.open("alarmed", "epsilon=2", store=store_path, seed=9) as monitor:
        monitor.step(good, neighbours=PAIR, version="n1")
    client = serve()
    page = client.get("/?q=alarmed", headers=HTML)
    assert len(names(page)) == 2
    assert "(other settings)" in page.text
    new, old = (
        client.get(f"/series/{n}", headers=HTML) for n in sorted(names(page), key=int)[::-1]
    )
    assert "Other series of this name" in new.text
    assert "an alarm is open, of version v2 in another series" in new.text
    assert "Other settings are in force under this name" in old.text


def test_acknowledging(serve, store_path):
    client = serve()
    here = f"/series/{client.ids['alarmed']}"
    form = {"csrf": csrf_of(client.get(here, headers=HTML)), "step": "2", "reason": " "}
    empty = client.post(here + "/acknowledge", data=form, headers=SAME | HTML)
    assert empty.status_code == 400
    assert "the reason is empty" in empty.text
    odd = client.post(here + "/acknowledge", data=form | {"reason": "a\0b"}, headers=SAME | HTML)
    assert odd.status_code == 400
    assert "the reason holds a character" in odd.text
    long = client.post(
        here + "/acknowledge", data=form | {"reason": "x" * 2001}, headers=SAME | HTML
    )
    assert long.status_code == 400
    assert "x" * 2001 in long.text  # nobody has to write it again
    other = client.post(
        here + "/acknowledge", data=form | {"step": "1", "reason": "r"}, headers=SAME | HTML
    )
    assert other.status_code == 409
    assert "another is open" in other.text
    done = client.post(
        here + "/acknowledge", data=form | {"reason": "mended <b>"}, headers=SAME | HTML
    )
    assert (done.status_code, done.headers["location"]) == (303, here + "#alarms")
    page = client.get(here, headers=HTML)
    assert "mended &lt;b&gt;" in page.text
    assert 'class="badge quiet"' in page.text
    again = client.post(here + "/acknowledge", data=form | {"reason": "r"}, headers=SAME | HTML)
    assert again.status_code == 409
    with Store.open(store_path) as store:
        (alarm,) = store.alarms(client.ids["alarmed"])
    assert alarm.reason == "mended <b>"


def test_a_store_that_vanishes_and_comes_back(serve, store_path):
    client = serve()
    assert client.get("/healthz").text == "ok\n"
    away = store_path.with_name("away.db")
    store_path.rename(away)
    page = client.get("/", headers=HTML)
    assert page.status_code == 503
    assert "is gone; put it back" in page.text
    assert page.headers["retry-after"] == "10"
    answer = client.get("/api/series")
    assert answer.status_code == 503
    assert answer.json()["schema"] == "tollens/error/1"
    health = client.get("/healthz")
    assert (health.status_code, health.text) == (503, "the store cannot be read\n")
    store_path.write_bytes(b"something else")
    assert client.get("/", headers=HTML).status_code == 503
    away.rename(store_path)
    assert client.get("/", headers=HTML).status_code == 200
    assert client.get("/healthz").status_code == 200


def test_an_empty_store(serve, tmp_path):
    Store.open(tmp_path / "empty.db").close()
    client = serve(where=tmp_path / "empty.db")
    assert "the first step of a monitor makes one" in client.get("/", headers=HTML).text
    assert client.get("/api/series").json()["series"] == []
