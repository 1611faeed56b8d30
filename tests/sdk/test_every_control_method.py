"""Every method of the published control-plane client, by a user who has just signed up: with one password, shown
again, and with a second factor.

The client has no method for confirming who one is, nor for the second step of signing in.
"""

import inspect
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from memorysync import AuthError
from memorysync.control_plane import AsyncControlPlaneClient, ControlPlaneClient

from apps.accounts.models import User
from apps.adapters.senders.base import Answered
from apps.adapters.senders.fake import FakeSender
from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.projects.selectors import default_project, scope_in
from apps.tenants.members import choose_reach
from apps.transfers.exports import export_worker
from apps.transfers.models.exports import ExportJob
from apps.webhooks import dispatcher
from tests.makers import make_scope
from tests.sdk.conftest import Make
from tests.web.people import code_of, say

pytestmark = pytest.mark.django_db(databases="__all__", transaction=True)

EMAIL, PASSWORD = "new@initech.example", "correct horse battery"
HOOK = "https://hooks.example/in"
# Of the 43, two are about what lies outside this service: the plan, and the catalog of connectors.
CONTROL = 41


def methods(client: type) -> set[str]:
    found = inspect.getmembers(client, inspect.isfunction)
    return {name for name, _ in found if not name.startswith("_")} - {"close", "aclose"}


class Person:
    """A user of the published client; ``done``: the methods that were answered."""

    def __init__(self, make: Callable[..., Any], url: str, done: set[str]) -> None:
        self.make, self.url, self.done = make, url, done
        self.token: str | None = None
        self.client = make()

    def use(self, token: str) -> None:
        self.token, self.client = token, self.make(token)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            answer = getattr(self.client, name)(*args, **kwargs)
            self.done.add(name)
            return answer

        return call

    def post(self, path: str, body: dict[str, Any], *, status: int) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        answer = httpx.post(f"{self.url}{path}", json=body, headers=headers)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None


@pytest.fixture
def done() -> set[str]:
    return set()


@pytest.fixture
def somebody(live: Make, live_server: Any, settings: Any, done: set[str]) -> Person:
    """Who has just signed up, with one password."""
    settings.SIGNUP = True

    def make(token: str | None = None) -> Any:
        return live(ControlPlaneClient, live_server.url, access_token=token, project_id=None)

    person = Person(make, live_server.url, done)
    assert person.signup(EMAIL, PASSWORD, "Initech", full_name="New One")["email"] == EMAIL
    return person


def tenant_of(email: str) -> OpenedTenant:
    reach = choose_reach(User.objects.get(email=email).pk, None)
    scope = scope_in(reach.tenant)
    return OpenedTenant(reach.tenant, default_project(scope), scope, {})


def deliver(status: int) -> None:
    """What a worker would do."""
    sender = FakeSender(answer=lambda _: Answered(status=status, body=b"thanks"))
    dispatcher.work(seconds=0.2, clock=lambda: datetime.now(UTC), sender=sender)


def do_everything(person: Person, opened: OpenedTenant) -> None:
    sessions(person)
    projects(person)
    keys(person)
    webhooks(person)
    exports(person, opened)
    assert person.get_current_plan()["plan"]["id"] == "self_hosted"
    assert person.list_integrations() == []


def sessions(person: Person) -> None:
    me = person.me()
    assert (me["email"], me["role"], me["org"]["name"]) == (EMAIL, "owner", "Initech")
    assert me["sid"] == person.list_sessions()["current_session_id"]
    made = person.create_organization("Initrode")
    assert made["organization_id"] in [one["organization_id"] for one in person.list_organizations()]


def projects(person: Person) -> None:
    empty = person.create_project("Support")["id"]
    assert person.rename_project(empty, "Help desk")["name"] == "Help desk"
    archived = person.archive_project(empty)["archived_at"]
    assert archived == person.archive_project(empty)["archived_at"]
    assert person.unarchive_project(empty)["archived_at"] is None
    assert person.delete_project(empty) is None  # nothing is in it, and it is not archived
    assert [one["name"] for one in person.list_projects()] == ["Default"]


def keys(person: Person) -> None:
    made = person.post("/org/api-keys", {"name": "agent", "environment": "production"}, status=201)
    assert person.test_api_key(made["id"])["valid"] is True
    assert person.bulk_revoke_api_keys([made["id"]])["revoked"] == 1
    assert person.test_api_key(made["id"])["status"] == "revoked"


def webhooks(person: Person) -> None:
    assert "memory.created" in person.get_webhook_event_types()["event_types"]
    made = person.create_webhook("my service", HOOK, ["memory.created"])
    hook = made["id"]
    assert person.rotate_webhook_secret(hook)["secret"] != made["secret"]
    assert person.update_webhook(hook, description="dashboard")["description"] == "dashboard"
    assert person.pause_webhook(hook)["enabled"] is False
    assert person.resume_webhook(hook)["enabled"] is True
    assert person.list_webhooks()["total_endpoints"] == 1
    sent = person.test_webhook(hook)["delivery_id"]
    deliver(410)
    assert person.get_webhook_delivery(sent)["status"] == "dead_letter"
    assert person.retry_webhook_delivery(sent)["id"]
    deliver(410)
    assert person.replay_webhook_deliveries(hook)["replayed"] >= 1
    deliver(200)
    assert person.list_webhook_deliveries(hook)["total"] >= 1
    assert person.list_recent_webhook_deliveries()["deliveries"]
    assert person.get_latest_webhook_delivery(hook)["endpoint_id"] == hook
    assert person.get_webhook_health()["active_webhooks"] == 1
    assert person.get_webhook(hook)["id"] == hook
    assert person.delete_webhook(hook) is None


def exports(person: Person, opened: OpenedTenant) -> None:
    alice = make_scope(opened, "alice", now=datetime.now(UTC))
    say(alice, "The spare key lies under the blue flower pot.")
    first = person.create_export(format="jsonl", scope="all")["job"]["id"]
    assert person.cancel_export(first)["status"] == "cancelled"
    job = person.retry_export(first)["job"]["id"]
    with_ids = [one["id"] for one in person.list_exports()["jobs"]]
    assert job in with_ids
    finish(opened)
    assert person.get_export(job)["total_rows"] == 1
    assert "blue flower pot" in httpx.get(person.get_export_download_url(job)["download_url"]).text


def finish(opened: OpenedTenant) -> None:
    with tenant_transaction(opened.scope):
        ids = list(ExportJob.objects.within(opened.scope).order_by("pk").values_list("pk", flat=True))
    for job_id in ids:
        export_worker.work(opened.scope.tenant_id, job_id, seconds=30, clock=lambda: datetime.now(UTC))


def leave(person: Person, other: dict[str, Any]) -> None:
    """Each way out.  other: tokens of a second session of theirs."""
    pair = person.refresh(other["refresh_token"])
    here = person.list_sessions()
    (there,) = [one["id"] for one in here["sessions"] if not one["is_current"]]
    assert person.revoke_session(there) is None
    assert person.logout(pair["refresh_token"]) is None
    assert person.logout_all() is None
    with pytest.raises(AuthError):
        person.me()


def test_every_method_with_one_password(somebody: Person, done: set[str]) -> None:
    login = somebody.login(EMAIL, PASSWORD)
    other = somebody.login(EMAIL, PASSWORD)["tokens"]
    assert (login["mfa_required"], login["mfa_setup_required"]) == (False, False)
    somebody.use(login["tokens"]["access_token"])
    with pytest.raises(AuthError) as stale:
        somebody.create_webhook("my service", HOOK, ["memory.created"])
    assert stale.value.response["error"]["requires"] == ["password", "step_up"]

    somebody.post("/auth/step-up", {"password": PASSWORD}, status=204)
    do_everything(somebody, tenant_of(EMAIL))
    leave(somebody, other)

    assert sorted(methods(ControlPlaneClient) - done) == []
    assert len(done - {"get_current_plan", "list_integrations"}) == CONTROL


def test_every_method_with_a_second_factor(somebody: Person, done: set[str]) -> None:
    seed = generate_totp_secret()
    TOTP.activate(User.objects.get(email=EMAIL), seed)
    sessions_opened = []
    for steps in (-1, 0):
        login = somebody.login(EMAIL, PASSWORD)
        assert login["mfa_required"] is True
        code = {"mfa_token": login["mfa_token"], "code": code_of(seed, steps=steps)}
        sessions_opened.append(somebody.post("/auth/mfa/complete", code, status=200)["tokens"])
    other, mine = sessions_opened
    somebody.use(mine["access_token"])

    somebody.post("/auth/step-up", {"password": PASSWORD}, status=403)
    somebody.post("/auth/step-up", {"code": code_of(seed, steps=1)}, status=204)
    do_everything(somebody, tenant_of(EMAIL))
    leave(somebody, other)

    assert sorted(methods(ControlPlaneClient) - done) == []
    assert len(done - {"get_current_plan", "list_integrations"}) == CONTROL


def test_both_clients_have_the_same_methods() -> None:
    assert methods(ControlPlaneClient) == methods(AsyncControlPlaneClient)
