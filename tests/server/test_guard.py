"""What every request passes: host, origin, size, tokens, and the headers of every answer."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("starlette")

from tollens.server import guard
from tollens.server.access import (
    MOST_SESSIONS,
    SESSION_SECONDS,
    Access,
    Attempts,
    Right,
    TooManyError,
)
from tollens.server.settings import ServeSettings

from .conftest import CLOSE, HTML, READ, SAME, csrf_of

FORM = {"content-type": "application/x-www-form-urlencoded"}


def bearer(token):
    return {"authorization": f"Bearer {token}"}


@pytest.mark.parametrize(
    "place",
    ["/", "/series/1", "/series/1/figure.svg", "/static/style.css", "/healthz", "/nope", "/login",
     "/api/series", "/metrics", "/?sort=x"],
)  # fmt: skip
def test_headers_of_every_answer(serve, place):
    headers = serve().get(place, headers=HTML).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert "camera=()" in headers["permissions-policy"]
    if not place.startswith("/static/"):
        assert headers["cache-control"] == "no-store"
    assert "server" not in headers


def test_pages_hold_no_script_and_no_style_of_their_own(serve):
    client = serve(token=READ)
    for place in ("/", "/series/1", "/login", "/nope"):
        text = client.get(place, headers=HTML | bearer(READ)).text
        assert " style=" not in text
        assert "<style" not in text
        assert "onclick" not in text
        assert "http://" not in text.replace("http://www.w3.org", "")
        assert text.count("<script") == text.count("<script src=")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8317", 200), ("localhost", 200), ("LOCALHOST:80", 200), ("[::1]:8317", 200),
        ("evil.example", 421), ("127.0.0.1.evil.example:8317", 421), ("10.0.0.1", 421),
        ("dp.example.org", 421), ("[::2]", 421),
    ],
)  # fmt: skip
def test_names_that_this_server_does_not_have(serve, host, status):
    answer = serve().get("/api/series", headers={"host": host})
    assert answer.status_code == status
    assert (status == 200) or "--allow-host" in answer.text


@pytest.mark.parametrize(
    "hosts",
    [
        [""], ["["], ["::1"], ["[::1"], ["[::1]x"], ["localhost:"], ["localhost:x"],
        ["localhost:8401@evil"], ["evil@localhost"], ["localhost:80:80"], ["localhost "],
        ["localhost/static/"], ["localhost:1/healthz?"], ["localhost:1/healthz#"],
        ["localhost", "localhost"], ["localhost", "evil.example"],
    ],
)  # fmt: skip
def test_a_host_is_one_name_and_at_most_a_port(serve, hosts):
    """Not only for its own sake: what follows a name would end up in the address."""
    headers = [("host", host) for host in hosts]
    answer = serve(token=READ).get("/api/series", headers=headers)
    assert answer.status_code == 400
    assert "Host header must be one name" in answer.json()["findings"][0]


def test_names_that_are_allowed(serve):
    client = serve(ServeSettings("0.0.0.0", 1, frozenset({"dp.example.org"}), READ, None))
    for host, status in (
        ("dp.example.org", 200), ("10.0.0.1:1", 200), ("[fe80::1]:1", 200), ("localhost", 421),
        ("evil.example", 421),
    ):  # fmt: skip
        answer = client.get("/api/series", headers={"host": host} | bearer(READ))
        assert answer.status_code == status, host


@pytest.mark.parametrize(
    "headers",
    [
        {}, {"origin": "null"}, {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:9999"}, {"origin": "http://[::1"},
        {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-origin"},
    ],
)  # fmt: skip
def test_forms_of_other_sites_do_nothing(serve, headers):
    client = serve()
    here = f"/series/{client.ids['alarmed']}"
    csrf = csrf_of(client.get(here, headers=HTML))
    form = {"csrf": csrf, "step": "2", "reason": "r"}
    assert client.post(here + "/acknowledge", data=form, headers=headers).status_code == 403
    with_token = client.post("/api" + here + "/acknowledge", json={"reason": "r"}, headers=headers)
    assert with_token.status_code == 403
    assert "Open: version" in client.get(here, headers=HTML).text


@pytest.mark.parametrize("csrf", ["", "0" * 64, "\u00e4", "x" * 1000])
def test_forms_without_what_the_page_held_do_nothing(serve, csrf):
    client = serve()
    here = f"/series/{client.ids['alarmed']}"
    client.get(here, headers=HTML)
    form = {"csrf": csrf, "step": "2", "reason": "r"}
    answer = client.post(here + "/acknowledge", data=form, headers=SAME)
    assert answer.status_code == 403
    assert "load the page again" in answer.text


def test_the_form_of_another_browser_does_nothing(serve):
    one, other = serve(), serve()
    here = f"/series/{one.ids['alarmed']}"
    csrf = csrf_of(one.get(here, headers=HTML))
    other.get(here, headers=HTML)
    form = {"csrf": csrf, "step": "2", "reason": "r"}
    assert other.post(here + "/acknowledge", data=form, headers=SAME).status_code == 403


def test_long_requests_are_not_read(serve):
    client = serve()
    read = 0

    def parts():
        nonlocal read
        for _ in range(1000):
            read += 10_000
            yield b"x" * 10_000

    told = client.post("/login", content=b"x" * 10_000_000, headers=SAME | FORM)
    assert told.status_code == 413
    assert "at most 64 kB" in told.text
    untold = client.post("/login", content=parts(), headers=SAME | FORM)
    assert untold.status_code == 413
    odd = client.post("/login", content=b"", headers=SAME | FORM | {"content-length": "-1"})
    assert odd.status_code == 413
    assert client.get("/", headers={"content-length": "99999999"}).status_code == 413


def test_a_body_that_does_not_come(serve, monkeypatch):
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.01)
    said = []

    async def receive():
        await asyncio.Event().wait()

    async def send(message):
        said.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"origin", b"http://127.0.0.1")]
    scope = {"type": "http", "method": "POST", "path": "/login", "headers": headers}
    asyncio.run(serve().app(scope, receive, send))
    assert said[0]["status"] == 408
    assert b"did not come in time" in said[1]["body"]


def test_forms_that_cannot_be_read(serve):
    client = serve(token=READ)
    for content, kind in (
        (b"{}", "application/json"), (b"--x", "multipart/form-data; boundary=x"),
        (b"\xff=\xff", FORM["content-type"]), (b"&".join([b"a=1"] * 50), FORM["content-type"]),
    ):  # fmt: skip
        answer = client.post("/login", content=content, headers=SAME | {"content-type": kind})
        assert answer.status_code == 400, content


def test_reading_needs_the_token(serve):
    client = serve(token=READ)
    for place in ("/api/series", "/metrics", "/series/1/figure.svg", "/api/series/1/steps"):
        answer = client.get(place)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert client.get(place, headers=bearer(READ)).status_code == 200
    assert client.get("/metrics", headers=bearer("w" * 40)).status_code == 401
    page = client.get("/series/1", headers=HTML)
    assert (page.status_code, page.headers["location"]) == (303, "/login?next=/series/1")
    for open_ in ("/healthz", "/static/style.css", "/login"):
        assert client.get(open_).status_code == 200
    for wrong in ("Basic abc", "Bearer", "Bearer ", READ):
        assert client.get("/api/series", headers={"authorization": wrong}).status_code == 401
    assert client.get(f"/api/series?token={READ}").status_code == 401


def login(client, token, place="/"):
    page = client.get(f"/login?next={place}", headers=HTML)
    form = {"csrf": csrf_of(page), "token": token, "next": place}
    return client.post("/login", data=form, headers=SAME | HTML)


def test_a_browser_logs_in_and_out(serve):
    client = serve(token=READ, acknowledge_token=CLOSE)
    wrong = login(client, "w" * 40)
    assert (wrong.status_code, "the token is wrong" in wrong.text) == (401, True)
    before = client.cookies["tollens_session"]
    done = login(client, READ, "/series/1")
    assert (done.status_code, done.headers["location"]) == (303, "/series/1")
    cookie = done.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "secure" not in cookie
    assert client.cookies["tollens_session"] not in (before, READ)
    page = client.get(f"/series/{client.ids['alarmed']}", headers=HTML)
    assert "Log in with the token for acknowledging" in page.text
    form = {"csrf": csrf_of(page), "step": "2", "reason": "r"}
    here = f"/series/{client.ids['alarmed']}/acknowledge"
    assert client.post(here, data=form, headers=SAME).status_code == 403
    assert login(client, CLOSE).status_code == 303
    page = client.get(f"/series/{client.ids['alarmed']}", headers=HTML)
    form["csrf"] = csrf_of(page)
    assert client.post(here, data=form, headers=SAME).status_code == 303
    session = client.cookies["tollens_session"]
    out = client.post("/logout", data={"csrf": form["csrf"]}, headers=SAME)
    assert out.status_code == 303
    client.cookies.set("tollens_session", session)
    assert client.get("/", headers=HTML).status_code == 303


@pytest.mark.parametrize("place", ["//evil.example", "https://evil.example", "/series/1/../x", ""])
def test_after_the_login_one_stays_here(serve, place):
    done = login(serve(token=READ), READ, place)
    assert (done.status_code, done.headers["location"]) == (303, "/")


def test_behind_tls_the_cookie_is_for_tls_only(serve):
    client = serve(ServeSettings(names=frozenset({"dp.example.org"}), token=READ))
    page = client.get("/login", headers=HTML)
    form = {"csrf": csrf_of(page), "token": READ, "next": "/"}
    headers = {"origin": "https://dp.example.org", "host": "dp.example.org"}
    assert (
        "secure" in client.post("/login", data=form, headers=headers).headers["set-cookie"].lower()
    )


def test_sessions_end(serve, clock):
    client = serve(token=READ)
    login(client, READ)
    clock.now += SESSION_SECONDS - 1
    assert client.get("/", headers=HTML).status_code == 200
    clock.now += 2
    assert client.get("/", headers=HTML).status_code == 303


def test_without_the_token_for_it_nobody_acknowledges(serve):
    client = serve(token=READ)
    login(client, READ)
    page = client.get(f"/series/{client.ids['alarmed']}", headers=HTML)
    assert "tollens monitor acknowledge" in page.text
    assert "/acknowledge" not in page.text
    form = {"csrf": csrf_of(page), "step": "2", "reason": "r"}
    answer = client.post(f"/series/{client.ids['alarmed']}/acknowledge", data=form, headers=SAME)
    assert answer.status_code == 403
    assert "--acknowledge-token-file" in answer.text


def test_wrong_tokens_are_limited_for_each_client(serve, clock):
    client = serve(token=READ)
    for _ in range(3):
        assert client.get("/metrics", headers=bearer("w" * 40)).status_code == 401
    for token in ("w" * 40, READ):
        answer = client.get("/metrics", headers=bearer(token))
        assert answer.status_code == 429
        assert answer.headers["retry-after"] == "60"
    page = login(client, READ)
    assert (page.status_code, page.headers["retry-after"]) == (429, "60")
    assert "try again in 60 seconds" in page.text
    clock.now += 60
    assert client.get("/metrics", headers=bearer(READ)).status_code == 200


def test_sessions_and_clients_are_bounded(clock):
    attempts = Attempts(most=2, clients=5, clock=clock)
    access = Access(ServeSettings(token=READ), clock=clock, attempts=attempts)
    for i in range(20):
        assert access.right_of_token("w" * 40, f"10.0.0.{i}") is Right.NONE
    assert len(attempts._failed) == 5
    first = access.begin(Right.READ)
    for _ in range(MOST_SESSIONS):
        last = access.begin(Right.READ)
    assert access.right_of_session(first) is Right.NONE
    assert access.right_of_session(last) is Right.READ


def test_one_customer_of_ipv6_is_one_client(clock):
    attempts = Attempts(most=2, clock=clock)
    access = Access(ServeSettings(token=READ), clock=clock, attempts=attempts)
    for i in range(2):
        access.right_of_token("w" * 40, f"2001:db8::{i}")
    with pytest.raises(TooManyError):
        access.right_of_token(READ, "2001:db8::ffff")
    assert access.right_of_token(READ, "2001:db8:0:1::1") is Right.READ


def test_a_fault_of_ours_is_said_without_its_insides(serve, monkeypatch):
    client = serve()
    monkeypatch.setattr("tollens.server.pages.list_view", lambda *_: 1 / 0)
    page = client.get("/", headers=HTML)
    assert page.status_code == 500
    assert "a fault in tollens" in page.text
    assert "ZeroDivision" not in page.text
    assert page.headers["x-frame-options"] == "DENY"
