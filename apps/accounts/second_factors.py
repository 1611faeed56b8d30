"""What beside a password a person proves to be themselves with: passkeys, an authenticator's codes, recovery codes."""

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
SECOND: Final = frozenset({PASSKEY, CODE})  # recovery codes alone are no second factor


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """name: of a passkey, as its person called it.  left: how many recovery codes have not been used."""

    id: int
    type: str
    name: str
    added_at: datetime
    used_at: datetime | None
    left: int = 0


def factors_of(user_id: int) -> list[Factor]:
    """Those that were enrolled, oldest first."""
    return [_factor(row) for row in Authenticator.objects.filter(user_id=user_id).order_by("pk")]


def types_of(user_id: int) -> frozenset[str]:
    return frozenset(Authenticator.objects.filter(user_id=user_id).values_list("type", flat=True))


def ids_of(user_id: int) -> dict[int, str]:
    """The type of each factor there is, by its id."""
    return dict(Authenticator.objects.filter(user_id=user_id).values_list("pk", "type"))


def has_second_factor(user_id: int) -> bool:
    return bool(types_of(user_id) & SECOND)


def with_second_factor(user_ids: Collection[int]) -> frozenset[int]:
    """Those of them who have one."""
    rows = Authenticator.objects.filter(user_id__in=user_ids, type__in=SECOND)
    return frozenset(rows.values_list("user_id", flat=True))


def has_had_second_factor(user_id: int, *, since: datetime) -> bool:
    """One that is still theirs and was enrolled by then."""
    return bool(Authenticator.objects.filter(user_id=user_id, type__in=SECOND, created_at__lte=since).exists())


def shown_by_code(user_id: int, code: str, *, types: Collection[str] = (CODE, RECOVERY)) -> str | None:
    """Which of these factors shows this code, which is used up by that.  The caller has seen that it was not shown
    before, and counts the attempts."""
    if not re.fullmatch(r"[0-9]{6,16}", code, re.ASCII):
        return None
    for row in Authenticator.objects.filter(user_id=user_id, type__in=types).order_by("pk"):
        if row.wrap().validate_code(code):
            row.record_usage()
            return str(row.type)
    return None


def remove_all(user_id: int) -> int:
    """For a person who has lost them; how many there were."""
    return int(Authenticator.objects.filter(user_id=user_id).delete()[0])


def records(request: HttpRequest) -> list[dict[str, Any]]:
    """Each authentication in this session, oldest first, as django-allauth noted it.

    {"method": "password" | "mfa", "at": seconds since 1970, "id", "type": of the factor, "reauthenticated": true}
    """
    return list(get_authentication_records(request, request.user))


def was_asked_for_one(request: HttpRequest) -> bool:
    """Whether anything but a password was shown in this session, recovery codes included."""
    return any(one.get("method") == "mfa" for one in records(request))


def has_shown_second_factor(request: HttpRequest) -> bool:
    """Whether a passkey or an authenticator that is still theirs was shown in this session: no recovery code."""
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
    """A person who has just added a factor has shown one in this session.  It is no step-up."""
    row = Authenticator.objects.filter(user_id=request.user.pk, type__in=SECOND).order_by("-pk").first()
    if row is not None:
        record_authentication(request, request.user, method="mfa", id=row.pk, type=row.type, added=True)
