"""Second factors of users: passkeys, authenticators, and recovery codes."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from allauth.account.authentication import get_authentication_records
from allauth.account.internal.flows.login import record_authentication
from allauth.mfa.models import Authenticator
from django.http import HttpRequest

PASSKEY: Final[str] = Authenticator.Type.WEBAUTHN.value
CODE: Final[str] = Authenticator.Type.TOTP.value
RECOVERY: Final[str] = Authenticator.Type.RECOVERY_CODES.value
SECOND: Final = frozenset({PASSKEY, CODE})  # a recovery code is not a second factor


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """name: of a passkey, as its user called it.  left: number of unused recovery codes."""

    id: int
    type: str
    name: str
    added_at: datetime
    used_at: datetime | None
    left: int = 0


def factors_of(user_id: int) -> list[Factor]:
    """The user's enrolled factors, oldest first."""
    return [_factor(row) for row in Authenticator.objects.filter(user_id=user_id).order_by("pk")]


def types_of(user_id: int) -> frozenset[str]:
    return frozenset(Authenticator.objects.filter(user_id=user_id).values_list("type", flat=True))


def ids_of(user_id: int) -> dict[int, str]:
    """The type of each of the user's factors, by id."""
    return dict(Authenticator.objects.filter(user_id=user_id).values_list("pk", "type"))


def has_second_factor(user_id: int) -> bool:
    return bool(types_of(user_id) & SECOND)


def with_second_factor(user_ids: Collection[int]) -> frozenset[int]:
    """The ones of these users who have a second factor."""
    rows = Authenticator.objects.filter(user_id__in=user_ids, type__in=SECOND)
    return frozenset(rows.values_list("user_id", flat=True))


def has_had_second_factor(user_id: int, *, since: datetime) -> bool:
    """Whether the user has a second factor that was enrolled by then."""
    return bool(Authenticator.objects.filter(user_id=user_id, type__in=SECOND, created_at__lte=since).exists())


def shown_by_code(user_id: int, code: str, *, types: Collection[str] = (CODE, RECOVERY)) -> str | None:
    """The type of the user's factor that accepts this code, which is thereby used up.  The caller has checked that the
    code is used for the first time, and counts the attempts."""
    if not re.fullmatch(r"[0-9]{6,16}", code, re.ASCII):
        return None
    for row in Authenticator.objects.filter(user_id=user_id, type__in=types).order_by("pk"):
        if row.wrap().validate_code(code):
            row.record_usage()
            return str(row.type)
    return None


def remove_all(user_id: int) -> int:
    """Remove all factors of a user who lost them; returns their number."""
    return int(Authenticator.objects.filter(user_id=user_id).delete()[0])


def records(request: HttpRequest) -> list[dict[str, Any]]:
    """Authentications in this session, oldest first, as django-allauth recorded them.

    {"method": "password" | "mfa", "at": seconds since 1970, "id", "type": of the factor, "reauthenticated": true}
    """
    return list(get_authentication_records(request, request.user))


def was_asked_for_one(request: HttpRequest) -> bool:
    """Whether anything but a password was used in this session, recovery codes included."""
    return any(one.get("method") == "mfa" for one in records(request))


def has_shown_second_factor(request: HttpRequest) -> bool:
    """Whether a passkey or an authenticator that the user still has was used in this session (not a recovery code)."""
    shown = [(one.get("id"), str(one.get("type"))) for one in records(request) if one.get("method") == "mfa"]
    if not any(kind in SECOND for _, kind in shown):
        return False
    theirs = ids_of(request.user.pk or 0)
    return any(kind in SECOND and theirs.get(pk or 0) == kind for pk, kind in shown)


def _factor(row: Authenticator) -> Factor:
    wrapped = row.wrap()
    return Factor(
        id=row.pk,
        type=row.type,
        name=wrapped.name if row.type == PASSKEY else "",
        added_at=row.created_at,
        used_at=row.last_used_at,
        left=len(wrapped.get_unused_codes()) if row.type == RECOVERY else 0,
    )


def note_enrolled(request: HttpRequest) -> None:
    """Record that a user who just added a factor has used one in this session.  This is not a step-up."""
    row = Authenticator.objects.filter(user_id=request.user.pk, type__in=SECOND).order_by("-pk").first()
    if row is not None:
        record_authentication(request, request.user, method="mfa", id=row.pk, type=row.type, added=True)
