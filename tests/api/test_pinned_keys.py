"""A key that is pinned to a project: the pin is a wall on every route, unless a scope of it names reading across."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from django.http import HttpResponse

from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import PERMISSIONS
from apps.projects.selectors import get_project
from tests.api.conftest import Caller
from tests.api.test_errors import refusal
from tests.forms import form
from tests.makers import make_api_key, make_project

pytestmark = pytest.mark.django_db(databases="__all__")

DENTIST, BAKER = "The dentist is on the third floor.", "The baker opens at six in the morning."
BEYOND = (403, "PROJECT_BEYOND_KEY")
ABSENT = "proj_0000000000000000"
ACROSS = "org:cross_project_read"


class Pinned(NamedTuple):
    """Keys of one end user in a tenant of two projects: one pinned to ``web``, one that may also read across."""

    web: str
    app: str
    pinned: Caller
    wide: Caller
    in_app: int  # a memory there


@pytest.fixture
def case(acme: OpenedTenant, alice: Caller) -> Pinned:
    web, app = make_project(acme.scope, "web"), make_project(acme.scope, "app")
    pin = get_project(acme.scope, web).pk
    # By a wildcard, and by every scope there is but the one that leads out.
    pinned = Caller(make_api_key(acme.scope, project_id=pin, scopes=["*", *set(PERMISSIONS) - {ACROSS}]).text)
    wide = Caller(make_api_key(acme.scope, project_id=pin, scopes=list(PERMISSIONS)).text)
    in_app = alice.with_headers(X_Project_ID=app).add(DENTIST)["id"]
    return Pinned(web, app, pinned, wide, in_app)


def test_pinned_key_works_in_its_project_named_or_not(case: Pinned, alice: Caller) -> None:
    memory = case.pinned.add(BAKER)
    path = f"/memory/{memory['id']}"

    assert case.pinned("GET", path).status_code == 200
    assert case.pinned("GET", path, X_Project_ID=case.web).status_code == 200
    assert alice("GET", path, X_Project_ID=case.web).status_code == 200
    assert alice("GET", path).status_code == 404  # the default project


READING: list[tuple[str, Callable[[Caller, Pinned], HttpResponse]]] = [
    ("get", lambda call, case: call("GET", f"/memory/{case.in_app}", X_Project_ID=case.app)),
    ("query", lambda call, case: call("POST", "/memory/query", {"query": DENTIST}, X_Project_ID=case.app)),
    ("export", lambda call, case: call("GET", "/memory/export", X_Project_ID=case.app)),
    ("intelligence", lambda call, case: call("GET", f"/memory/intelligence?project_id={case.app}")),
    ("webhooks", lambda call, case: call("GET", "/org/webhooks", X_Project_ID=case.app)),
    ("file", lambda call, case: call("POST", "/exports", {"format": "csv"}, X_Project_ID=case.app)),
]  # fmt: skip
HOOK = {"name": "x", "url": "https://hooks.example.com/x", "events": ["memory.created"]}
WRITING: list[tuple[str, Callable[[Caller, Pinned], HttpResponse]]] = [
    ("add", lambda call, case: call("POST", "/memory/add", {"text": BAKER}, X_Project_ID=case.app)),
    ("patch", lambda call, case: call("PATCH", f"/memory/{case.in_app}", {"tags": ["x"]}, X_Project_ID=case.app)),
    ("forget", lambda call, case: call("POST", "/memory/forget-requests", {"memory_ids": [case.in_app]},
                                       X_Project_ID=case.app)),
    ("retention", lambda call, case: call("PUT", "/v1/retention", {"level": "project", "active_days": 1},
                                          X_Project_ID=case.app)),
    ("webhook", lambda call, case: call("POST", "/org/webhooks", HOOK | {"project_id": case.app})),
]  # fmt: skip


@pytest.mark.parametrize(("_", "ask"), READING + WRITING, ids=[name for name, _ in READING + WRITING])
def test_pin_is_a_wall(_: str, ask: Callable[[Caller, Pinned], HttpResponse], case: Pinned, alice: Caller) -> None:
    there = ask(case.pinned, case)
    absent = ask(case.pinned, case._replace(app=ABSENT))

    assert refusal(there) == refusal(absent) == BEYOND
    assert there.json()["error"] == absent.json()["error"]
    assert alice("GET", f"/memory/{case.in_app}", X_Project_ID=case.app).json()["tags"] == []


@pytest.mark.parametrize(("_", "ask"), READING, ids=[name for name, _ in READING])
def test_with_the_scope_by_name_it_reads_other_projects(
    _: str, ask: Callable[[Caller, Pinned], HttpResponse], case: Pinned
) -> None:
    assert ask(case.wide, case).status_code in (200, 202)
    assert refusal(ask(case.wide, case._replace(app=ABSENT))) == (404, "PROJECT_NOT_FOUND")


@pytest.mark.parametrize(("_", "ask"), WRITING, ids=[name for name, _ in WRITING])
def test_and_writes_in_none_of_them(_: str, ask: Callable[[Caller, Pinned], HttpResponse], case: Pinned) -> None:
    assert refusal(ask(case.wide, case)) == BEYOND


def test_all_projects_at_once_take_the_scope_too(case: Pinned) -> None:
    path = f"/memory/{case.in_app}"

    assert refusal(case.pinned("GET", path, X_Allow_Cross_Project="true")) == (403, "INSUFFICIENT_SCOPE")
    assert case.wide("GET", path).status_code == 404
    assert case.wide("GET", path, X_Allow_Cross_Project="true").status_code == 200


def test_jobs_of_other_projects_are_none_of_its_business(case: Pinned, acme: OpenedTenant) -> None:
    """A file of another project would be all that the wall keeps."""
    everything = Caller(make_api_key(acme.scope, scopes=list(PERMISSIONS)).text)
    in_app = everything.with_headers(X_Project_ID=case.app)
    export = in_app("POST", "/exports", {"format": "jsonl"}).json()["job"]["id"]
    everywhere = everything("POST", "/exports", {"format": "jsonl"}, X_Allow_Cross_Project="true").json()["job"]["id"]
    body, content_type = form(b'{"text": "The baker opens at six.", "importance": 0.6}', "memories.jsonl")
    brought = in_app("POST", "/imports", body, Content_Type=content_type).json()["id"]

    for export_id in (export, everywhere):
        for method, path in (("GET", ""), ("GET", "/download-url"), ("POST", "/cancel"), ("POST", "/retry")):
            assert refusal(case.pinned(method, f"/exports/{export_id}{path}")) == (404, "EXPORT_NOT_FOUND")
        assert case.wide("GET", f"/exports/{export_id}").status_code == 200
        assert refusal(case.wide("POST", f"/exports/{export_id}/cancel")) == (404, "EXPORT_NOT_FOUND")
    for method, path in (("GET", ""), ("POST", "/cancel")):
        assert refusal(case.pinned(method, f"/imports/{brought}{path}")) == (404, "IMPORT_NOT_FOUND")
    assert case.pinned("GET", "/exports").json() == case.pinned("GET", "/imports").json() == {"jobs": [], "total": 0}
    mine = case.pinned("POST", "/exports", {"format": "jsonl"}).json()["job"]["id"]
    assert case.pinned("GET", f"/exports/{mine}").status_code == 200


def test_pinned_key_lists_the_projects_that_it_may_see(case: Pinned, alice: Caller) -> None:
    def names(call: Caller) -> list[Any]:
        return [one["name"] for one in call("GET", "/org/projects").json()]

    assert names(case.pinned) == ["web"]
    assert names(case.wide) == names(alice) == ["Default", "app", "web"]
