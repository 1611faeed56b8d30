"""Refusals: one envelope for all, a request id on everything, nothing of the inside."""

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import OperationalError
from django.http import Http404
from rest_framework.exceptions import NotAuthenticated

from apps.adapters.errors import AdapterError
from apps.api import errors
from apps.api.memory import items
from apps.apikeys.onboarding import OpenedTenant
from apps.core.errors import DomainError, Forbidden, LimitReached, NotFound, Unavailable
from apps.projects.scope import Environment
from apps.projects.services import archive
from apps.tenants.services import set_policy
from tests.api.conftest import Caller
from tests.makers import make_api_key, make_project

pytestmark = pytest.mark.django_db(databases="__all__")

SECRET = "the vault's code is 4711"
AMBIGUOUS = (400, "ambiguous_credentials")


def refusal(response: Any) -> tuple[int, str]:
    """Status and code, once the envelope has been found in order."""
    body = response.json()
    assert body["detail"] == body["error"]["message"]
    assert isinstance(body["error"]["message"], str)
    assert body["error"]["message"]
    assert body["request_id"] == response["X-Request-ID"]
    assert response["Content-Type"] == "application/json"
    return response.status_code, body["error"]["code"]


# -- request ids -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/health", "/docs", "/nowhere", "/static/api/docs.js", "/static/nothing", "/admin/", "/memory/add"]
)
def test_every_answer_carries_a_request_id_and_a_trace_id(path: str, alice: Caller) -> None:
    response = alice("GET", path)
    response.close()

    assert len(response["X-Request-ID"]) == 32
    assert response["X-Trace-ID"] == response["X-Request-ID"]


@pytest.mark.parametrize("given", ["a", "A-b_9", "x" * 64])
def test_well_formed_id_is_kept(given: str, alice: Caller) -> None:
    response = alice("GET", "/nowhere", X_Request_ID=given, X_Trace_ID=given)

    assert (response["X-Request-ID"], response["X-Trace-ID"]) == (given, given)
    assert response.json()["request_id"] == given


@pytest.mark.parametrize("given", ["", "x" * 65, "a b", "a\nb", "<script>", "é", "{}", "a/b", "x" * 64 + "\n"])
def test_any_other_id_is_replaced(given: str, alice: Caller) -> None:
    response = alice("GET", "/health", X_Request_ID=given)

    assert response["X-Request-ID"] != given
    assert len(response["X-Request-ID"]) == 32


# -- what is not there, and how it is not asked for --------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["/", "/nowhere", "/memory", "/memory/", "/memory/add/", "/memory/query/", "/memory/1/", "/health/", "/memory/-1",
     "/memory/one", "/memory/1.5", "/memory/%00", "/v1/memory/status/", "//memory/add", "/memory/" + "9" * 5000],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unknown_path_is_a_json_404_and_never_a_redirect(method: str, path: str, alice: Caller) -> None:
    assert refusal(alice(method, path)) == (404, "NOT_FOUND")


def test_unknown_path_is_not_found_without_a_key_too() -> None:
    assert refusal(Caller(None)("GET", "/nowhere")) == (404, "NOT_FOUND")


def test_admin_keeps_its_own_pages(alice: Caller) -> None:
    response = alice("GET", "/admin/nowhere/")

    assert response["Content-Type"].startswith("text/html")


def test_head_is_get_without_a_body(alice: Caller) -> None:
    response = alice("HEAD", "/health")

    assert (response.status_code, response.content) == (200, b"")


def test_host_that_is_not_ours_is_refused_in_the_envelope() -> None:
    response = Caller(None)("GET", "/memory/1", Host="evil.example")

    assert refusal(response) == (400, "BAD_REQUEST")


@pytest.mark.parametrize("content_type", ["text/plain", "application/xml", "multipart/form-data; boundary=x",
                                          "application/x-www-form-urlencoded", "application/jsonx"])  # fmt: skip
def test_other_media_types_are_refused(content_type: str, alice: Caller) -> None:
    response = alice("POST", "/memory/add", b"text=hello", Content_Type=content_type)

    assert refusal(response) == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/json; charset=utf-8", "Application/JSON", ""]
)
@pytest.mark.parametrize("accept", ["*/*", "text/html", "application/xml;q=0.1", "nonsense"])
def test_json_is_answered_whatever_is_accepted(content_type: str, accept: str, alice: Caller) -> None:
    response = alice("POST", "/memory/query", b'{"query": "anything?"}', Content_Type=content_type, Accept=accept)

    assert response.status_code == 200


def test_body_in_chunks_is_refused_rather_than_lost(alice: Caller) -> None:
    assert refusal(alice("POST", "/memory/refresh", Transfer_Encoding="chunked")) == (411, "LENGTH_REQUIRED")


# -- from exceptions to statuses -------------------------------------------------------------------------------------


def test_every_kind_of_domain_error_has_a_status() -> None:
    kinds = {kind for kind in DomainError.__subclasses__() if kind.__module__ == "apps.core.errors"}

    assert kinds <= errors.STATUSES.keys()


def test_status_of_a_specific_error_is_that_of_its_kind() -> None:
    class Locked(Forbidden):
        """The vault is locked."""

    class LockedTwice(Locked):
        pass

    assert errors.status_of(LockedTwice()) == 403
    assert errors.status_of(DomainError("of no kind")) == 500


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (Http404(SECRET), 404),
        (PermissionDenied(SECRET), 403),
        (SuspiciousOperation(SECRET), 400),
        (NotAuthenticated(SECRET), 401),
        (OperationalError(SECRET), 503),
        (AdapterError(SECRET, permanent=False), 503),
        (AdapterError(SECRET, permanent=True), 500),
        (Unavailable(), 503),
        (NotFound(), 404),
        (RuntimeError(SECRET), 500),
        (KeyError(SECRET), 500),
        (RecursionError(SECRET), 500),
        (MemoryError(SECRET), 500),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_exception_becomes_an_envelope_that_tells_nothing_of_it(
    raised: Exception,
    expected: int,
    alice: Caller,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise raised

    monkeypatch.setattr(items, "describe_memory", fail)

    with caplog.at_level(logging.INFO):
        response = alice("GET", "/memory/1")

    status, _ = refusal(response)
    assert status == expected
    assert SECRET not in response.content.decode()
    assert SECRET not in " ".join(record.getMessage() for record in caplog.records)
    assert (status >= 500) == any(record.levelno >= logging.ERROR for record in caplog.records)


def test_failure_while_rendering_is_in_the_envelope_too(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items, "described_body", lambda found: {"cannot be written": object()})
    memory = alice.add("The bus to the airport leaves at ten past six.")

    assert refusal(alice("GET", f"/memory/{memory['id']}")) == (500, "INTERNAL_ERROR")


def test_limit_says_when_to_come_back_in_body_and_header() -> None:
    error = LimitReached(retry_after=12.2)
    body = errors.envelope(error, request_id="r")

    assert errors.status_of(error) == 429
    assert body["retry_after"] == body["error"]["retry_after"] == 13
    assert errors.headers_of(error) == {"Retry-After": "13"}


def test_findings_name_each_field_at_fault_and_never_its_value(alice: Caller) -> None:
    response = alice("POST", "/memory/add", {"text": 5, "importance": "high", "tags": SECRET * 2, "source": "a\nb"})

    body = response.json()
    assert refusal(response) == (422, "VALIDATION_ERROR")
    assert {tuple(finding["loc"]) for finding in body["error"]["details"]} == {
        ("body", "text"), ("body", "importance"), ("body", "tags"), ("body", "source")
    }  # fmt: skip
    assert body["detail"] == "text: must be a string"
    assert "high" not in response.content.decode()
    assert SECRET not in response.content.decode()


# -- who asks ----------------------------------------------------------------------------------------------------------


def test_key_works_as_a_bearer_token(acme: OpenedTenant) -> None:
    bearer = Caller(None).with_headers(Authorization=f"Bearer {acme.keys[Environment.PRODUCTION]}")

    assert bearer("POST", "/memory/query", {"query": "anything?"}).status_code == 200


def test_bad_bearer_is_not_rescued_by_a_good_key(alice: Caller) -> None:
    response = alice("POST", "/memory/query", {"query": "anything?"}, Authorization="Bearer nonsense")

    assert refusal(response) == (401, "INVALID_API_KEY")
    assert response["WWW-Authenticate"] == "Bearer"


def test_two_good_keys_together_are_ambiguous(alice: Caller, acme: OpenedTenant, globex: OpenedTenant) -> None:
    of_staging, of_globex = acme.keys[Environment.STAGING], globex.keys[Environment.PRODUCTION]

    for other in (of_staging, of_globex, "nonsense"):
        response = alice("GET", "/v1/types", Authorization=f"Bearer {other}", X_API_Key=alice.key)
        beside = alice("GET", "/v1/types", Authorization=f"Bearer {alice.key}", X_API_Key=other)

        assert refusal(response) == ((401, "INVALID_API_KEY") if other == "nonsense" else AMBIGUOUS)
        assert refusal(beside) == AMBIGUOUS


@pytest.mark.parametrize("other", ["the same", " ", ""])
def test_same_key_twice_is_one_key_and_an_empty_one_is_none(other: str, alice: Caller) -> None:
    key = str(alice.key)

    response = alice("GET", "/v1/types", Authorization=f"Bearer {key}", X_API_Key=f" {key} " if other else other)

    assert response.status_code == 200


def test_other_schemes_of_authorization_are_a_proxys_business(alice: Caller) -> None:
    response = alice("POST", "/memory/query", {"query": "anything?"}, Authorization="Basic dXNlcjpwYXNz")

    assert response.status_code == 200


@pytest.mark.parametrize("query", ["api_key={}", "a=b&X-API-Key={}", "apikey={}", "access_token={}", "anything={}"])
def test_key_in_a_url_is_refused_even_beside_a_good_header(query: str, alice: Caller) -> None:
    response = alice("GET", f"/memory/1?{query.format(alice.key)}")

    assert refusal(response) == (400, "CREDENTIAL_IN_URL")


def test_key_and_a_signed_in_session_together_are_ambiguous(alice: Caller) -> None:
    person = get_user_model().objects.create_user(email="ann@acme.example", password="correct horse")
    alice.client.force_login(person)

    response = alice("POST", "/memory/query", {"query": "anything?"})

    assert refusal(response) == AMBIGUOUS


def test_cookie_of_nobody_does_no_harm(alice: Caller) -> None:
    alice.client.cookies["sessionid"] = "x" * 32

    assert alice("POST", "/memory/query", {"query": "anything?"}).status_code == 200


def test_session_alone_is_no_credential(acme: OpenedTenant) -> None:
    nobody = Caller(None)
    nobody.client.force_login(get_user_model().objects.create_user(email="ann@acme.example", password="correct horse"))

    assert refusal(nobody("GET", "/memory/1")) == (401, "API_KEY_MISSING")


def test_guessing_is_limited_and_a_good_key_still_works(alice: Caller) -> None:
    guesser = Caller("ms_live_nonsense")

    statuses = [guesser("GET", "/memory/1").status_code for _ in range(22)]

    assert statuses[:20] == [401] * 20
    assert 429 in statuses[20:]
    limited = guesser("GET", "/memory/1")
    assert refusal(limited) == (429, "RATE_LIMIT_EXCEEDED")
    assert limited.json()["retry_after"] == int(limited["Retry-After"]) > 0
    assert alice("POST", "/memory/query", {"query": "anything?"}).status_code == 200


# -- for whom, and where -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/memory/add", {"text": "The dentist is on the third floor."}),
        ("POST", "/memory/bulk-add", {"items": [{"text": "The dentist is on the third floor."}]}),
        ("POST", "/memory/query", {"query": "anything?"}),
        ("POST", "/memory/refresh", None),
        ("GET", "/memory/1", None),
        ("GET", "/v1/memory/status/1", None),
    ],
)
@pytest.mark.parametrize("end_user", [None, "", "   "])
def test_end_user_must_be_named(method: str, path: str, body: Any, end_user: str | None, alice: Caller) -> None:
    response = alice.as_user(end_user)(method, path, body)

    assert refusal(response) == (400, "MISSING_END_USER_ID")


def test_end_user_in_the_body_goes_before_the_header(alice: Caller) -> None:
    memory = alice.add("The dentist is on the third floor.", end_user_id="bob")

    assert alice("GET", f"/memory/{memory['id']}").status_code == 404
    assert alice.as_user("bob")("GET", f"/memory/{memory['id']}").status_code == 200


def test_end_user_id_is_case_sensitive(alice: Caller) -> None:
    memory = alice.add("The dentist is on the third floor.")

    assert alice.as_user("Alice")("GET", f"/memory/{memory['id']}").status_code == 404


def test_end_user_id_in_utf8_is_the_same_in_header_and_body(alice: Caller) -> None:
    memory = alice.add("The dentist is on the third floor.", end_user_id="zoë 山")

    header = "zoë 山".encode().decode("latin-1")
    assert alice.as_user(header)("GET", f"/memory/{memory['id']}").status_code == 200


def test_people_whose_ids_look_alike_are_different_people(alice: Caller) -> None:
    composed, decomposed = "zo\u00eb", "zoe\u0308"
    memory = alice.add("The dentist is on the third floor.", end_user_id=composed)

    def seen_by(end_user: str) -> int:
        return alice.as_user(end_user.encode().decode("latin-1"))("GET", f"/memory/{memory['id']}").status_code

    assert [seen_by(one) for one in (composed, decomposed, "ZO\u00cb", "zoe", f"{composed},zoe")] == [200] + [404] * 4


@pytest.mark.parametrize("end_user", ["x" * 257, "a\x07b", "\xff\xfe"])
def test_end_user_id_that_cannot_be_one_is_refused(end_user: str, alice: Caller) -> None:
    assert refusal(alice.as_user(end_user)("GET", "/memory/1")) == (400, "INVALID_END_USER_ID")


def test_reading_for_a_stranger_makes_nobody(acme: OpenedTenant, alice: Caller) -> None:
    from apps.memories.spaces import find_end_user

    alice("POST", "/memory/query", {"query": "anything?"})
    alice("POST", "/memory/refresh")
    alice("GET", "/memory/1")

    assert find_end_user(acme.scope, "alice") is None


def test_project_of_the_header_keeps_memories_apart(acme: OpenedTenant, alice: Caller) -> None:
    web, app = make_project(acme.scope, "web"), make_project(acme.scope, "app")
    memory = alice.with_headers(X_Project_ID=web).add("The dentist is on the third floor.")
    path = f"/memory/{memory['id']}"

    assert alice.with_headers(X_Project_ID=web)("GET", path).status_code == 200
    assert alice.with_headers(X_Project_ID=app)("GET", path).status_code == 404
    assert alice("GET", path).status_code == 404  # the default project's


def test_foreign_and_absent_project_look_the_same(acme: OpenedTenant, globex: OpenedTenant, alice: Caller) -> None:
    theirs = make_project(globex.scope, "theirs")

    foreign = alice.with_headers(X_Project_ID=theirs)("GET", "/memory/1", X_Request_ID="same")
    absent = alice.with_headers(X_Project_ID="proj_0000000000000000")("GET", "/memory/1", X_Request_ID="same")

    assert refusal(foreign) == (404, "PROJECT_NOT_FOUND")
    assert foreign.content == absent.content


@pytest.mark.parametrize("project", ["x" * 65, "a b", "a/b", "é"])
def test_project_id_that_cannot_be_one_is_refused(project: str, alice: Caller) -> None:
    assert refusal(alice("GET", "/memory/1", X_Project_ID=project)) == (400, "INVALID_PROJECT_ID")


def test_archived_project_is_read_and_not_added_to(acme: OpenedTenant, alice: Caller) -> None:
    web = make_project(acme.scope, "web")
    in_web = alice.with_headers(X_Project_ID=web)
    memory = in_web.add("The dentist is on the third floor.")
    archive(acme.scope, web, now=datetime.now(UTC) + timedelta(seconds=1))

    assert in_web("GET", f"/memory/{memory['id']}").status_code == 200
    assert refusal(in_web("POST", "/memory/add", {"text": "And it opens at nine."})) == (409, "PROJECT_ARCHIVED")


def test_reading_across_projects_takes_a_permission_of_its_own(acme: OpenedTenant, alice: Caller) -> None:
    memory = alice.with_headers(X_Project_ID=make_project(acme.scope, "web")).add("The dentist is on the third floor.")
    path = f"/memory/{memory['id']}"
    across = Caller(make_api_key(acme.scope, scopes=["memory:read", "org:cross_project_read"]).text)

    assert refusal(alice("GET", path, X_Allow_Cross_Project="true")) == (403, "INSUFFICIENT_SCOPE")
    assert across("GET", path).status_code == 404
    assert across("GET", path, X_Allow_Cross_Project="true").status_code == 200


def test_asking_across_projects_changes_nothing_in_others(acme: OpenedTenant, alice: Caller) -> None:
    set_policy(acme.tenant, key_deletes="retire", actor="system:0", now=datetime.now(UTC))
    in_web = alice.with_headers(X_Project_ID=make_project(acme.scope, "web"))
    memory = in_web.add("The dentist is on the third floor.", tags=["old"])
    scopes = ["memory:*", "memory:delete", "org:cross_project_read"]
    across = Caller(make_api_key(acme.scope, scopes=scopes).text).with_headers(X_Allow_Cross_Project="true")

    gone = across("DELETE", "/memory/forget", {"filters": {"tags": ["old"]}})

    assert (gone.status_code, gone.json()) == (200, [])
    assert in_web("GET", f"/memory/{memory['id']}").status_code == 200


def test_tenant_header_must_be_the_keys_own(alice: Caller) -> None:
    assert alice("POST", "/memory/query", {"query": "anything?"}, X_Tenant_ID="acme").status_code == 200
    assert refusal(alice("GET", "/memory/1", X_Tenant_ID="globex")) == (403, "TENANT_MISMATCH")


# -- the access log ----------------------------------------------------------------------------------------------------


def test_access_log_says_what_happened_and_nothing_that_was_said(
    alice: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        alice("POST", "/memory/query?note=hush", {"query": SECRET}, X_Request_ID="r-1")
        alice("GET", f"/nowhere/{SECRET}")

    lines = [vars(record) for record in caplog.records if record.name == "apps.api.access"]
    first, second = lines
    assert {name: first[name] for name in ("route", "method", "status", "request_id", "environment")} == {
        "route": "memory/query", "method": "POST", "status": 422, "request_id": "r-1", "environment": "production"
    }  # fmt: skip
    assert first["ms"] > 0
    assert first["tenant"]
    assert second["route"] == ""
    assert not any(word in str(line) for line in lines for word in (SECRET, "hush", "nowhere", alice.key))
