"""Whatever is sent: the envelope, never a 500, nothing half-written."""

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.apps import apps
from django.db import transaction
from django.http import HttpResponse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.api.fields import MAX_TEXT
from apps.api.parsers import parse
from apps.api.reference import schema
from apps.api.views import OpenView
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import PERMISSIONS
from apps.apikeys.services import issue
from apps.core.errors import DomainError
from apps.core.prepared_sql import prepared_cursor
from apps.core.scoping import ScopedModel, tenant_transaction
from apps.crypto import key_cache
from apps.projects.scope import Environment
from tests import once
from tests.adapters import sample_files as files
from tests.api.conftest import Caller, Refusal
from tests.api.people import OF_PEOPLE, make_fresh_caller
from tests.forms import form
from tests.makers import NOW

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

DEEP = 200_000
# What a request may leave behind although it was refused: that it was made, and how often.
OF_THE_REQUEST = {"audit", "apikeys"}
NOTHING = "987654321"  # an id that nothing has, however many tests ran before
OTHERWISE = {
    "/memory/forget": 403,  # which memories a key may retire is asked before anything is read
    "DELETE /v1/batch/": 403,  # the same
    "/memory/decision/resolve": 404,  # an empty object asks for the one decision that is open
    "/v1/facts/query": 200,  # an empty object asks for every fact
    f"/org/api-keys/{NOTHING}/rotate": 404,  # no field is needed, and there is no such key
    f"/org/webhooks/{NOTHING}/replay": 404,  # nor such a webhook
    f"/org/webhooks/{NOTHING}/test": 404,
    f"/v1/connectors/{NOTHING}": 404,
    f"/v1/connectors/{NOTHING}/run": 404,
    f"/v1/candidates/{NOTHING}/accept": 404,  # no field is needed, and there is no such candidate
}


@dataclass(frozen=True)
class Route:
    """One that takes a body.  example: a good one, where the OpenAPI document shows it.  fields: the JSON type of each,
    "" where it has several or a name."""

    method: str
    path: str
    example: dict[str, Any]
    fields: dict[str, str]

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def invalid(self) -> int:
        """The status of a body that is not valid: clients of profiles and of mem0, whose paths end in a slash, expect
        400."""
        return 400 if "{profile}" in self.path or "{ns}" in self.path or self.path.endswith("/") else 422

    @property
    def otherwise(self) -> int | None:
        """The status of a body that this route answers in a way of its own."""
        return OTHERWISE.get(self.path, OTHERWISE.get(str(self)))


def routes(media_type: str) -> Iterator[Route]:
    document = schema()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {}).get(media_type)
            if content:
                example = next(iter(content.get("examples", {}).values()), {"value": {}})
                body = document["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
                filled = re.sub(r"\{\w+_id\}", NOTHING, path)
                types = {name: one.get("type", "") for name, one in body["properties"].items()}
                yield Route(method.upper(), filled, example["value"], types)


OF_STRANGERS = {"/auth/signup", "/auth/login", "/auth/mfa/complete", "/auth/refresh", "/auth/logout"}
JSON_ROUTES = list(routes("application/json"))
FORM_ROUTES = list(routes("multipart/form-data"))


def count(acme: OpenedTenant) -> dict[str, int]:
    """The rows of every table of the tenant, but for those of the request itself; empty ones are left out."""
    tables = [
        model._meta.db_table
        for model in apps.get_models()
        if issubclass(model, ScopedModel) and model._meta.app_label not in OF_THE_REQUEST
    ]
    asked = " union all ".join(f"select '{table}', count(*) from {table}" for table in tables)  # noqa: S608
    with tenant_transaction(acme.scope), prepared_cursor() as cursor:
        cursor.execute(asked)
        return {table: rows for table, rows in cursor.fetchall() if rows}


@pytest.fixture
def mighty(acme: OpenedTenant) -> Caller:
    """alice, with a key that may do everything a key may."""
    made = issue(acme.scope, name="all", environment=Environment.PRODUCTION, scopes=list(PERMISSIONS), now=NOW)
    return Caller(made.text)


@pytest.fixture
def whoever_may(route: Route, acme: OpenedTenant, mighty: Caller) -> Caller:
    """That key; for a route of people, an owner who has just shown a second factor."""
    of_people = {(row.method, re.sub(r"<\w+:\w+>", NOTHING, row.route)) for row in OF_PEOPLE}
    return make_fresh_caller(acme.tenant) if (route.method, route.path) in of_people else mighty


def assert_envelope(response: HttpResponse) -> None:
    answer = json.loads(response.content)
    assert response["Content-Type"] == "application/json"
    refusal = Refusal.of(response)
    assert refusal.code
    assert refusal.message
    assert answer["detail"] == refusal.message
    assert answer["request_id"] == response["X-Request-ID"]
    assert len(response.content) < 4000


# -- broken bodies -----------------------------------------------------------------------------------------------------

BROKEN: dict[str, tuple[bytes, int]] = {
    "not JSON": (b"hello", 400),
    "half a body": (b'{"text": "The dentist', 400),
    "two bodies": (b'{"text": "a"}{"text": "b"}', 400),
    "white space": (b"   ", 400),
    "byte order mark": (b"\xef\xbb\xbf{}", 400),
    "UTF-16": ('{"text": "The dentist is on the third floor."}'.encode("utf-16"), 400),
    "Latin-1": (b'{"text": "caf\xe9 on the corner of the street"}', 400),
    "overlong UTF-8": (b'{"text": "\xc0\xaf\xc0\xaf"}', 400),
    "a surrogate in UTF-8": (b'{"text": "\xed\xa0\x80"}', 400),
    "lone high surrogate": (b'{"text": "The dentist \\ud83d is here."}', 422),
    "lone low surrogate": (b'{"query": "\\ude00"}', 422),
    "lone surrogate in a key": (b'{"text": "The dentist is here.", "metadata": {"\\ud83d": 1}}', 422),
    "NaN": (b'{"text": "The dentist is here.", "importance": NaN}', 400),
    "Infinity": (b'{"text": "The dentist is here.", "metadata": {"a": -Infinity}}', 400),
    "a float past the largest": (b'{"text": "The dentist is here.", "metadata": {"a": 1e999}}', 400),
    "an integer past 64 bits": (b'{"text": "The dentist is here.", "metadata": {"a": 18446744073709551616}}', 422),
    "an integer of 5,000 digits": (b'{"text": "The dentist is here.", "metadata": {"a": ' + b"9" * 5000 + b"}}", 400),
    "raw control characters": (b'{"text": "a\nb\x00c"}', 400),
    "arrays 200,000 deep": (b"[" * DEEP + b"]" * DEEP, 422),
    "objects 200,000 deep": (b'{"a":' * DEEP + b"1" + b"}" * DEEP, 422),
    "metadata 200,000 deep": (b'{"text": "a", "metadata": ' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}", 422),
    "metadata 33 deep": (b'{"text": "a", "metadata": ' + b'{"a":' * 33 + b"1" + b"}" * 33 + b"}", 422),
    "unclosed, 200,000 deep": (b'{"a":' * DEEP, 422),
    "a huge array": (b'{"items": [' + b"1," * 300_000 + b"1]}", 422),
    "past the largest body": (b'{"text": "' + b"a" * (8 * 1024 * 1024) + b'"}', 413),
    **{
        f"{value} instead of an object": (value.encode(), 422)
        for value in ("[]", '"text"', "1", "null", "true", "[{}]")
    },
}


@pytest.mark.parametrize("route", JSON_ROUTES, ids=str)
def test_broken_body_is_refused(route: Route, acme: OpenedTenant, whoever_may: Caller) -> None:
    before = count(acme)
    for case, (body, otherwise) in BROKEN.items():
        expected = route.invalid if otherwise == 422 else otherwise
        response = whoever_may(route.method, route.path, body)

        if route.otherwise == 403:
            expected = 403
        elif route.path in OF_STRANGERS and len(body) > OpenView.max_body_bytes:
            expected = 413
        assert response.status_code == expected, (case, response.content)
        assert_envelope(response)
    assert count(acme) == before


@pytest.mark.parametrize("route", JSON_ROUTES, ids=str)
def test_body_of_another_type_is_refused(route: Route, acme: OpenedTenant, whoever_may: Caller) -> None:
    before = count(acme)
    for content_type in ("text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "a/b;c"):
        response = whoever_may(route.method, route.path, b"text=hello", Content_Type=content_type)

        assert response.status_code in {415, route.otherwise}, response.content
        assert_envelope(response)
    assert count(acme) == before


@pytest.mark.parametrize("route", JSON_ROUTES, ids=str)
def test_empty_body_lacks_its_fields(route: Route, acme: OpenedTenant, whoever_may: Caller) -> None:
    before = count(acme)
    for content_type in ("", "application/json"):
        response = whoever_may(route.method, route.path, b"", Content_Type=content_type)

        assert response.status_code in {route.invalid, route.otherwise}, response.content
        if response.status_code >= 400:
            assert_envelope(response)
    assert count(acme) == before


@pytest.mark.parametrize("route", JSON_ROUTES, ids=str)
def test_of_a_name_that_stands_twice_the_last_counts(route: Route, acme: OpenedTenant, mighty: Caller) -> None:
    """As for most readers of JSON: what was checked is what is stored."""
    before = count(acme)
    for name in route.example:
        good = json.dumps(route.example)
        spoiled = f'{good[:-1]}, {json.dumps(name)}: {{"not": [["this"]]}}}}'.encode()

        response = mighty(route.method, route.path, spoiled)

        # An object is as good as any other where the caller's own words are kept.
        assert response.status_code in {403, 404, route.invalid} or name == "value", (
            name,
            response.content,
        )
        if response.status_code >= 400:
            assert_envelope(response)
    assert "value" in route.example or count(acme) == before


# Of each kind one: what no column holds, too long, a control character, characters of several bytes, null inside.
OF_EVERY_TYPE: tuple[Any, ...] = (2**63, "x" * 100_000, "a\x00b", "🦜\u202e", {"a": [None]})
OF_ITS_TYPE: dict[str, tuple[Any, ...]] = {
    "string": ("",),
    "integer": (-1, 1.5),
    "number": (-1, True),
    "boolean": (0,),
    "array": ([], [[1]]),
    "object": ({},),
}


@pytest.mark.parametrize("route", JSON_ROUTES, ids=str)
def test_fields_of_any_type_are_taken_or_refused_and_never_fail(
    route: Route, acme: OpenedTenant, mighty: Caller
) -> None:
    before = count(acme)
    for name, kind in route.fields.items():
        for value in (*OF_EVERY_TYPE, *OF_ITS_TYPE.get(kind, ())):
            with transaction.atomic(), transaction.atomic(using="keyring"):
                response = mighty(route.method, route.path, route.example | {name: value})
                if is_taken := response.status_code < 400:
                    transaction.set_rollback(True)
                    transaction.set_rollback(True, using="keyring")

            # 501: a field of mem0 that is not built.
            assert response.status_code < 500 or response.status_code == 501, (name, value, response.content)
            if is_taken:
                key_cache.forget_all()
            else:
                assert_envelope(response)
    assert count(acme) == before, "a request that was refused wrote something"


FORM_TYPE = form(b"")[1]
# Of a body and its content type, the status of the refusal.
BROKEN_FORMS: dict[str, tuple[bytes, str, int]] = {
    "no boundary": (b"--x\r\n", "multipart/form-data", 400),
    "another boundary": (form(b"text")[0], "multipart/form-data; boundary=other", 422),
    "cut in the file": (form(b"text" * 100)[0][:200], FORM_TYPE, 400),
    "without its end": (form(b"text")[0].rstrip(b"-\r\n"), FORM_TYPE, 400),
    "empty": (b"", FORM_TYPE, 422),
    "no file": (*form(None, source="x"), 400),
    "file without a name": (*form(b"text", ""), 422),
    "JSON": (b'{"file": "text"}', "application/json", 415),
    "text instead of a file": (
        b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\ntext\r\n--x--\r\n',
        "multipart/form-data; boundary=x",
        422,
    ),
    "two files": (
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\na\r\n' * 2 + b"--x--\r\n",
        "multipart/form-data; boundary=x",
        400,
    ),
    "a thousand fields": (*form(b"text", **{f"field{number}": "x" for number in range(1100)}), 400),
    "Latin-1 in a field": (form(b"text", end_user_id="here")[0].replace(b"here", b"caf\xe9"), FORM_TYPE, 400),
    "NUL in a field": (*form(b"text", end_user_id="a\x00b"), 422),
    "a mistyped flag": (*form(b"text", deduplicate="perhaps", resume="perhaps"), 422),
}
HOSTILE_FILES: dict[str, tuple[bytes, str, int]] = {
    "a zip bomb": (
        *form(files.with_member(files.docx("x"), "word/media/a.bin", bytes(20_000_000)), "report.docx"),
        422,
    ),
    "an archive": (*form(b"PK\x03\x04" + b"\0" * 100, "archive.zip"), 422),
    "a program": (*form(b"MZ" + b"\0" * 100, "setup.exe"), 415),
    "another kind than its name says": (*form(b"%PDF-1.7 and no more", "report.docx"), 422),
}


@pytest.mark.parametrize("case", HOSTILE_FILES)
def test_hostile_file_is_refused(case: str, acme: OpenedTenant, mighty: Caller) -> None:
    """Imports take any file: what is no record in it is reported line by line (tests/api/test_imports.py)."""
    before = count(acme)
    body, content_type, status = HOSTILE_FILES[case]

    response = mighty("POST", "/memory/upload", body, Content_Type=content_type)

    assert response.status_code == status, response.content
    assert_envelope(response)
    assert count(acme) == before


@pytest.mark.parametrize("route", FORM_ROUTES, ids=str)
@pytest.mark.parametrize("case", BROKEN_FORMS)
def test_broken_form_is_refused(route: Route, case: str, acme: OpenedTenant, mighty: Caller) -> None:
    before = count(acme)
    body, content_type, status = BROKEN_FORMS[case]

    response = mighty(route.method, route.path, body, Content_Type=content_type)

    assert response.status_code == status, response.content
    assert_envelope(response)
    assert count(acme) == before


def test_empty_body_is_enough_where_none_is_needed(alice: Caller) -> None:
    assert alice("POST", "/memory/refresh").status_code == 202
    assert alice("POST", "/memory/refresh", b"", Content_Type="application/json").status_code == 202


def test_announced_length_is_believed_before_anything_is_read(alice: Caller) -> None:
    response = alice.client.generic(
        "POST",
        "/memory/add",
        b"{}",
        content_type="application/json",
        CONTENT_LENGTH=str(10**12),
        headers={"X-API-Key": alice.key or "", "X-End-User-ID": "alice"},
    )

    assert response.status_code == 413


# -- wrong types -------------------------------------------------------------------------------------------------------

NEW_MEMORY: dict[str, Any] = {"text": "The dentist is on the third floor."}
MOMENTS = ("2026-01-01", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-13-01", "yesterday")
VALUES: tuple[Any, ...] = (
    *(0, -1, 1.5, True, "", " ", "x", [], [1], [[]], {}, {"a": 1}, 10**18, "x" * 5000, "a\x00b", "\n"),
    *MOMENTS,
)
TEXTS: tuple[Any, ...] = ("x", *MOMENTS)
# Which of VALUES each filter takes; it refuses all others.
TAKEN: dict[str, tuple[Any, ...]] = {
    "memory_type": ("", " ", *TEXTS, []),
    "source": ("", " ", *TEXTS, []),
    "sources": ("", " ", *TEXTS, []),
    "tags": ([],),
    "tier": ([],),
    "since": ("2026-01-01",),
    "until": ("2026-01-01",),
    "include_summaries": (True,),
    "session_id": TEXTS,
}


@pytest.mark.parametrize("field", TAKEN)
def test_filter_takes_what_it_is_for_and_refuses_the_rest_by_name(field: str, alice: Caller) -> None:
    alice.add("The dentist is on the third floor.", tags=["a"], metadata={"a": 1})
    taken = list(map(repr, TAKEN[field]))  # 1 is equal to True
    for value in VALUES:
        response = alice("POST", "/memory/query", {"query": "dentist?", "filters": {field: value}})

        if repr(value) in taken:
            assert (response.status_code, type(response.json()["memories"])) == (200, list), (field, value)
        else:
            assert response.status_code == 422, (field, value, response.content)
            assert response.json()["error"]["details"][0]["loc"][:3] == ["body", "filters", field]


@pytest.mark.parametrize(
    "metadata_filter", [{"a": {"b": [1]}}, {"": None}, {"a\x00": "\x00"}, {"a": 1e300}, {"a": [1, "x"]}]
)
def test_metadata_filter_of_any_shape_is_taken(metadata_filter: dict[str, Any], alice: Caller) -> None:
    alice.add("The dentist is on the third floor.", metadata={"a": 1})

    response = alice("POST", "/memory/query", {"query": "dentist?", "metadata_filter": metadata_filter})

    assert response.status_code == 200


@pytest.mark.parametrize("weights", [{}, {"semantic": 0}, {"semantic": 0, "lexical": 0, "recency": 0}])
@pytest.mark.parametrize("profile", ["default", "memorysync"])
def test_any_factor_may_weigh_nothing(weights: dict[str, float], profile: str, alice: Caller) -> None:
    memory = alice.add("The dentist is on the third floor.")

    response = alice("POST", "/memory/query", {"query": "dentist?", "weights": weights, "profile": profile})

    assert response.status_code == 200, response.content
    assert [one["id"] for one in response.json()["memories"]] == [memory["id"]]


LABELS = ("source", "event_type", "session_id", "client_ref", "end_user_id")


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("value", ["a\x00b", "a\nb", "\x7f", "\x85"])
def test_label_holds_no_control_characters(label: str, value: str, acme: OpenedTenant, alice: Caller) -> None:
    before = count(acme)

    response = alice("POST", "/memory/add", NEW_MEMORY | {label: value})

    assert response.status_code == 422
    assert response.json()["error"]["details"][0]["loc"] == ["body", label]
    assert count(acme) == before


@pytest.mark.parametrize(("field", "value"), [
    ("text", "x" * (MAX_TEXT + 1)), ("source", "x" * 65), ("event_type", "x" * 65),
    ("client_ref", "x" * 129), ("tags", ["x"] * 65), ("tags", ["x" * 65]), ("ttl_minutes", 0), ("ttl_minutes", 10**9),
    ("importance", 1.01), ("importance", -0.01)])  # fmt: skip
def test_too_much_is_refused_by_name(field: str, value: Any, acme: OpenedTenant, alice: Caller) -> None:
    before = count(acme)

    response = alice("POST", "/memory/add", NEW_MEMORY | {field: value})

    assert response.status_code == 422
    assert response.json()["error"]["details"][0]["loc"] == ["body", field]
    assert count(acme) == before


def test_metadata_past_64_kib_is_too_large(acme: OpenedTenant, alice: Caller) -> None:
    before = count(acme)

    response = alice("POST", "/memory/add", NEW_MEMORY | {"metadata": {"a": "x" * 65_536}})

    assert (response.status_code, response.json()["error"]["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert count(acme) == before


def test_text_past_a_megabyte_is_refused_whole(acme: OpenedTenant, alice: Caller) -> None:
    before = count(acme)

    response = alice("POST", "/memory/add", {"text": "word " * 209_716})

    assert response.status_code == 422
    assert count(acme) == before


def test_longest_text_is_kept_whole(alice: Caller) -> None:
    text = ("The lighthouse keeper wrote everything down. " * 25_000)[:MAX_TEXT].strip()

    memory = alice.add(text)

    assert alice("GET", f"/memory/{memory['id']}").json()["text"] == text


def test_megabyte_of_query_is_cut_and_answered(alice: Caller) -> None:
    assert alice("POST", "/memory/query", {"query": "dentist " * 120_000}).status_code == 200


# -- text that comes back as it was ------------------------------------------------------------------------------------

TEXTS = {
    "emoji": "My favourite reply is 👩‍👩‍👧‍👦🏳️‍🌈 and nothing else 🦜",
    "right to left": "שלום, המשרד שלי נמצא בקומה השלישית של הבניין הכחול",
    "mixed directions": "My sister \u202eadnama\u202c lives in حيفا with her cat",
    "Chinese": "我住在里斯本，我喜欢喝绿茶和看海。",
    "NUL": "The code on the door is 12\x0034 and then a star",
    "combining": "Zoe\u0308 and Zoë are the same to me, but not to my bank",
    "line separators": "first line of the poem\u2028second line\u2029third line of it",
    "private use and unassigned": "The symbol \ue000 and \U0010fffd on the old keyboard",
    "markup": "<script>alert('x')</script> -- '; drop table memories_memory; --",
    "percent and braces": "%s %(a)s {0} {{text}} ${HOME} on the label of the jar",
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_and_metadata_come_back_as_they_were(name: str, alice: Caller) -> None:
    text = TEXTS[name]
    metadata = {text: text, "nested": {"list": [text, None, True, -0.5, 2**63, []]}, "": ""}

    memory = alice.add(text, metadata=metadata)

    read = alice("GET", f"/memory/{memory['id']}").json()
    assert read["text"] == text
    assert read["metadata"] == metadata
    found = alice("POST", "/memory/query", {"query": text}).json()["memories"]
    assert [hit["text"] for hit in found] == [text]


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers(-(2**63), 2**64 - 1)
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
            max_leaves=8,
        ),
        max_size=4,
    )
)
def test_parser_gives_back_any_object_it_takes(value: dict[str, Any]) -> None:
    assert parse(json.dumps(value).encode()) == value


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_parser_takes_or_refuses_any_bytes(body: bytes) -> None:
    with contextlib.suppress(DomainError):
        assert isinstance(parse(body), dict)
