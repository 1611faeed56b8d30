"""Create accounts and reset their credentials."""

import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from apps.accounts import enrolment, second_factors
from apps.accounts.models import OAuthGrant, User
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict, Invalid, NotFound

LONGEST_NAME: Final = 200  # characters; as the column


class PersonNotFound(NotFound):
    """There is no account with this address; `memsync people list` shows the accounts."""

    code = "PERSON_NOT_FOUND"


class PersonExists(Conflict):
    """An account with this address exists already."""


class EmailAddressRefused(Invalid):
    """This is no e-mail address."""


class FullNameRefused(Invalid):
    """A full name has at most 200 characters."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Credentials for a user's first sign-in, returned once.  enrolment_code: required with the password to add the
    first passkey or authenticator."""

    password: str = field(repr=False)
    enrolment_code: str = field(repr=False)


def check_address(email: str) -> None:
    """Raises EmailAddressRefused."""
    try:
        validate_email(email)
    except ValidationError:
        raise EmailAddressRefused from None


def get_person(email: str) -> User:
    """Raises PersonNotFound."""
    person = User.objects.filter(email=_address(email)).first()
    if person is None:
        raise PersonNotFound
    return person


def person_of(request: HttpRequest) -> User:
    """The signed-in user, in views whose guard requires one."""
    assert isinstance(request.user, User)  # noqa: S101  (a mistake of ours otherwise)
    return request.user


def person_of_id(person_id: int) -> User:
    """The user with this id."""
    return User.objects.get(pk=person_id)


def is_operator(person_id: int) -> bool:
    """Whether this user is an operator who may use break-glass access; a superuser may do everything."""
    person = User.objects.filter(pk=person_id, is_active=True, is_staff=True).first()
    return person is not None and person.has_perm("breakglass.change_grant")


def addresses_of(person_ids: Collection[int]) -> dict[int, str]:
    """E-mail addresses by user id; missing users are left out."""
    return dict(User.objects.filter(pk__in=person_ids).values_list("pk", "email"))


def clients_in_use(*, now: datetime) -> QuerySet[OAuthGrant, str]:
    """Ids of the OAuth clients to which anyone gave access that is not over."""
    return OAuthGrant.objects.filter(ended_at=None, expires_at__gt=now).values_list("client_id", flat=True)


def make_operator(email: str, *, actor: str, now: datetime) -> Credentials:
    """Create an operator, or reset the existing one with this address."""
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
    """The user with this address, and their credentials if they were just created.

    Raises EmailAddressRefused, FullNameRefused.
    """
    with transaction.atomic():
        there = User.objects.select_for_update().filter(email=_address(email)).first()
        if there is not None:
            return there, None
        check_address(email)
        if len(full_name) > LONGEST_NAME:
            raise FullNameRefused
        password = _new_password()
        made = User.objects.create_user(email, password, full_name=full_name)
        return made, Credentials(password, enrolment.give_code(made, actor=actor, now=now))


def add_person(email: str, password: str, *, full_name: str = "", now: datetime) -> User:
    """Create a user with a password of their own.  Raises PersonExists, after the same amount of work."""
    try:
        with transaction.atomic():
            person = User.objects.create_user(email, password, full_name=full_name.strip())
            actor = f"account:{person.pk}"
            record(None, actor=actor, action=AuditAction.ACCOUNT_OPEN, target=actor, reason="sign-up", now=now)
    except IntegrityError as error:
        raise PersonExists from error
    return person


def start_over(person: User, *, actor: str, now: datetime) -> Credentials:
    """Reset a user who lost their credentials: a new password and code; all passkeys, authenticators and sessions are
    removed.  Django's sessions end because they are bound to the password's hash."""
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
