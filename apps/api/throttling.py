"""Rate limits, counted in the database by apps.apikeys.rate_limits.  The default tier has none and does no work."""

from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from apps.accounts.api_sessions import SignedIn
from apps.apikeys import rate_limits
from apps.apikeys.addresses import address_key
from apps.core.errors import LimitReached
from apps.projects.scope import Scope

if TYPE_CHECKING:  # that module reads the settings, which name this one
    from rest_framework.views import APIView

VERDICT: Final = "memsync.rate"  # where ApiView reads the values of the headers


class RateLimit(BaseThrottle):
    """The windows of the deployment's tier: per key or user, or per address on routes without a credential."""

    def allow_request(self, request: Request, view: "APIView") -> bool:
        tier = rate_limits.TIERS[settings.RATE_LIMIT_TIER]
        if not tier or VERDICT in request.META:  # a route that a tool calls counts once, with the tool
            return True
        if isinstance(request.user, Scope):
            verdict = rate_limits.take(request.user.principal.label, tier, now=timezone.now())
        elif isinstance(request.user, SignedIn):
            verdict = rate_limits.take(f"account:{request.user.person_id}", tier, now=timezone.now())
        else:
            verdict = rate_limits.take(f"ip:{address_of(request)}", rate_limits.WITHOUT_KEY, now=timezone.now())
        request.META[VERDICT] = verdict
        if not verdict.is_allowed:
            if isinstance(request.user, Scope) and request.user.principal.kind == "api_key":
                rate_limits.note_refused(request.user, now=timezone.now())
            raise LimitReached(retry_after=verdict.retry_after_seconds)
        return True


def headers_of(request: Request) -> dict[str, str]:
    """X-RateLimit-* headers of the tightest window; empty if no limit is in force."""
    verdict = request.META.get(VERDICT)
    if not isinstance(verdict, rate_limits.RateVerdict):
        return {}
    return {
        "X-RateLimit-Limit": str(verdict.limit),
        "X-RateLimit-Remaining": str(verdict.remaining),
        "X-RateLimit-Reset": str(max(1, round(verdict.reset_seconds))),
    }


def refuse_guessing(request: Request) -> None:
    """Count a failed credential; raises LimitReached past 20 a minute from one address.

    Only failures are counted and refused: a valid key works even from an address that others misuse.
    """
    verdict = rate_limits.take(f"failed:{address_of(request)}", rate_limits.FAILED_ATTEMPTS, now=timezone.now())
    if not verdict.is_allowed:
        raise LimitReached("Too many failed attempts.", retry_after=verdict.retry_after_seconds)


def address_of(request: Request) -> str:
    return address_key(str(request.META.get("REMOTE_ADDR", "")))
