"""Users of a benchmark, with a password and an authenticator."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret

from apps.accounts.models import User
from apps.accounts.services import get_or_create_person, make_operator
from apps.projects.scope import Scope
from apps.tenants.members import give_role
from apps.tenants.models import Role
from apps.tenants.selectors import get_tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A user who can sign in.  seed: TOTP secret of their authenticator."""

    user: Any
    password: str = field(repr=False)
    seed: str = field(repr=False)


def create_person(scope: Scope, email: str) -> Person:
    user, made = get_or_create_person(email, actor="command:0", now=datetime.now(UTC))
    assert made is not None, "nobody of this name was there"
    give_role(get_tenant(scope.tenant.name), user.pk, Role.OWNER, actor="command:0", now=datetime.now(UTC))
    return Person(user=user, password=made.password, seed=enrol(user))


def create_operator(name: str) -> Person:
    made = make_operator(f"{name}@operators.example", actor="command:0", now=datetime.now(UTC))
    user = User.objects.get(email=f"{name}@operators.example")
    seed = enrol(user)
    Authenticator.objects.filter(user=user).update(created_at=datetime.now(UTC) - timedelta(days=2))
    return Person(user=user, password=made.password, seed=seed)


def enrol(user: Any) -> str:
    seed: str = generate_totp_secret()
    TOTP.activate(user, seed)
    return seed
