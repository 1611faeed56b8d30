"""The environment that a page shows: the requested one, the one shown last, or the first that contains data; scopes
and links in it."""

from dataclasses import replace

from django.http import HttpRequest
from django.utils.http import urlencode

from apps.console.space_list import environments_in_use
from apps.projects.scope import Environment, Scope
from apps.projects.selectors import get_project
from apps.web.navigation import chosen_environment
from apps.web.pages import PageContext

FIRST = (Environment.PRODUCTION, Environment.STAGING, Environment.DEVELOPMENT)


def environment_of(request: HttpRequest, at: PageContext) -> Environment:
    said = request.POST.get("environment") or request.GET.get("environment") or ""
    for one in (said, chosen_environment(request, at.tenant)):
        if one in {known.value for known in Environment}:
            return Environment(one)
    used = environments_in_use(at.scope)
    return next((one for one in FIRST if one in used), Environment.PRODUCTION)


def inside(at: PageContext, environment: Environment) -> Scope:
    return replace(at.scope, environment=environment)


def in_project(scope: Scope, public_id: str) -> Scope:
    """The scope narrowed to this project, or unchanged without an id.  Raises ProjectNotFound."""
    return replace(scope, project_id=get_project(scope, public_id).pk) if public_id else scope


def query_of(environment: Environment) -> str:
    """The query string of a page in this environment."""
    return urlencode({"environment": environment.value})
