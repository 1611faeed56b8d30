"""Making people who sign in, and giving them new passwords."""

import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from django.db import IntegrityError, transaction
from django.http import HttpRequest

from apps.accounts import enrolment, second_factors
from apps.accounts.models import User
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict, NotFound


class PersonNotFound(NotFound):
    """There is no account with this address; `memsync people list` shows the accounts."""

    code = "PERSON_NOT_FOUND"


class PersonExists(Conflict):
    """An account with this address exists already."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a person signs in with for the first time, shown now and never again.  enrolment_code: beside the password,
    for the first passkey or authenticator."""

    password: str = field(repr=False)
    enrolment_code: str = field(repr=False)


def get_person(email: str) -> User:
    """Raises PersonNotFound."""
    person = User.objects.filter(email=_address(email)).first()
    if person is None:
        raise PersonNotFound
    return person


def person_of(request: HttpRequest) -> User:
    """Who is signed in here, behind a guard that let no one else through."""
    assert isinstance(request.user, User)  # noqa: S101  (a mistake of ours otherwise)
    return request.user


def person_of_id(person_id: int) -> User:
    """Whom a session is of."""
    return User.objects.get(pk=person_id)


def is_operator(person_id: int) -> bool:
    """Whether this person is one now, with the right to break the glass; a superuser has every right."""
    person = User.objects.filter(pk=person_id, is_active=True, is_staff=True).first()
    return person is not None and person.has_perm("breakglass.change_grant")


def addresses_of(person_ids: Collection[int]) -> dict[int, str]:
    """The e-mail address of each of these people who is there."""
    return dict(User.objects.filter(pk__in=person_ids).values_list("pk", "email"))


def make_operator(email: str, *, actor: str, now: datetime) -> Credentials:
    """An operator with this address; one who exists starts over."""
    with transaction.atomic():
        there = User.objects.select_for_update().filter(email=_address(email)).first()
        if there is not None:
            return start_over(there, actor=actor, now=now)
        password = _new_password()
        made = User.objects.create_superuser(_address(email), password, full_name="Operator")
        return Credentials(password, enrolment.give_code(made, actor=actor, now=now))


def get_or_create_person(
    email: str, *, full_name: str = "", actor: str, now: datetime
) -> tuple[User, Credentials | None]:
    """The person with this address; and what they sign in with, where they were made just now."""
    with transaction.atomic():
        there = User.objects.select_for_update().filter(email=_address(email)).first()
        if there is not None:
            return there, None
        password = _new_password()
        made = User.objects.create_user(email, password, full_name=full_name)
        return made, Credentials(password, enrolment.give_code(made, actor=actor, now=now))


def add_person(email: str, password: str, *, full_name: str = "", now: datetime) -> User:
    """A new person with a password of their own.  Raises PersonExists, after the same work."""
    try:
        with transaction.atomic():
            person = User.objects.create_user(email, password, full_name=full_name.strip())
            actor = f"account:{person.pk}"
            record(None, actor=actor, action=AuditAction.ACCOUNT_OPEN, target=actor, reason="sign-up", now=now)
    except IntegrityError as error:
        raise PersonExists from error
    return person


def start_over(person: User, *, actor: str, now: datetime) -> Credentials:
    """A new password and code, and none of the old passkeys, authenticators and sessions: for a person who has lost
    theirs.  Django's sessions end because they are bound to the password's hash."""
    password = _new_password()
    with transaction.atomic():
        second_factors.remove_all(person.pk)
        person.set_password(password)
        person.save(update_fields=["password"])
        record(None, actor=actor, action=AuditAction.ACCOUNT_RESET, target=f"account:{person.pk}", now=now)
        return Credentials(password, enrolment.give_code(person, actor=actor, now=now))


def _new_password() -> str:
    return secrets.token_urlsafe(15)


def _address(email: str) -> str:
    return User.objects.normalize_email(email).lower()
