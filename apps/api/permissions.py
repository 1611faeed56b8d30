"""Permissions of API views.  Access is denied unless a view grants it."""

from typing import TYPE_CHECKING, Final

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from apps.accounts.api_sessions import SignedIn, require_fresh
from apps.apikeys.permissions import PERMISSIONS
from apps.core.errors import Forbidden
from apps.projects.scope import Scope
from apps.tenants.grants import GRANTED

if TYPE_CHECKING:  # that module reads the settings, which name this one
    from rest_framework.views import APIView

OPEN: Final = "(open)"  # in a view's table: no credential required
PERSON: Final = "(person)"  # and: any signed-in user, about themselves


class InsufficientScope(Forbidden):
    """The key lacks a required scope."""

    code = "INSUFFICIENT_SCOPE"


class RoleTooLow(Forbidden):
    """Your role in this tenant does not allow that."""

    code = "ROLE_TOO_LOW"


class PersonRequired(Forbidden):
    """Only people may do this: sign in (POST /auth/login) and send the access token; API keys are refused."""

    code = "PERSON_REQUIRED"


class KeyRequired(Forbidden):
    """Only programs may do this: send an API key; no role permits it to a person."""

    code = "API_KEY_REQUIRED"


class ApiStepUpRequired(Forbidden):
    """Deleting memories needs a signed-in browser session with a fresh step-up."""

    code = "STEP_UP_REQUIRED"

    def __init__(self) -> None:
        super().__init__(
            extra={"requires": ["session", "step_up"], "alternatives": ["POST /memory/forget-requests"]},
        )


class DenyByDefault(BasePermission):
    """The default of every API view: a view that declares no permission admits no one."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        return False


class HasPermission(BasePermission):
    """The key has, or the user's role grants, the permission that the view's table names for this method; if the view
    requires it, the user also confirmed their identity recently."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        needed = view.permission_for(request.method)  # type: ignore[attr-defined]  # only ApiViews use this class
        if needed == OPEN:
            return True
        signed_in = request.auth if isinstance(request.auth, SignedIn) else None
        method = "GET" if request.method == "HEAD" else request.method
        if signed_in:
            needed = view.people.get(method, needed)  # type: ignore[attr-defined]
        held = request.user.permissions if isinstance(request.user, Scope) else {PERSON}
        if needed not in held:
            raise _lacking(needed) if signed_in else _missing(needed)
        if signed_in and method in view.fresh:  # type: ignore[attr-defined]
            require_fresh(signed_in, destroys=method in view.destroys)  # type: ignore[attr-defined]
        return True


def _lacking(needed: str) -> Forbidden:
    return RoleTooLow() if needed in GRANTED else KeyRequired()


def _missing(needed: str) -> Forbidden:
    return InsufficientScope(f"Insufficient scope. Missing: {needed}") if needed in PERMISSIONS else PersonRequired()


class NoKeyMay(HasPermission):
    """For actions reserved to users.  Nothing else about the request is checked."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        raise ApiStepUpRequired


class NoKeyDeletes(HasPermission):
    """As ``NoKeyMay``, but for deletes alone."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        if request.method == "DELETE":
            raise ApiStepUpRequired
        return super().has_permission(request, view)


class KeyMayRetire(HasPermission):
    """For deletes.  A key may at most soft-delete memories, and only if the tenant's policy allows it.  The policy is
    checked first, so that the refusal reveals nothing."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        # Users have no such policy: they delete in the browser.
        if request.method == "DELETE" and getattr(request.auth, "key_deletes", "") != "retire":
            raise ApiStepUpRequired
        return super().has_permission(request, view)


def check_history(scope: Scope) -> None:
    """Raises InsufficientScope if the caller may not read stored turns."""
    if "history:read" not in scope.permissions:
        raise InsufficientScope("Insufficient scope. Missing: history:read")
