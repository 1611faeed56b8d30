"""Connectors read S3-compatible buckets of a real server, which checks each signature, and never leave their rules."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from moto.s3.models import s3_backends

from apps.adapters.instances import get_fetcher
from apps.adapters.senders.base import Fetched, SendFailed
from apps.adapters.senders.fake import FakeSender, Sent
from apps.apikeys.onboarding import OpenedTenant
from apps.connectors import runs
from apps.connectors.bucket_listing import parse_listing
from apps.connectors.buckets import BucketSettings
from apps.connectors.models import Connector
from apps.connectors.xml_reading import XmlRefused
from apps.core.scoping import tenant_transaction
from apps.core.slices import SliceOutcome
from apps.key_management import rotation
from tests.api.conftest import Caller
from tests.connectors.bucket_server import LOOPBACK, Store, empty_store, serving
from tests.connectors.test_connectors import call, counts, objects, run
from tests.makers import make_api_key

pytestmark = pytest.mark.django_db(databases="__all__")

BOILER, GATE = b"The boiler key hangs behind the blue door.", b"The garden gate is locked at nine in the evening."


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serving() as endpoint:
        yield endpoint


@pytest.fixture
def store(server: str, settings: Any) -> Store:
    settings.CONNECTOR_FETCHER = LOOPBACK
    one = empty_store(server)
    one.put("house/boiler.md", BOILER)
    one.put("gate.txt", GATE)
    return one


@pytest.fixture
def alice(acme: OpenedTenant) -> Caller:
    return Caller(make_api_key(acme.scope).text)


def create(caller: Caller, store: Store, status: int = 201, bucket: Any = None, **fields: Any) -> Any:
    body = {"kind": "s3", "name": "Manuals", "location": store.endpoint, "bucket": store.settings(**(bucket or {}))}
    return call(caller, "POST", body=body | fields, status=status)


# -- a real server -----------------------------------------------------------------------------------------------------


def test_a_bucket_is_read_refreshed_and_what_is_gone_ends(alice: Caller, store: Store) -> None:
    made = create(alice, store)

    first = run(alice, made["id"], asks=False)
    again = run(alice, made["id"])
    store.put("gate.txt", b"The garden gate is locked at ten in the evening.")
    store.delete("house/boiler.md")
    changed = run(alice, made["id"])

    assert (first["status"], first["error"], counts(first)) == ("done", None, {"created": 2})
    assert counts(again) == {"unchanged": 2}
    assert counts(changed) == {"refreshed": 1, "gone": 1}
    assert (changed["counts"]["memories_added"], changed["counts"]["memories_ended"]) == (1, 2)
    found = objects(alice)
    assert (found["gate.txt"]["version"], found["gate.txt"]["kind"]) == (2, "bucket")
    assert found["house/boiler.md"]["gone_at"] is not None
    memories: Any = alice("POST", "/memory/query", {"query": "When is the garden gate locked?"})
    assert "ten in the evening" in memories.json()["memories"][0]["text"]


def test_an_unchanged_object_is_not_read_again(alice: Caller, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    made = create(alice, store)
    run(alice, made["id"], asks=False)
    asked: list[str] = []
    fetcher = get_fetcher()
    get = fetcher.get
    monkeypatch.setattr(fetcher, "get", lambda url, *args, **options: asked.append(url) or get(url, *args, **options))

    unchanged = run(alice, made["id"])
    listed = len(asked)
    store.put("gate.txt", GATE, Metadata={"touched": "yes"})
    same_content = run(alice, made["id"])

    assert (counts(unchanged), counts(same_content)) == ({"unchanged": 2}, {"unchanged": 2})
    assert listed == 1
    assert all("list-type=2" in url for url in asked)


def test_only_the_prefix_is_read(alice: Caller, store: Store) -> None:
    shown = run(alice, create(alice, store, bucket={"prefix": "house/"})["id"], asks=False)

    assert counts(shown) == {"created": 1}
    assert objects(alice).keys() == {"house/boiler.md"}


def test_the_name_of_a_bucket_may_be_in_the_host(alice: Caller, store: Store, settings: Any) -> None:
    options = {"allow_http": True, "networks": ["127.0.0.0/8"], "resolve": lambda host, port: ["127.0.0.1"]}
    settings.CONNECTOR_FETCHER = {"BACKEND": "apps.adapters.senders.http.HttpSender", "OPTIONS": options}
    port = store.endpoint.rpartition(":")[2]
    made = create(alice, store, bucket={"path_style": False}, location=f"http://s3.amazonaws.com:{port}")

    shown = run(alice, made["id"], asks=False)

    assert (shown["status"], counts(shown)) == ("done", {"created": 2})


ODD: Final = (
    "a b+c&d=e?f#g.txt", "%2e%2e/100%.txt", "ünï/日本/👩‍👩‍👧.txt", "quote'\"<>&amp;.txt", "~tilde/*(star)!.txt",
    "semi;colon,at@:.txt", "//double//slash.txt", "x" * 1_020 + ".txt",
)  # fmt: skip


@pytest.mark.parametrize("key", ODD, ids=range(len(ODD)))
def test_keys_of_odd_characters_are_read(key: str, alice: Caller, store: Store) -> None:
    store.put(key, b"The spare tyre lies under the boot.")

    shown = run(alice, create(alice, store)["id"], asks=False)

    assert (shown["status"], counts(shown)) == ("done", {"created": 3})
    assert key in objects(alice)


def test_pages_are_read_to_the_end(alice: Caller, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.connectors.buckets.PAGE", 2)
    for number in range(5):
        store.put(f"n{number}.txt", f"Locker {number} belongs to team {number}.".encode())

    shown = run(alice, create(alice, store)["id"], asks=False)

    assert (shown["status"], counts(shown)) == ("done", {"created": 7})


def test_of_ten_thousand_keys_as_many_as_allowed_are_read(alice: Caller, store: Store) -> None:
    backend: Any = s3_backends["123456789012"]["aws"]  # of the server, which runs in this process
    for number in range(10_000):
        backend.put_object("manuals", f"house/{number:05}.txt", b"")

    shown = run(alice, create(alice, store, max_objects=3)["id"], asks=False)

    assert (shown["status"], shown["error"], counts(shown)) == ("partial", "too_many_objects", {"created": 3})


def test_a_limit_on_bytes_counts_what_is_read(alice: Caller, store: Store) -> None:
    made = create(alice, store, max_bytes=len(GATE))

    first, second = run(alice, made["id"], asks=False), run(alice, made["id"])

    assert (first["status"], first["error"], counts(first)) == ("partial", "too_many_bytes", {"created": 1})
    assert (second["status"], counts(second)) == ("done", {"unchanged": 1, "created": 1})


def test_what_is_no_document_is_refused_without_reading(alice: Caller, store: Store, settings: Any) -> None:
    settings.MAX_UPLOAD_BYTES = 1_000
    store.put("photo.jpg", b"\xff\xd8\xff")
    store.put("door.ts", b"// The door opens inwards.")
    store.put("large.txt", b"x" * 1_001)
    store.put("cold.txt", b"cold", StorageClass="GLACIER")
    store.put("broken.pdf", b"not a PDF")
    store.put("folder/", b"")

    shown = run(alice, create(alice, store, max_bytes=200)["id"], asks=False)

    assert (shown["status"], counts(shown)) == ("done", {"created": 3, "refused": 4})


@pytest.mark.parametrize(
    ("bucket", "error"),
    [
        ({"name": "elsewhere"}, "no_such_bucket"),
        ({"secret_access_key": "wrong"}, "access_denied"),
        ({"access_key_id": "AKIAUNKNOWN"}, "access_denied"),
    ],
)
def test_what_the_server_refuses_is_the_status(bucket: Any, error: str, alice: Caller, store: Store) -> None:
    made = create(alice, store)
    run(alice, made["id"], asks=False)
    call(alice, "PATCH", f"/{made['id']}", {"bucket": bucket})

    shown = run(alice, made["id"])

    assert (shown["status"], shown["error"], counts(shown)) == ("failed", error, {})
    assert [one["gone_at"] for one in objects(alice).values()] == [None, None]


# -- a server that means harm ------------------------------------------------------------------------------------------

ENDPOINT: Final = "https://s3.example"
KEYS: Final = {"access_key_id": "AKIA1", "secret_access_key": "hunter2hunter2"}


@pytest.fixture
def web(settings: Any) -> FakeSender:
    settings.CONNECTOR_FETCHER = {"BACKEND": "apps.adapters.senders.fake.FakeSender", "OPTIONS": {}}
    fetcher = get_fetcher()
    assert isinstance(fetcher, FakeSender)
    return fetcher


def listing(*objects: tuple[str, int], more: str = "") -> bytes:
    """A page of the listing.  objects: key and size.  more: the token of the next page."""
    entries = (
        f"<Contents><Key>{key}</Key><ETag>&quot;{key}1&quot;</ETag><Size>{size}</Size></Contents>"
        for key, size in objects
    )
    next_page = f"<NextContinuationToken>{more}</NextContinuationToken>" if more else ""
    truncated = f"<IsTruncated>{str(bool(more)).lower()}</IsTruncated>"
    return f"<ListBucketResult>{truncated}{next_page}{''.join(entries)}</ListBucketResult>".encode()


def answers(web: FakeSender, page: bytes, body: bytes = b"", status: int = 200) -> None:
    """Answer each request for a listing with ``page``, and each other one with ``body`` and ``status``."""

    def answer(sent: Sent) -> Fetched:
        if "list-type=2" in sent.url:
            return Fetched(status=200, headers={}, body=page)
        return Fetched(status=status, headers={}, body=body)

    web.page = answer


def create_at(caller: Caller, location: str = ENDPOINT, status: int = 201, **bucket: Any) -> Any:
    body = {"kind": "s3", "name": "n", "location": location, "bucket": {"name": "manuals"} | KEYS | bucket}
    return call(caller, "POST", body=body, status=status)


def test_the_server_s_own_network_is_refused(alice: Caller, settings: Any) -> None:
    settings.CONNECTOR_FETCHER = {
        "BACKEND": "apps.adapters.senders.http.HttpSender", "OPTIONS": {"allow_http": True}
    }  # fmt: skip
    for url in (
        "http://169.254.169.254",
        "http://127.0.0.1:9000",
        "http://[::1]/",
        "http://10.0.0.1",
        "ftp://s3.example",
    ):
        refused = create_at(alice, url, status=422)
        assert refused["error"]["code"] == "SOURCE_REFUSED"


def test_with_the_bucket_in_the_host_it_is_this_host_that_counts(alice: Caller, settings: Any) -> None:
    def resolve(host: str, port: int) -> list[str]:
        return ["10.0.0.1" if host == "manuals.s3.example" else "93.184.216.34"]

    settings.CONNECTOR_FETCHER = {
        "BACKEND": "apps.adapters.senders.http.HttpSender", "OPTIONS": {"resolve": resolve}
    }  # fmt: skip

    create_at(alice)
    assert create_at(alice, status=422, path_style=False)["error"]["code"] == "SOURCE_REFUSED"


def test_an_address_that_turns_private_ends_the_run(alice: Caller, store: Store, settings: Any) -> None:
    made = create(alice, store)
    run(alice, made["id"], asks=False)
    settings.CONNECTOR_FETCHER = {
        "BACKEND": "apps.adapters.senders.http.HttpSender", "OPTIONS": {"allow_http": True}
    }  # fmt: skip

    shown = run(alice, made["id"])

    assert (shown["status"], shown["error"]) == ("failed", "refused")
    assert [one["gone_at"] for one in objects(alice).values()] == [None, None]


@pytest.mark.parametrize(
    ("status", "error"),
    [(301, "status_301"), (307, "status_307"), (403, "access_denied"), (429, "throttled"), (503, "throttled"),
     (500, "status_500"), (0, "timeout")],
)  # fmt: skip
@pytest.mark.parametrize("of", ["the listing", "an object"])
def test_a_refusal_is_the_status_and_no_redirect_is_followed(
    of: str, status: int, error: str, alice: Caller, web: FakeSender
) -> None:
    def page(sent: Sent) -> Fetched:
        if of == "an object" and "list-type=2" in sent.url:
            return Fetched(status=200, headers={}, body=listing(("a.txt", 3), ("b.txt", 3)))
        if not status:
            raise SendFailed("timeout")
        return Fetched(status=status, headers={"location": "http://169.254.169.254/"}, body=b"<Error>secret</Error>")

    web.page = page

    shown = run(alice, create_at(alice)["id"], asks=False)

    assert (shown["status"], shown["error"], shown["counts"]) == ("failed", error, {})
    assert len(web.sent) == (1 if of == "the listing" else 2)


@pytest.mark.parametrize("body", [b"The tide comes in at nine.", b"The tide comes in at nine and goes.", b"The tide"])
def test_an_object_that_is_not_as_listed_waits_for_the_next_run(body: bytes, alice: Caller, web: FakeSender) -> None:
    answers(web, listing(("tide.txt", 26)), body)

    shown = run(alice, create_at(alice)["id"], asks=False)

    assert counts(shown) == ({"created": 1} if len(body) == 26 else {"refused": 1})


@pytest.mark.parametrize("status", [400, 404, 412])
def test_an_object_that_changed_since_its_listing_stays_as_it_was(status: int, alice: Caller, web: FakeSender) -> None:
    answers(web, listing(("tide.txt", 26)), b"The tide comes in at nine.")
    made = create_at(alice)
    run(alice, made["id"], asks=False)
    answers(web, listing(("tide.txt", 27)), status=status)

    shown = run(alice, made["id"])

    assert (shown["status"], counts(shown)) == ("done", {"refused": 1})
    assert objects(alice)["tide.txt"]["gone_at"] is None


@pytest.mark.parametrize(
    ("page", "asked"),
    [
        (b"", 1), (b"<html/>", 1), (b"<rss><item/></rss>", 1), (listing(("a" * 1_025, 1)), 1), (listing(("", 1)), 1),
        (listing(("a", -1)), 1), (listing(("a", 10**30)), 1), (listing(("a/", 0), more="1"), 2),
        (listing(("a.jpg", 1), more="1"), 2), (listing(more="x" * 2_000), 1),
        (b'<!DOCTYPE a [<!ENTITY b "bb">]><ListBucketResult>&b;</ListBucketResult>', 1), (b"<a>" * 99, 1),
        (b"x" * 8_000_001, 1),
    ],
    ids=range(13),
)  # fmt: skip
def test_a_listing_that_is_none_or_never_ends_fails(page: bytes, asked: int, alice: Caller, web: FakeSender) -> None:
    answers(web, page)

    shown = run(alice, create_at(alice)["id"], asks=False)

    assert (shown["status"], shown["error"]) == ("failed", "malformed")
    assert len(web.sent) == asked


def test_pages_without_objects_are_few(alice: Caller, web: FakeSender) -> None:
    web.page = lambda _: Fetched(status=200, headers={}, body=listing(more=str(len(web.sent))))

    shown = run(alice, create_at(alice)["id"], asks=False)

    assert (shown["status"], shown["error"], len(web.sent)) == ("failed", "malformed", 4)


@pytest.mark.parametrize("location", ["https://s3.example", "https://s3.example/", "https://s3.example:8443/base/"])
def test_the_name_of_the_bucket_is_in_the_path_or_the_host(location: str) -> None:
    bucket = BucketSettings(name="manuals", prefix="", region="eu", access_key_id="a", is_path_style=True)
    in_host = BucketSettings(name="manuals", prefix="", region="eu", access_key_id="a", is_path_style=False)

    plain = location.rstrip("/")
    assert bucket.url(location) == f"{plain}/manuals"
    assert in_host.url(location) == plain.replace("s3.", "manuals.s3.")


def test_keys_of_a_listing_are_decoded_only_where_it_says_so() -> None:
    page = listing(("a+b%20c.txt", 1))
    encoded = page.replace(b"<IsTruncated>", b"<EncodingType>url</EncodingType><IsTruncated>")

    assert [one.key for one in parse_listing(page).objects] == ["a+b%20c.txt"]
    assert [one.key for one in parse_listing(encoded).objects] == ["a b c.txt"]
    with pytest.raises(XmlRefused):
        parse_listing(b"<Error><Code>NoSuchBucket</Code></Error>")


# -- the secret --------------------------------------------------------------------------------------------------------


def test_the_secret_is_stored_encrypted_and_never_returned(
    alice: Caller, web: FakeSender, acme: OpenedTenant, caplog: pytest.LogCaptureFixture
) -> None:
    answers(web, listing(("a.txt", 3)), b"abc")
    caplog.set_level("DEBUG")
    made = create_at(alice)
    shown = run(alice, made["id"], asks=False)
    listed = call(alice, "GET")

    with tenant_transaction(acme.scope):
        row = Connector.objects.within(acme.scope).get()
    sealed = bytes(row.secret_ct or b"")
    assert sealed
    assert KEYS["secret_access_key"].encode() not in sealed + bytes(row.settings_ct)
    for answer in (made, shown, listed):
        assert "secret" not in str(answer)
    assert made["bucket"] == {
        "name": "manuals", "prefix": "", "region": "us-east-1", "access_key_id": "AKIA1", "path_style": True
    }  # fmt: skip
    assert len(web.sent) == 2
    for sent in web.sent:
        assert KEYS["secret_access_key"] not in sent.url + str(sent.headers)
        assert sent.headers["Authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIA1/")
    assert KEYS["secret_access_key"] not in caplog.text
    assert "a.txt" not in caplog.text


def test_a_change_keeps_the_secret_or_replaces_it(alice: Caller, store: Store) -> None:
    made = create(alice, store, bucket={"secret_access_key": "wrong"})

    call(alice, "PATCH", f"/{made['id']}", {"name": "Mine", "bucket": {"prefix": "house/"}})
    wrong = run(alice, made["id"])
    right = call(alice, "PATCH", f"/{made['id']}", {"bucket": {"secret_access_key": store.key["SecretAccessKey"]}})
    shown = run(alice, made["id"])

    assert (wrong["name"], wrong["error"]) == ("Mine", "access_denied")
    assert right["bucket"]["prefix"] == "house/"
    assert (shown["status"], counts(shown)) == ("done", {"created": 1})


@pytest.mark.parametrize("how", [{}, {"is_compromise": True}], ids=["rotation", "compromise"])
def test_when_keys_turn_a_bucket_is_read_on(how: Any, alice: Caller, store: Store, acme: OpenedTenant) -> None:
    made = create(alice, store)
    run(alice, made["id"], asks=False)
    asked = rotation.rotate(acme.scope, reason="test", now=datetime.now(UTC), **how)
    assert rotation.work(asked.pk, seconds=60, workers=1, clock=lambda: datetime.now(UTC)) == SliceOutcome.OVER

    again = run(alice, made["id"])

    assert (again["status"], again["counts"].get("created")) == ("done", None)
    assert counts(again) == ({"refreshed": 2} if how else {"unchanged": 2})


# -- whose, and what is refused ----------------------------------------------------------------------------------------


def test_a_bucket_is_read_for_its_end_user_alone(alice: Caller, store: Store, globex: OpenedTenant) -> None:
    made = create(alice, store)
    run(alice, made["id"], asks=False)
    bob, stranger = alice.as_user("bob"), Caller(make_api_key(globex.scope).text)

    for other in (bob, stranger):
        assert call(other, "GET") == {"connectors": []}
        assert objects(other) == {}
        for method, path, body in (("GET", "", None), ("PATCH", "", {"bucket": {"prefix": "x"}}), ("POST", "/run", {})):
            refused = call(other, method, f"/{made['id']}{path}", body, status=404)
            assert refused["error"]["code"] == "CONNECTOR_NOT_FOUND"
    # The same bucket of two tenants is two objects.
    theirs = create(stranger, store)
    for tenant_id, due in runs.due_connectors(now=datetime.now(UTC)):
        runs.run(tenant_id, due, clock=lambda: datetime.now(UTC))
    assert counts(call(stranger, "GET", f"/{theirs['id']}")) == {"created": 2}
    assert {one["connector_id"] for one in objects(alice).values()} == {made["id"]}


@pytest.mark.parametrize(
    "bucket",
    [
        {"name": "UPPER"}, {"name": "a"}, {"name": "../etc"}, {"name": "a?b"}, {"name": "a/b"}, {"region": "eu west"},
        {"access_key_id": "a\nb"}, {"access_key_id": "a/b"}, {"secret_access_key": "a b"}, {"secret_access_key": "ü"},
        {"secret_access_key": None}, {"access_key_id": None}, {"name": None}, {"password": "x"},
        {"prefix": "x" * 1_025},
    ],
)  # fmt: skip
def test_malformed_buckets_are_refused(bucket: Any, alice: Caller, web: FakeSender) -> None:
    refused = create_at(alice, status=422, **bucket)

    assert "hunter2" not in str(refused)


def test_a_bucket_belongs_to_its_kind(alice: Caller, web: FakeSender) -> None:
    body = {"kind": "feed", "name": "n", "location": "https://news.example/"}
    feed = call(alice, "POST", body=body, status=201)

    for method, path, sent in (
        ("POST", "", body | {"bucket": {"name": "manuals"} | KEYS}),
        ("POST", "", {"kind": "s3", "name": "n", "location": ENDPOINT}),
        ("PATCH", f"/{feed['id']}", {"bucket": {"prefix": "x"}}),
        ("PATCH", f"/{feed['id']}", {"bucket": {"secret_access_key": "x"}}),
    ):
        refused = call(alice, method, path, sent, status=422)
        assert "bucket" in str(refused["error"])
    assert create_at(alice, f"{ENDPOINT}?a=b", status=422)["error"]["code"] == "SOURCE_REFUSED"
