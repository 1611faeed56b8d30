"""Who may call what.  Nobody, until a view says so."""

from typing import TYPE_CHECKING, Final

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from apps.core.errors import Forbidden
from apps.projects.scope import Scope

if TYPE_CHECKING:  # that module reads the settings, which name this one
    from rest_framework.views import APIView

OPEN: Final = "(open)"  # in a view's table: anybody, without a credential


class InsufficientScope(Forbidden):
    """The key lacks a scope that this needs."""

    code = "INSUFFICIENT_SCOPE"


class StepUpRequired(Forbidden):
    """Deleting memories needs a signed-in browser session with a fresh step-up."""

    code = "STEP_UP_REQUIRED"

    def __init__(self) -> None:
        super().__init__(
            extra={"requires": ["session", "step_up"], "alternatives": ["POST /memory/forget-requests"]},
        )


class DenyByDefault(BasePermission):
    """The default of every API view: a view that forgets to choose lets nobody in."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        return False


class HasPermission(BasePermission):
    """The key carries the permission that the view's table names for this method."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        needed = view.permission_for(request.method)  # type: ignore[attr-defined]  # only ApiViews use this class
        if needed == OPEN:
            return True
        if not isinstance(request.user, Scope) or needed not in request.user.permissions:
            raise InsufficientScope(f"Insufficient scope. Missing: {needed}")
        return True


class NoKeyMay(HasPermission):
    """For what a person alone may do.  Nothing about the request is looked at."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        raise StepUpRequired


class KeyMayRetire(HasPermission):
    """For deletes.  A key may at most retire memories, and only where the tenant's policy says so; nothing else about
    the request is looked at before that, so that the refusal tells nothing."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        if request.auth.key_deletes != "retire":  # type: ignore[union-attr]  # Authenticated: the route is not open
            raise StepUpRequired
        return super().has_permission(request, view)
