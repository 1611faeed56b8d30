"""Connectors read folders and feeds on a schedule, and never leave where they may read."""

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.adapters.instances import get_fetcher
from apps.adapters.senders.base import Fetched, SendFailed
from apps.adapters.senders.fake import FakeSender, Sent
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import PERMISSIONS
from apps.connectors import runs, services
from apps.connectors.feeds import parse_feed
from apps.connectors.xml_reading import XmlRefused
from apps.core.slices import SliceOutcome
from apps.key_management import rotation
from apps.tenants.services import set_policy
from tests.api.conftest import Caller
from tests.makers import make_api_key

pytestmark = pytest.mark.django_db(databases="__all__")

URL = "https://news.example/feed.xml"
RSS = """<?xml version="1.0"?><rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>
<title>News</title>
<item><guid>n1</guid><title>The bridge is open</title><description>&lt;p&gt;The new bridge over the river was opened on
Monday.&lt;/p&gt;</description></item>
<item><link>https://news.example/2</link><title>The market</title><content:encoded><![CDATA[<p>The market moves to the
old harbour in June.</p><script>alert(1)</script>]]></content:encoded></item>
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><entry><id>urn:1</id><title>One</title>
<link href="https://news.example/one"/>
<content type="html">&lt;p&gt;The ferry sails at noon.&lt;/p&gt;</content></entry>
<entry><title>Two</title><link rel="self" href="x"/><link href="https://news.example/two"/>
<summary>The tram stops here.</summary></entry></feed>"""


@pytest.fixture
def alice(acme: OpenedTenant) -> Caller:
    return Caller(make_api_key(acme.scope).text)


@pytest.fixture
def docs(tmp_path: Path, settings: Any) -> Path:
    root = tmp_path / "docs"
    (root / "house").mkdir(parents=True)
    settings.CONNECTOR_FOLDERS = [f"globex:{tmp_path}", f"acme:{root}"]
    (root / "house" / "boiler.md").write_text("The boiler key hangs behind the blue door.")
    (root / "gate.txt").write_text("The garden gate is locked at nine in the evening.")
    return root


@pytest.fixture
def web(settings: Any) -> FakeSender:
    settings.CONNECTOR_FETCHER = {"BACKEND": "apps.adapters.senders.fake.FakeSender", "OPTIONS": {}}
    fetcher = get_fetcher()
    assert isinstance(fetcher, FakeSender)
    return fetcher


def call(caller: Caller, method: str, path: str = "", body: Any = None, status: int = 200) -> Any:
    response: Any = caller(method, f"/v1/connectors{path}", body)
    assert response.status_code == status, response.content
    return response.json()


def create(caller: Caller, location: object, kind: str = "folder", **fields: Any) -> Any:
    return call(caller, "POST", body={"kind": kind, "name": "Docs", "location": str(location)} | fields, status=201)


def run(caller: Caller, connector_id: int, *, asks: bool = True) -> Any:
    if asks:
        call(caller, "POST", f"/{connector_id}/run")
    for tenant_id, due in runs.due_connectors(now=datetime.now(UTC)):
        runs.run(tenant_id, due, clock=lambda: datetime.now(UTC))
    return call(caller, "GET", f"/{connector_id}")


def objects(caller: Caller) -> dict[str, Any]:
    response: Any = caller("GET", "/v1/objects?limit=200")
    return {one["external_id"]: one for one in response.json()["objects"]}


def counts(shown: Any) -> dict[str, int]:
    return {name: count for name, count in shown["counts"].items() if count and not name.startswith("memories")}


# -- folders -----------------------------------------------------------------------------------------------------------


def test_a_folder_is_read_refreshed_and_what_is_gone_ends(alice: Caller, docs: Path) -> None:
    made = create(alice, docs)
    assert (made["status"], made["every_seconds"], made["paused"]) == ("never", 21_600, False)

    first = run(alice, made["id"], asks=False)
    again = run(alice, made["id"])
    (docs / "gate.txt").write_text("The garden gate is locked at ten in the evening.")
    (docs / "house" / "boiler.md").unlink()
    changed = run(alice, made["id"])

    assert (first["status"], first["error"], counts(first)) == ("done", None, {"created": 2})
    assert counts(again) == {"unchanged": 2}
    assert counts(changed) == {"refreshed": 1, "gone": 1}
    assert (changed["counts"]["memories_added"], changed["counts"]["memories_ended"]) == (1, 2)
    found = objects(alice)
    assert (found["gate.txt"]["version"], found["gate.txt"]["kind"]) == (2, "file")
    assert found["house/boiler.md"]["gone_at"] is not None
    assert found["gate.txt"]["connector_id"] == made["id"]


def test_nothing_leads_out_of_the_folder(alice: Caller, docs: Path) -> None:
    secret = docs.parent / "secret"
    secret.mkdir()
    (secret / "key.txt").write_text("The safe opens with a number.")
    (docs / "link.txt").symlink_to(secret / "key.txt")
    (docs / "away").symlink_to(secret)
    (docs / ".hidden.txt").write_text("Hidden is hidden.")
    os.mkfifo(docs / "pipe.txt")

    shown = run(alice, create(alice, docs)["id"], asks=False)

    assert counts(shown) == {"created": 2}
    for place in (docs.parent, secret, f"{docs}/../secret", "docs", "/", f"{docs}x"):
        refused = call(alice, "POST", body={"kind": "folder", "name": "n", "location": str(place)}, status=422)
        assert refused["error"]["code"] == "SOURCE_REFUSED"
    linked = run(alice, create(alice, docs / "away")["id"], asks=False)
    assert (linked["status"], linked["error"]) == ("failed", "folder_unreadable")


def test_a_folder_that_cannot_be_read_ends_nothing(alice: Caller, docs: Path) -> None:
    made = create(alice, docs / "house")
    run(alice, made["id"], asks=False)
    (docs / "house").rename(docs / "moved")

    failed = run(alice, made["id"])

    assert (failed["status"], failed["error"]) == ("failed", "folder_unreadable")
    assert objects(alice)["boiler.md"]["gone_at"] is None


def test_a_file_that_is_refused_stays_as_it_was(alice: Caller, docs: Path, settings: Any) -> None:
    made = create(alice, docs)
    run(alice, made["id"], asks=False)
    settings.MAX_UPLOAD_BYTES = 45
    (docs / "house" / "boiler.md").write_text("The boiler key hangs nowhere." * 9)

    shown = run(alice, made["id"])

    assert counts(shown) == {"refused": 2}
    assert [one["gone_at"] for one in objects(alice).values()] == [None, None]


def test_a_limit_on_bytes_ends_a_run_and_nothing_is_gone(alice: Caller, docs: Path) -> None:
    made = create(alice, docs)
    run(alice, made["id"], asks=False)
    call(alice, "PATCH", f"/{made['id']}", {"max_bytes": 60})

    shown = run(alice, made["id"])

    assert (shown["status"], shown["error"], counts(shown)) == ("partial", "too_many_bytes", {"unchanged": 1})
    assert [one["gone_at"] for one in objects(alice).values()] == [None, None]


def test_a_paused_connector_runs_only_on_request(alice: Caller, docs: Path) -> None:
    made = create(alice, docs)
    paused = call(alice, "PATCH", f"/{made['id']}", {"paused": True, "name": "Mine", "every_seconds": 600})
    assert (paused["paused"], paused["name"], paused["every_seconds"], paused["next_run_at"]) == (
        True,
        "Mine",
        600,
        None,
    )

    assert run(alice, made["id"], asks=False)["status"] == "never"
    assert run(alice, made["id"])["status"] == "done"
    resumed = call(alice, "PATCH", f"/{made['id']}", {"paused": False})
    assert resumed["next_run_at"] is not None


def test_of_two_changes_at_once_none_is_lost(alice: Caller, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = create(alice, docs)
    check_place = services.check_place

    def check_while_another_changes(*place: Any) -> None:
        monkeypatch.setattr(services, "check_place", check_place)
        call(alice, "PATCH", f"/{made['id']}", {"name": "Mine"})

    monkeypatch.setattr(services, "check_place", check_while_another_changes)

    call(alice, "PATCH", f"/{made['id']}", {"max_objects": 7})

    shown = call(alice, "GET", f"/{made['id']}")
    assert (shown["name"], shown["max_objects"]) == ("Mine", 7)


def test_one_worker_at_a_time_runs_a_connector(alice: Caller, docs: Path, acme: OpenedTenant) -> None:
    made, now = create(alice, docs), datetime.now(UTC)
    assert runs._claim(acme.scope, made["id"], now=now) is not None

    assert runs._claim(acme.scope, made["id"], now=now) is None
    assert list(runs.due_connectors(now=now)) == []
    assert runs._claim(acme.scope, made["id"], now=now + timedelta(minutes=4)) is not None


# -- feeds -------------------------------------------------------------------------------------------------------------


def test_the_entries_of_a_feed_become_objects(alice: Caller, web: FakeSender) -> None:
    web.page = lambda _: Fetched(status=200, headers={"etag": '"1"'}, body=RSS.encode())
    made = create(alice, URL, "feed")

    first = run(alice, made["id"], asks=False)
    web.page = lambda _: Fetched(status=304, headers={}, body=b"")
    again = run(alice, made["id"])
    web.page = lambda _: Fetched(status=200, headers={}, body=RSS.replace("Monday", "Tuesday").encode())
    changed = run(alice, made["id"])

    assert (first["status"], counts(first)) == ("done", {"created": 2})
    found = objects(alice)
    assert found.keys() == {"n1", "https://news.example/2"}
    assert (found["n1"]["title"], found["n1"]["kind"]) == ("The bridge is open", "entry")
    assert [one.headers.get("If-None-Match") for one in web.sent] == [None, '"1"', '"1"']
    assert (again["status"], counts(again)) == ("done", {})
    assert counts(changed) == {"refreshed": 1, "unchanged": 1}
    memories: Any = alice("POST", "/memory/query", {"query": "Where does the market move?"})
    assert "old harbour" in memories.json()["memories"][0]["text"]
    assert "alert" not in memories.json()["memories"][0]["text"]


def test_a_page_is_one_object(alice: Caller, web: FakeSender) -> None:
    html = b"<!doctype html><html><body><p>The pool opens at seven in the morning.</p></body></html>"
    web.page = lambda _: Fetched(status=200, headers={}, body=html)

    shown = run(alice, create(alice, "https://pool.example/", "feed")["id"], asks=False)

    assert counts(shown) == {"created": 1}
    assert objects(alice)["https://pool.example/"]["kind"] == "page"


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [(404, b"", "status_404"), (302, b"", "status_302"), (200, b"x" * 2_000, "too_large"), (0, b"", "timeout")],
)
def test_what_cannot_be_fetched_is_told(status: int, body: bytes, error: str, alice: Caller, web: FakeSender) -> None:
    def page(_: Sent) -> Fetched:
        if not status:
            raise SendFailed("timeout")
        return Fetched(status=status, headers={"location": "https://127.0.0.1/"}, body=body)

    web.page = page

    shown = run(alice, create(alice, URL, "feed", max_bytes=1_000)["id"], asks=False)

    assert (shown["status"], shown["error"]) == ("failed", error)
    assert len(web.sent) == 1


def test_private_addresses_are_refused(alice: Caller, web: FakeSender) -> None:
    for url in ("https://127.0.0.1/feed", "http://news.example/feed", "https://a:b@news.example/"):
        refused = call(alice, "POST", body={"kind": "feed", "name": "n", "location": url}, status=422)
        assert refused["error"]["code"] == "SOURCE_REFUSED"


def test_rss_and_atom_are_read() -> None:
    one, two = parse_feed(ATOM.encode())

    assert (one.id, one.title, "The ferry sails at noon." in one.html) == ("urn:1", "One", True)
    assert (two.id, "The tram stops here." in two.html) == ("https://news.example/two", True)
    assert [entry.id for entry in parse_feed(RSS.encode())] == ["n1", "https://news.example/2"]


BOMB = '<!DOCTYPE rss [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><rss><item><guid>&b;</guid></item></rss>'


@pytest.mark.parametrize(
    "content",
    [b"", b"text", b"<html></html>", b"<rss><item>", BOMB.encode(), BOMB.encode("utf-16"), b"<rss>" + b"<a>" * 99,
     b'<!DOCTYPE rss SYSTEM "file:///etc/passwd"><rss/>'],
)  # fmt: skip
def test_what_is_no_feed_or_would_expand_is_refused(content: bytes) -> None:
    with pytest.raises(XmlRefused):
        parse_feed(content)


# -- whose -------------------------------------------------------------------------------------------------------------


def test_a_connector_is_its_end_users(alice: Caller, docs: Path) -> None:
    made = create(alice, docs)

    for other in (alice.as_user("bob"), alice.as_user("nobody")):
        assert call(other, "GET") == {"connectors": []}
        for method, path, body in (("GET", "", None), ("PATCH", "", {"paused": True}), ("POST", "/run", {})):
            refused = call(other, method, f"/{made['id']}{path}", body, status=404)
            assert refused["error"]["code"] == "CONNECTOR_NOT_FOUND"
    assert [one["id"] for one in call(alice, "GET")["connectors"]] == [made["id"]]


def test_a_key_deletes_a_connector_only_where_the_owner_lets_keys_retire(
    alice: Caller, docs: Path, acme: OpenedTenant
) -> None:
    made = create(alice, docs)
    run(alice, made["id"], asks=False)
    call(alice, "DELETE", f"/{made['id']}", status=403)
    set_policy(acme.tenant, key_deletes="retire", actor="test", now=datetime.now(UTC))
    deleter = replace(alice, key=make_api_key(acme.scope, scopes=list(PERMISSIONS)).text)

    assert call(deleter, "DELETE", f"/{made['id']}") == {"id": made["id"]}
    assert len(objects(alice)) == 2
    call(deleter, "DELETE", f"/{made['id']}", status=404)


@pytest.mark.parametrize("how", [{}, {"is_compromise": True}], ids=["rotation", "compromise"])
def test_when_keys_turn_a_connector_goes_on(how: Any, alice: Caller, docs: Path, acme: OpenedTenant) -> None:
    made = create(alice, docs)
    first = run(alice, made["id"], asks=False)
    asked = rotation.rotate(acme.scope, reason="test", now=datetime.now(UTC), **how)
    assert rotation.work(asked.pk, seconds=60, workers=1, clock=lambda: datetime.now(UTC)) == SliceOutcome.OVER

    again = run(alice, made["id"])

    assert (again["location"], again["status"], again["counts"].get("created")) == (first["location"], "done", None)


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "ftp"}, {"name": ""}, {"every_seconds": 1}, {"max_objects": 0}, {"max_bytes": 0}, {"paused": True},
        {"location": ""}, {"password": "x"},
    ],
)  # fmt: skip
def test_malformed_connectors_are_refused(body: Any, alice: Caller) -> None:
    call(alice, "POST", body={"kind": "folder", "name": "n", "location": "/srv"} | body, status=422)
