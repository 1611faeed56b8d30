"""Making people who sign in, and giving them new passwords."""

import secrets
from collections.abc import Collection
from datetime import datetime

from django.db import IntegrityError, transaction
from django.http import HttpRequest

from apps.accounts import factors
from apps.accounts.models import User
from apps.audit.services import record
from apps.core.errors import Conflict, NotFound


class PersonNotFound(NotFound):
    """Nobody with this address signs in here; `memsync people list` shows who does."""

    code = "PERSON_NOT_FOUND"


class PersonExists(Conflict):
    """Somebody with this address signs in here already."""


def get_person(email: str) -> User:
    """Raises PersonNotFound."""
    person = User.objects.filter(email=_address(email)).first()
    if person is None:
        raise PersonNotFound
    return person


def person_of(request: HttpRequest) -> User:
    """Who is signed in here, behind a guard that let nobody else through."""
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


def make_operator(email: str) -> str:
    """An operator with this address and a new password, which is returned; one who exists gets the new password.

    Their sessions end: Django's are bound to the password's hash.
    """
    password = secrets.token_urlsafe(15)
    email = _address(email)
    with transaction.atomic():
        user = User.objects.select_for_update().filter(email=email).first()
        if user is None:
            User.objects.create_superuser(email, password, full_name="Operator")
        else:
            user.set_password(password)
            user.save(update_fields=["password"])
    return password


def meet_person(email: str, *, full_name: str = "") -> tuple[User, str | None]:
    """The person with this address and their password, where they were made just now; else None in its place."""
    with transaction.atomic():
        there = User.objects.select_for_update().filter(email=_address(email)).first()
        if there is not None:
            return there, None
        password = secrets.token_urlsafe(15)
        return User.objects.create_user(email, password, full_name=full_name), password


def add_person(email: str, password: str, *, full_name: str = "", now: datetime) -> User:
    """Somebody who brings their password along.  Raises PersonExists, after the same work."""
    try:
        with transaction.atomic():
            person = User.objects.create_user(email, password, full_name=full_name.strip())
            actor = f"account:{person.pk}"
            record(None, actor=actor, action="account.open", target=actor, reason="sign-up", now=now)
    except IntegrityError as error:
        raise PersonExists from error
    return person


def start_over(person: User) -> str:
    """A new password, and none of the old passkeys, codes and sessions: for somebody who has lost theirs."""
    password = secrets.token_urlsafe(15)
    with transaction.atomic():
        factors.remove_all(person.pk)
        person.set_password(password)
        person.save(update_fields=["password"])
    return password


def _address(email: str) -> str:
    return User.objects.normalize_email(email).lower()
