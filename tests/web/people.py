"""People at their browsers, for tests: made by the services that make them, signed in as the pages see it."""

import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from allauth.account.internal.flows.login import AUTHENTICATION_METHODS_SESSION_KEY
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, generate_totp_secret, hotp_value
from django.http import HttpResponse
from django.test import Client

from apps.accounts.models import BrowserSession, User
from apps.accounts.services import get_or_create_person
from apps.accounts.session_store import SessionStore
from apps.core.plaintext import Plaintext
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.projects.scope import Scope
from apps.tenants.members import give_role
from apps.tenants.models import Role, Tenant

SIGN_IN = "/app/sign-in"
RECORDS = AUTHENTICATION_METHODS_SESSION_KEY
OF_WHOM = "account_authentication_methods_user"


def code_of(seed: str, *, steps: int = 0) -> str:
    """What an authenticator with this seed shows; steps: half minutes from now."""
    return str(format_hotp_value(hotp_value(seed, int(time.time()) // 30 + steps)))


@dataclass(frozen=True)
class Person:
    user: User
    password: str
    client: Client
    seed: str | None = None
    enrolment_code: str = ""

    def factor(self, kind: str = "totp") -> Authenticator:
        return Authenticator.objects.get(user=self.user, type=kind)

    def code(self, *, steps: int = 0) -> str:
        """As ``code_of``."""
        assert self.seed is not None
        return code_of(self.seed, steps=steps)

    def sign_in(self) -> Client:
        """A session that was opened with the password alone, as the operators' site opens one."""
        self.client.force_login(self.user, backend="django.contrib.auth.backends.ModelBackend")
        return self.client

    def show_factor(self, *, kind: str = "totp", ago: float | None = None) -> Client:
        """Signed in with a second factor; ago: and stepped up so many seconds ago by the test's clock."""
        client = self.sign_in()
        record: dict[str, Any] = {"method": "mfa", "type": kind, "id": self.factor(kind).pk}
        records = [{"method": "password", "at": time.time() - 900}, record | {"at": time.time() - 900}]
        if ago is not None:
            records.append(record | {"at": time.time() - ago, "reauthenticated": True})
        note(client, self.user, records)
        return client


def note(client: Client, user: User, records: list[dict[str, Any]]) -> None:
    """What django-allauth would have written into the session."""
    session = client.session
    session[RECORDS], session[OF_WHOM] = records, str(user.pk)
    session.save()


def kept_in_sessions() -> list[str]:
    """What each browser's session holds, as text."""
    return [str(SessionStore().decode(row.data)) for row in BrowserSession.objects.all()]


def make_person(tenant: Tenant, role: str = Role.OWNER, *, email: str = "", factor: bool = True) -> Person:
    user, made = get_or_create_person(
        email or f"{role}@{tenant.name}.example", actor="command:0", now=datetime.now(UTC)
    )
    assert made is not None
    give_role(tenant, user.pk, role, actor="command:0", now=datetime.now(UTC))
    seed = generate_totp_secret() if factor else None
    if seed:
        TOTP.activate(user, seed)
    return Person(user, made.password, Client(raise_request_exception=False), seed, made.enrolment_code)


def make_operator(email: str, *, days: int = 2, password: str | None = None, may: bool = True) -> Person:
    """One who enrolled an authenticator so many days ago.  may: with every right; else with none."""
    user = User.objects.create_user(email, password, is_staff=True, is_superuser=may)
    seed = generate_totp_secret()
    TOTP.activate(user, seed)
    Authenticator.objects.filter(user=user).update(created_at=datetime.now(UTC) - timedelta(days=days))
    return Person(user, password or "", Client(raise_request_exception=False), seed)


def say(scope: Scope, *texts: str, now: datetime | None = None) -> list[int]:
    """The ids of what is remembered of these, in order."""
    proposals = [Proposal(text=Plaintext(text), importance=0.9, deduplicate=False) for text in texts]
    outcomes = remember(scope, proposals, now=now or datetime.now(UTC))
    return [outcome.memory_ids[0] for outcome in outcomes]


def enrol(person: Person, code: str) -> str:
    """The seed of the authenticator that a user adds who is signed in with a password alone."""
    add = "/app/account/authenticator/add"
    answer = person.client.post("/app/step-up", {"password": person.password, "code": code, "next": add})
    assert (answer.status_code, answer.get("Location")) == (302, add), answer.status_code
    (shown,) = re.findall(r'class="seed">([A-Z2-7 ]+)<', person.client.get(add).content.decode())
    seed: str = shown.replace(" ", "")
    assert person.client.post(add, {"code": code_of(seed)}).status_code == 302
    return seed


def give_password(person: Person, password: str | None = None, **more: str) -> Any:
    return person.client.post(SIGN_IN, {"login": person.user.email, "password": password or person.password, **more})


def give_code(person: Person, code: str | None = None, path: str = "/app/sign-in/code", **more: str) -> Any:
    return person.client.post(path, {"code": code or person.code(), **more})


def text(response: HttpResponse) -> str:
    assert response.status_code == 200
    return response.content.decode()


def to_page(response: HttpResponse) -> str:
    assert response.status_code == 302, response.status_code
    return response["Location"].split("?")[0]
