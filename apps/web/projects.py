"""Projects of the tenant: list them with their counts; create, rename, archive, restore and delete them."""

from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from apps.console.cached_counts import get_or_count
from apps.core.errors import Conflict
from apps.erasure.projects import delete_project
from apps.memories.statistics import count_by_project
from apps.projects import services
from apps.projects.selectors import get_project, list_projects
from apps.web.confirmation import Confirmation, Paragraph
from apps.web.forms import check_label
from apps.web.pages import AccessLevel, PageContext, in_tenant, show

if TYPE_CHECKING:  # views import no models
    from apps.projects.models import Project

READ, WRITE = "projects:read", "projects:write"
LEFT: Final = {  # rows that prevent a project from being deleted
    "memories": "memories, including recently deleted ones",
    "candidates": "candidates pending review",
    "imports": "imports in progress",
    "forget_requests": "pending deletion requests",
    "legal_holds": "legal holds",
}


class ProjectForm(forms.Form):
    name = forms.CharField(
        label="Name", max_length=200, validators=[check_label], widget=forms.TextInput({"autocomplete": "off"})
    )


@in_tenant(AccessLevel.GRANTED, grant=READ)
def projects(request: HttpRequest, at: PageContext) -> HttpResponse:
    return _show(request, at, ProjectForm())


@in_tenant(AccessLevel.GRANTED, grant=WRITE, methods="POST")
def make_project(request: HttpRequest, at: PageContext) -> HttpResponse:
    form = ProjectForm(request.POST)
    if not form.is_valid():
        return _show(request, at, form, status=422)
    made = services.create_project(at.scope, form.cleaned_data["name"], now=at.now)
    messages.success(request, f"{made.name} was created. Requests name it by its ID, {made.public_id}.")
    return _back(at)


@in_tenant(AccessLevel.GRANTED, grant=READ)
def project(request: HttpRequest, at: PageContext, project_id: str) -> HttpResponse:
    """One project and the actions on it."""
    return _show_one(request, at, get_project(at.scope, project_id))


@in_tenant(AccessLevel.GRANTED, grant=WRITE, methods="POST")
def rename_project(request: HttpRequest, at: PageContext, project_id: str) -> HttpResponse:
    form = ProjectForm(request.POST)
    if not form.is_valid():
        return _show_one(request, at, get_project(at.scope, project_id), form, status=422)
    services.rename(at.scope, project_id, form.cleaned_data["name"], now=at.now)
    messages.success(request, "Renamed. The ID has not changed.")
    return _to(at, project_id)


@in_tenant(AccessLevel.GRANTED, grant=WRITE, methods="POST")
def change_review(request: HttpRequest, at: PageContext, project_id: str) -> HttpResponse:
    services.set_review(at.scope, project_id, request.POST.get("review", ""), now=at.now)
    messages.success(request, "Saved. It applies to new input; candidates already held stay in review.")
    return _to(at, project_id)


@in_tenant(AccessLevel.GRANTED, grant=WRITE, methods="POST")
def archive_project(request: HttpRequest, at: PageContext, project_id: str) -> HttpResponse:
    services.archive(at.scope, project_id, now=at.now)
    messages.success(request, "Archived: its memories can be read, and no new ones can be added.")
    return _to(at, project_id)


@in_tenant(AccessLevel.GRANTED, grant=WRITE, methods="POST")
def unarchive_project(request: HttpRequest, at: PageContext, project_id: str) -> HttpResponse:
    services.unarchive(at.scope, project_id, now=at.now)
    messages.success(request, "Restored: memories can be added to it again.")
    return _to(at, project_id)


@in_tenant(AccessLevel.STEP_UP, grant=WRITE, methods="GET POST")
def remove_project(request: HttpRequest, at: PageContext, project_id: str) -> HttpResponse:
    """POST deletes the project if it is empty; otherwise the page lists what is left in it."""
    one = get_project(at.scope, project_id)
    if request.method != "POST":
        return show(request, "confirm", at=at, place="projects", confirmation=_removal(at, one))
    try:
        delete_project(at.scope, project_id, now=at.now)
    except Conflict as error:
        left = [(found["count"], LEFT[found["kind"]]) for found in error.details]
        return show(
            request,
            "project_not_deleted",
            status=409,
            at=at,
            place="projects",
            one=one,
            refusal=error.message,
            left=left,
        )
    messages.success(request, f"{one.name} was deleted, and keys pinned to it are revoked.")
    return _back(at)


def _removal(at: PageContext, one: "Project") -> Confirmation:
    effect = (
        "This cannot be undone. The project is deleted only if it is empty. API keys pinned to it are revoked and its"
        " retention rules are deleted."
    )
    return Confirmation(
        title="Delete a project",
        heading=f"Delete {one.name}?",
        body=(Paragraph(effect),),
        button="Delete project",
        is_danger=True,
        back_url=reverse("web_project", args=[at.tenant, one.public_id]),
    )


def _show(request: HttpRequest, at: PageContext, form: ProjectForm, *, status: int = 200) -> HttpResponse:
    there = list_projects(at.scope)
    counts = _counts(at, there)
    return show(
        request,
        "projects",
        status=status,
        at=at,
        place="projects",
        found=[{"one": one, "count": counts.value.get(one.pk, 0)} for one in there],
        counts=counts,
        form=form,
        may_write=WRITE in at.scope.permissions,
    )


def _show_one(
    request: HttpRequest, at: PageContext, one: "Project", form: ProjectForm | None = None, *, status: int = 200
) -> HttpResponse:
    counts = _counts(at, [one])
    return show(
        request,
        "project",
        status=status,
        at=at,
        place="projects",
        one=one,
        count=counts.value.get(one.pk, 0),
        counts=counts,
        form=form or ProjectForm(initial={"name": one.name}),
        reviews=services.REVIEWS,
        may_write=WRITE in at.scope.permissions,
        server=request.build_absolute_uri("/").rstrip("/"),
    )


def _counts(at: PageContext, there: "list[Project]") -> Any:
    """Current memories per project, over all environments."""
    ids = [one.pk for one in there]
    name = f"projects:{at.reach.tenant.pk}:{'-'.join(map(str, ids))}"
    return get_or_count(name, lambda: count_by_project(at.scope, ids, environment=None), now=at.now)


def _back(at: PageContext) -> HttpResponse:
    return HttpResponseRedirect(reverse("web_projects", args=[at.tenant]))


def _to(at: PageContext, project_id: str) -> HttpResponse:
    return HttpResponseRedirect(reverse("web_project", args=[at.tenant, project_id]))
