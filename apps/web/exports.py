"""Exports of memories: request one, follow its progress, and download the file through single-use links."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.validators import MaxValueValidator, MinValueValidator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from apps.core.errors import Conflict, Invalid
from apps.projects.scope import Environment
from apps.projects.selectors import get_project, list_projects
from apps.transfers.exports.filters import ExportFilters
from apps.transfers.exports.links import issue_link
from apps.transfers.exports.services import Export, cancel_export, get_export, list_exports, retry_export, start_export
from apps.web.environments import FIRST, environment_of, in_project, inside, query_of
from apps.web.memories import following
from apps.web.memory_filters import FIRST_DAY, LAST_DAY, end_of, id_of, midnight
from apps.web.pages import AccessLevel, PageContext, in_tenant, show

READ, WRITE = "exports:read", "exports:write"
PAGE: Final = 20
AGAIN: Final = ("failed", "cancelled", "expired")
FORMATS: Final = (("jsonl", "JSON Lines: can be imported again"), ("csv", "CSV: for spreadsheets"))
TIERS: Final = (("", "any"), ("hot", "hot"), ("warm", "warm"), ("cold", "cold"))
SUMMARIES: Final = (("", "both"), ("false", "memories only"), ("true", "summaries only"))
NAMES: Final[Mapping[str, str]] = {
    "q": "words", "user_id": "end user", "source": "source", "tier": "tier", "is_summary": "summaries",
    "time_range": "within", "date_from": "from", "date_to": "to", "include_soft_deleted": "recently deleted",
}  # fmt: skip


DAYS: Final = (MinValueValidator(FIRST_DAY), MaxValueValidator(LAST_DAY))


class ExportForm(forms.Form):
    """The filters and the format of an export; the service validates them."""

    format = forms.ChoiceField(choices=FORMATS, initial="jsonl", widget=forms.RadioSelect, label="Format")
    user_id = forms.CharField(max_length=256, required=False, label="End user", strip=False)
    q = forms.CharField(max_length=1_000, required=False, label="Words")
    source = forms.CharField(max_length=64, required=False, label="Source")
    tier = forms.ChoiceField(choices=TIERS, required=False, label="Tier")
    is_summary = forms.ChoiceField(choices=SUMMARIES, required=False, label="Summaries")
    date_from = forms.DateField(required=False, label="From", validators=DAYS, widget=forms.DateInput({"type": "date"}))
    date_to = forms.DateField(required=False, label="To", validators=DAYS, widget=forms.DateInput({"type": "date"}))
    include_soft_deleted = forms.BooleanField(
        required=False, label="Include deleted memories that can still be restored"
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data)
        for name in ("user_id", "q", "source"):
            self.fields[name].widget.attrs["autocomplete"] = "off"

    def clean(self) -> dict[str, Any]:
        said = self.cleaned_data
        if said.get("date_from") and said.get("date_to") and said["date_from"] > said["date_to"]:
            raise forms.ValidationError("From is after To.")
        return said

    @property
    def filters(self) -> ExportFilters:
        said = self.cleaned_data
        return ExportFilters(
            q=said["q"].strip() or None,
            user_id=said["user_id"].strip() or None,
            source=said["source"].strip() or None,
            tier=said["tier"] or None,
            is_summary={"true": True, "false": False}.get(said["is_summary"]),
            date_from=midnight(said["date_from"]) if said["date_from"] else None,
            date_to=end_of(said["date_to"]) if said["date_to"] else None,
            include_soft_deleted=said["include_soft_deleted"],
        )


@in_tenant(AccessLevel.GRANTED, grant=READ)
def exports(request: HttpRequest, at: PageContext) -> HttpResponse:
    environment = environment_of(request, at)
    scope = inside(at, environment)
    before = id_of(request.GET.get("before"))
    found, total = list_exports(scope, limit=PAGE + 1, before=before)
    shown, query = found[:PAGE], query_of(environment)
    return show(
        request,
        "exports",
        at=at,
        place="exports",
        environment=environment,
        environments=FIRST,
        found=[_shown(one) for one in shown],
        is_open=any(one.job.is_open for one in shown),
        total=total,
        before=before,
        query=query,
        next_query=following(query, shown[-1].job.pk if len(found) > PAGE else None),
        may_write=WRITE in at.reach.permissions,
    )


@in_tenant(AccessLevel.GRANTED, grant=WRITE, methods="GET POST")
def new_export(request: HttpRequest, at: PageContext) -> HttpResponse:
    environment = environment_of(request, at)
    form = ExportForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        filters = form.filters
        is_narrowed = bool(set(filters.to_json()) - {"include_soft_deleted"})
        try:
            started = start_export(
                in_project(inside(at, environment), request.POST.get("project", "")),
                format_=form.cleaned_data["format"],
                reach="filtered" if is_narrowed else "all",  # type: ignore[arg-type]  # views import no models
                filters=filters,
                now=at.now,
            )
        except (Invalid, Conflict) as error:
            form.add_error(None, error.message)
        else:
            messages.success(request, "The export has started. You can leave this page.")
            return _to(at, started, environment)
    return show(
        request,
        "new_export",
        status=422 if form.is_bound else 200,
        at=at,
        place="exports",
        environment=environment,
        form=form,
        projects=list_projects(at.scope),
        project=request.POST.get("project", ""),
        hours=settings.EXPORT_HOURS,
    )


@in_tenant(AccessLevel.GRANTED, grant=READ)
def export(request: HttpRequest, at: PageContext, export_id: str) -> HttpResponse:
    environment = environment_of(request, at)
    scope = inside(at, environment)
    one = get_export(scope, export_id)
    return show(
        request,
        "export",
        at=at,
        place="exports",
        environment=environment,
        **_shown(one),
        project=get_project(scope, one.project) if one.project else None,
        may_write=WRITE in at.reach.permissions,
        may_repeat=one.job.status in AGAIN,
        minutes=settings.EXPORT_LINK_MINUTES,
    )


@in_tenant(AccessLevel.GRANTED, grant=WRITE, methods="POST")
def stop_export(request: HttpRequest, at: PageContext, export_id: str) -> HttpResponse:
    environment = environment_of(request, at)
    stopped = cancel_export(inside(at, environment), export_id, now=at.now)
    if stopped.job.status == "cancelled":
        messages.success(request, "Cancelled. The partial file was deleted.")
    else:
        messages.warning(request, "The export had ended already; nothing changed.")
    return _to(at, stopped, environment)


@in_tenant(AccessLevel.GRANTED, grant=WRITE, methods="POST")
def repeat_export(request: HttpRequest, at: PageContext, export_id: str) -> HttpResponse:
    environment = environment_of(request, at)
    scope = inside(at, environment)
    try:
        one = retry_export(scope, export_id, now=at.now)
    except Conflict as error:
        messages.error(request, error.message)
        one = get_export(scope, export_id)
    else:
        messages.success(request, "The export has started again, with the current memories.")
    return _to(at, one, environment)


@in_tenant(AccessLevel.STEP_UP, grant=READ, methods="GET POST")
def link_export(request: HttpRequest, at: PageContext, export_id: str) -> HttpResponse:
    """GET explains download links; POST creates one and shows it once."""
    environment = environment_of(request, at)
    scope = inside(at, environment)
    one = get_export(scope, export_id)
    link = issue_link(scope, export_id, now=at.now) if request.method == "POST" else None
    address = request.build_absolute_uri(f"/exports/{link.public_id}/file/{link.token}") if link else ""
    return show(
        request,
        "link_export",
        at=at,
        place="exports",
        environment=environment,
        **_shown(one),
        link=link,
        address=address,
        minutes=settings.EXPORT_LINK_MINUTES,
    )


def _shown(one: Export) -> dict[str, Any]:
    said = one.filters.to_json()
    if not said["include_soft_deleted"]:
        del said["include_soft_deleted"]
    return {
        "one": one,
        "job": one.job,
        "is_there": one.result is not None,
        "filters": [(NAMES[name], _worded(value)) for name, value in said.items()],
    }


def _worded(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value.day} {value:%b %Y}"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _to(at: PageContext, one: Export, environment: Environment) -> HttpResponse:
    address = reverse("web_export", args=[at.tenant, one.job.public_id])
    return HttpResponseRedirect(f"{address}?{query_of(environment)}")
