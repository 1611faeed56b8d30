"""Every kind of connector keeps the same promises, whatever it reads."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from apps.adapters.instances import get_fetcher
from apps.adapters.senders.base import Fetched
from apps.adapters.senders.fake import FakeSender
from apps.apikeys.onboarding import OpenedTenant
from tests.api.conftest import Caller
from tests.connectors.bucket_server import LOOPBACK, empty_store, serving
from tests.connectors.test_connectors import call, counts, create, objects, run
from tests.makers import make_api_key

pytestmark = pytest.mark.django_db(databases="__all__")


class Source(Protocol):
    """A place with documents.  keeps_missing: what is missing is not gone."""

    keeps_missing: bool

    def put(self, name: str, text: str) -> None: ...

    def remove(self, name: str) -> None: ...

    def break_down(self) -> None:
        """From now on it cannot be read."""

    def connector(self, caller: Caller, **fields: Any) -> Any:
        """Create a connector that reads it."""


class FolderSource:
    keeps_missing = False

    def __init__(self, root: Path, settings: Any) -> None:
        self.root = root / "docs"
        self.root.mkdir()
        settings.CONNECTOR_FOLDERS = [f"*:{root}"]

    def put(self, name: str, text: str) -> None:
        (self.root / name).write_text(text)

    def remove(self, name: str) -> None:
        (self.root / name).unlink()

    def break_down(self) -> None:
        self.root.rename(self.root.parent / "moved")

    def connector(self, caller: Caller, **fields: Any) -> Any:
        return create(caller, self.root, **fields)


class FeedSource:
    keeps_missing = True

    def __init__(self, settings: Any) -> None:
        settings.CONNECTOR_FETCHER = {"BACKEND": "apps.adapters.senders.fake.FakeSender", "OPTIONS": {}}
        fetcher = get_fetcher()
        assert isinstance(fetcher, FakeSender)
        fetcher.page = lambda _: Fetched(status=self.status, headers={}, body=self._feed().encode())
        self.status, self.entries = 200, dict[str, str]()

    def _feed(self) -> str:
        items = (
            f"<item><guid>{name}</guid><description>{text}</description></item>" for name, text in self.entries.items()
        )
        return f"<rss><channel>{''.join(items)}</channel></rss>"

    def put(self, name: str, text: str) -> None:
        self.entries[name] = text

    def remove(self, name: str) -> None:
        del self.entries[name]

    def break_down(self) -> None:
        self.status = 500

    def connector(self, caller: Caller, **fields: Any) -> Any:
        return create(caller, "https://news.example/feed.xml", "feed", **fields)


class BucketSource:
    keeps_missing = False

    def __init__(self, endpoint: str, settings: Any) -> None:
        settings.CONNECTOR_FETCHER = LOOPBACK
        self.store = empty_store(endpoint)

    def put(self, name: str, text: str) -> None:
        self.store.put(name, text.encode())

    def remove(self, name: str) -> None:
        self.store.delete(name)

    def break_down(self) -> None:
        self.store.delete_bucket()

    def connector(self, caller: Caller, **fields: Any) -> Any:
        return create(caller, self.store.endpoint, "s3", bucket=self.store.settings(), **fields)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serving() as endpoint:
        yield endpoint


@pytest.fixture(params=["folder", "feed", "s3"])
def source(request: pytest.FixtureRequest, tmp_path: Path, settings: Any) -> Source:
    made: Source
    if request.param == "folder":
        made = FolderSource(tmp_path, settings)
    elif request.param == "feed":
        made = FeedSource(settings)
    else:
        made = BucketSource(request.getfixturevalue("server"), settings)
    made.put("boiler.md", "The boiler key hangs behind the blue door.")
    made.put("gate.md", "The garden gate is locked at nine in the evening.")
    return made


@pytest.fixture
def alice(acme: OpenedTenant) -> Caller:
    return Caller(make_api_key(acme.scope).text)


def test_what_is_new_or_changed_is_read_once(alice: Caller, source: Source) -> None:
    made = source.connector(alice)

    first = run(alice, made["id"], asks=False)
    again = run(alice, made["id"])
    source.put("gate.md", "The garden gate is locked at ten in the evening.")
    source.put("shed.md", "The shed has a new lock since June.")
    changed = run(alice, made["id"])

    assert (first["status"], first["error"], counts(first)) == ("done", None, {"created": 2})
    assert (again["status"], counts(again)) == ("done", {"unchanged": 2})
    assert (changed["status"], counts(changed)) == ("done", {"unchanged": 1, "refreshed": 1, "created": 1})
    assert objects(alice).keys() == {"boiler.md", "gate.md", "shed.md"}
    assert {one["connector_id"] for one in objects(alice).values()} == {made["id"]}


def test_what_is_missing_is_gone_and_comes_back(alice: Caller, source: Source) -> None:
    made = source.connector(alice)
    run(alice, made["id"], asks=False)
    source.remove("boiler.md")

    missing = run(alice, made["id"])
    source.put("boiler.md", "The boiler key hangs behind the blue door.")
    back = run(alice, made["id"])

    if source.keeps_missing:
        assert (counts(missing), counts(back)) == ({"unchanged": 1}, {"unchanged": 2})
    else:
        assert (counts(missing), counts(back)) == ({"unchanged": 1, "gone": 1}, {"unchanged": 1, "refreshed": 1})
    assert objects(alice)["boiler.md"]["gone_at"] is None


def test_a_source_that_cannot_be_read_ends_nothing(alice: Caller, source: Source) -> None:
    made = source.connector(alice)
    run(alice, made["id"], asks=False)
    source.break_down()

    failed = run(alice, made["id"])

    assert failed["status"] == "failed"
    assert failed["error"] in ("folder_unreadable", "status_500", "no_such_bucket")
    assert counts(failed) == {}
    assert [one["gone_at"] for one in objects(alice).values()] == [None, None]


def test_a_limit_ends_a_run_and_nothing_is_gone(alice: Caller, source: Source) -> None:
    made = source.connector(alice)
    run(alice, made["id"], asks=False)
    call(alice, "PATCH", f"/{made['id']}", {"max_objects": 1})

    shown = run(alice, made["id"])

    assert (shown["status"], shown["error"], counts(shown)) == ("partial", "too_many_objects", {"unchanged": 1})
    assert [one["gone_at"] for one in objects(alice).values()] == [None, None]


def test_a_dry_run_counts_and_changes_nothing(alice: Caller, source: Source) -> None:
    made = source.connector(alice)
    before = call(alice, "POST", f"/{made['id']}/run", {"dry_run": True})
    assert (before["would"], before["status"], objects(alice)) == ({"created": 2}, "never", {})
    run(alice, made["id"])
    source.put("gate.md", "The gate is gone.")

    assert call(alice, "POST", f"/{made['id']}/run", {"dry_run": True})["would"] == {"refreshed": 1, "unchanged": 1}


def test_it_reads_for_its_end_user_alone(alice: Caller, source: Source, globex: OpenedTenant) -> None:
    made = source.connector(alice)
    run(alice, made["id"], asks=False)

    for other in (alice.as_user("bob"), Caller(make_api_key(globex.scope).text)):
        assert (call(other, "GET"), objects(other)) == ({"connectors": []}, {})
        for method, path, body in (("GET", "", None), ("PATCH", "", {"name": "x"}), ("POST", "/run", {})):
            refused = call(other, method, f"/{made['id']}{path}", body, status=404)
            assert refused["error"]["code"] == "CONNECTOR_NOT_FOUND"
    assert len(objects(alice)) == 2
