"""Users' API sessions: opaque tokens, of which only digests are stored.

An access token is sent with every request and is valid for a quarter of an hour; a refresh token returns the next pair,
once.  A reused refresh token was stolen, from or by the caller: the whole session ends.
"""

import hashlib
import logging
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar, Final

from django.core import signing
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils.crypto import constant_time_compare

from apps.accounts import second_factors
from apps.accounts.models import BearerSession, SpentRefresh, User
from apps.audit.actions import AuditAction
from apps.audit.origin import current
from apps.audit.services import record
from apps.core.clock import database_time
from apps.core.errors import Forbidden, NotFound, Unauthenticated

logger = logging.getLogger(__name__)

ACCESS, REFRESH = "msa_", "msr_"  # token prefixes, which secret scanners recognise
ACCESS_LIFETIME: Final = timedelta(minutes=15)
LIFETIME: Final = timedelta(days=30)  # of a session, even if it is refreshed
FRESH: Final = timedelta(minutes=10)
SKEW: Final = timedelta(seconds=5)
SECOND_STEP_SECONDS: Final = 300
NOTED_EVERY: Final = timedelta(minutes=1)
KEPT: Final = timedelta(days=30)  # after the session's end, so that a reused token is recognised
_SECOND_STEP: Final = "memsync.second-step"
_MOST_CLIENT: Final = 128


class TokenRefused(Unauthenticated):
    """This token is invalid or has expired: refresh it, or sign in again."""

    code = "INVALID_TOKEN"


class SignInRefused(Unauthenticated):
    """E-mail address, password or code is wrong."""

    code = "SIGN_IN_REFUSED"


class SessionNotFound(NotFound):
    """You have no such session."""

    code = "SESSION_NOT_FOUND"


class FreshSignInRequired(Forbidden):
    """Confirm your identity with an authenticator code (POST /auth/step-up), and try again within ten minutes."""

    code = "STEP_UP_REQUIRED"
    requires: ClassVar[tuple[str, ...]] = ("second_factor", "step_up")

    def __init__(self) -> None:
        super().__init__(extra={"requires": list(self.requires), "alternatives": ["POST /auth/step-up"]})


class PasswordRequired(FreshSignInRequired):
    """Show your password again (POST /auth/step-up), and try again within ten minutes."""

    requires = ("password", "step_up")


@dataclass(frozen=True, slots=True)
class SessionTokens:
    """A token pair, returned once."""

    session_id: int
    access: str = field(repr=False)
    refresh: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """The user and session of a request.  proved_at: when they last used a second factor.  password_shown_at: when they
    re-entered the password.  Both are times of the database's clock.  factor_asked_for: the tenant requires a second
    factor."""

    person_id: int
    session_id: int
    proved_at: datetime | None
    password_shown_at: datetime | None = None
    factor_asked_for: bool = False

    @property
    def is_authenticated(self) -> bool:
        """REST framework reads this."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """A session, as listed for its user."""

    id: int
    client: str
    network: str
    method: str
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime


def find_by_password(email: str, password: str) -> User | None:
    """The user with this address and password; None for an unknown address, a wrong password or a disabled user, after
    the same amount of work."""
    person = User.objects.filter(email=User.objects.normalize_email(email).lower()).first()
    if person is None:
        User().set_password(password)
        return None
    return person if person.check_password(password) and person.is_active else None


def second_step(person: User) -> str:
    """A signed token that stands for the verified password until the second factor is verified."""
    return signing.dumps([person.pk, person.password_mark().hex()], salt=_SECOND_STEP)


def find_by_second_step(text: str) -> User | None:
    try:
        person_id, mark = signing.loads(text, salt=_SECOND_STEP, max_age=SECOND_STEP_SECONDS)
    except signing.BadSignature:
        return None
    person = User.objects.filter(pk=person_id, is_active=True).first()
    return person if person and constant_time_compare(person.password_mark().hex(), mark) else None


def open_session(person: User, *, method: str, client: str, now: datetime) -> SessionTokens:
    """Open a session.  method: the last factor used.  client: the program's own name."""
    access, refresh = _new(ACCESS), _new(REFRESH)
    with transaction.atomic():
        BearerSession.objects.filter(user=person, expires_at__lt=now - KEPT).delete()
        session = BearerSession.objects.create(
            user=person,
            access=digest(access),
            access_expires_at=now + ACCESS_LIFETIME,
            refresh=digest(refresh),
            password=person.password_mark(),
            method=method,
            proved_at=_proved_by(method),
            client=_plain(client),
            network=current().network,
            created_at=now,
            last_used_at=now,
            expires_at=now + LIFETIME,
        )
        User.objects.filter(pk=person.pk).update(last_login=now)
        _record(session, AuditAction.SESSION_OPEN, reason=f"bearer {method}", now=now)
    return SessionTokens(session.pk, access, refresh)


def authenticate(access: str, *, now: datetime) -> SignedIn:
    """The user and session of this access token.  Reads the database every time, so that an ended session is refused
    from the next request on.

    Raises TokenRefused.
    """
    session = BearerSession.objects.select_related("user").filter(access=digest(access)).first()
    if session is None or session.access_expires_at <= now or not _is_live(session, now=now):
        raise TokenRefused
    if now - session.last_used_at >= NOTED_EVERY:
        BearerSession.objects.filter(pk=session.pk).update(last_used_at=now)
    return SignedIn(
        person_id=session.user_id,
        session_id=session.pk,
        proved_at=session.proved_at,
        password_shown_at=session.password_shown_at,
    )


def refresh_tokens(refresh: str, *, now: datetime) -> SessionTokens:
    """The next token pair; the previous pair becomes invalid.  Raises TokenRefused, and ends the whole session if this
    refresh token was already used."""
    with transaction.atomic():
        # Of two concurrent requests with one token, the second waits here and then finds it spent.
        rows = BearerSession.objects.select_for_update(of=("self",)).select_related("user")
        session = rows.filter(refresh=digest(refresh)).first()
        if session is not None and _is_live(session, now=now):
            return _next_pair(session, now=now)
        if session is None:
            _end_where_spent(refresh, now=now)
    # Outside the transaction, so that the end of the session is committed.
    raise TokenRefused


def step_up(signed_in: SignedIn, *, method: str, now: datetime) -> None:
    """Record that the user just verified this second factor."""
    with transaction.atomic():
        session = BearerSession.objects.get(pk=signed_in.session_id)
        session.method, session.proved_at = method, _proved_by(method)
        session.save(update_fields=["method", "proved_at"])
        _record(session, AuditAction.SESSION_STEP_UP, reason=f"bearer {method}", now=now)


def show_password(signed_in: SignedIn, password: str, *, now: datetime) -> None:
    """Verify the user's password again: sufficient for a confirmation while they have no second factor.

    Raises FreshSignInRequired before the check if the user has a second factor, and SignInRefused for a wrong password.
    """
    if second_factors.has_second_factor(signed_in.person_id):
        raise FreshSignInRequired
    if not User.objects.get(pk=signed_in.person_id).check_password(password):
        raise SignInRefused
    with transaction.atomic():
        session = BearerSession.objects.get(pk=signed_in.session_id)
        session.password_shown_at = database_time()
        session.save(update_fields=["password_shown_at"])
        _record(session, AuditAction.SESSION_STEP_UP, reason="bearer password", now=now)


def require_fresh(signed_in: SignedIn, *, destroys: bool = True) -> None:
    """Require a confirmation in the last ten minutes: with a second factor that the user still has, or with the
    password if they have none and the tenant requires none.  A recovery code is not a second factor.

    destroys: a password is not sufficient.  Raises FreshSignInRequired.
    """
    if destroys or signed_in.factor_asked_for or second_factors.has_second_factor(signed_in.person_id):
        if not _is_fresh(signed_in.proved_at) or not second_factors.has_second_factor(signed_in.person_id):
            raise FreshSignInRequired
    elif not _is_fresh(signed_in.password_shown_at):
        raise PasswordRequired


def end_by_refresh_token(refresh: str, *, now: datetime) -> None:
    """End the session of this refresh token; an unknown or spent token is ignored."""
    with transaction.atomic():
        _end(BearerSession.objects.filter(refresh=digest(refresh)), AuditAction.SESSION_END, now=now)


def end_session(person_id: int, session_id: int, *, now: datetime) -> None:
    """Raises SessionNotFound if it is missing, over, or another user's."""
    with transaction.atomic():
        if not _end(BearerSession.objects.filter(user_id=person_id, pk=session_id), AuditAction.SESSION_END, now=now):
            raise SessionNotFound


def end_all(person_id: int, *, now: datetime) -> int:
    """End all sessions of the user; returns their number."""
    with transaction.atomic():
        return _end(BearerSession.objects.filter(user_id=person_id), AuditAction.SESSION_END, now=now)


def list_sessions(person_id: int, *, now: datetime) -> list[SessionInfo]:
    """The user's active sessions, newest first."""
    rows = BearerSession.objects.select_related("user").filter(user_id=person_id)
    live = [one for one in rows.order_by("-id") if _is_live(one, now=now)]
    return [
        SessionInfo(
            id=one.pk,
            client=one.client,
            network=one.network,
            method=one.method,
            created_at=one.created_at,
            last_used_at=one.last_used_at,
            expires_at=one.expires_at,
        )
        for one in live
    ]


def digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()


def _new(kind: str) -> str:
    return kind + secrets.token_urlsafe(32)


def _is_fresh(shown_at: datetime | None) -> bool:
    return shown_at is not None and -SKEW <= database_time() - shown_at <= FRESH


def _proved_by(method: str) -> datetime | None:
    return database_time() if method in second_factors.SECOND else None


def _plain(client: str) -> str:
    return "".join(letter for letter in client if letter.isascii() and letter.isprintable())[:_MOST_CLIENT]


def _is_live(session: BearerSession, *, now: datetime) -> bool:
    if session.ended_at is not None or session.expires_at <= now or not session.user.is_active:
        return False
    return constant_time_compare(bytes(session.password), session.user.password_mark())


def _next_pair(session: BearerSession, *, now: datetime) -> SessionTokens:
    access, refresh = _new(ACCESS), _new(REFRESH)
    SpentRefresh.objects.create(session=session, digest=session.refresh, created_at=now)
    session.access, session.refresh = digest(access), digest(refresh)
    session.access_expires_at = min(now + ACCESS_LIFETIME, session.expires_at)
    session.last_used_at = now
    session.save(update_fields=["access", "refresh", "access_expires_at", "last_used_at"])
    return SessionTokens(session.pk, access, refresh)


def _end_where_spent(refresh: str, *, now: datetime) -> None:
    spent = SpentRefresh.objects.filter(digest=digest(refresh)).first()
    if spent is not None:
        family = BearerSession.objects.filter(pk=spent.session_id)
        if _end(family, AuditAction.SESSION_REUSE, reason="refresh token shown again", outcome="denied", now=now):
            logger.warning("a spent refresh token was shown again: its session is over")


def _end(
    rows: QuerySet[BearerSession], action: AuditAction, *, reason: str = "bearer", outcome: str = "ok", now: datetime
) -> int:
    ended = list(rows.select_for_update().filter(ended_at=None, expires_at__gt=now).order_by(F("pk")))
    for session in ended:
        session.ended_at = now
        session.save(update_fields=["ended_at"])
        _record(session, action, reason=reason, outcome=outcome, now=now)
    return len(ended)


def _record(session: BearerSession, action: AuditAction, *, reason: str, outcome: str = "ok", now: datetime) -> None:
    record(
        None,
        actor=f"account:{session.user_id}",
        action=action,
        target=f"bearer_session:{session.pk}",
        outcome=outcome,
        reason=reason,
        now=now,
    )
