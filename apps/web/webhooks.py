"""Webhook endpoints, their secrets (shown once), and the status of each delivery."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import orjson
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode

from apps.core.errors import Conflict, DomainError, Invalid
from apps.projects.scope import Environment
from apps.projects.selectors import get_project, list_projects
from apps.web.confirmation import Confirmation, Paragraph
from apps.web.environments import FIRST, environment_of, in_project, inside, query_of
from apps.web.memories import following
from apps.web.memory_filters import id_of
from apps.web.pages import AccessLevel, PageContext, in_tenant, show
from apps.web.webhook_form import WebhookForm
from apps.webhooks import deliveries, services
from apps.webhooks.deliveries import FAILING, rate
from apps.webhooks.events import CATEGORIES, TYPES
from apps.webhooks.payloads import hash_of, shown_id
from apps.webhooks.retry_policy import RETRY_DEFAULTS
from apps.webhooks.services import FORMER_SIGNS_FOR, SIGNATURE_DEFAULTS, OpenedEndpoint

READ, WRITE = "webhooks:read", "webhooks:write"
PAGE: Final = 25
AGAIN: Final = timedelta(days=7)
AT_ONCE: Final = 1_000  # deliveries per replay
FORMER_HOURS: Final = int(FORMER_SIGNS_FOR.total_seconds() // 3_600)
STATES: Final[Mapping[str, str]] = {
    "": "all",
    "delivered": "delivered",
    "pending": "pending",
    "retrying": "to be retried",
    "failed": "failed",
    "dead_letter": "dead letters",
}
ENDED_BADLY: Final = ("failed", "dead_letter")


@in_tenant(AccessLevel.GRANTED, grant=READ)
def webhooks(request: HttpRequest, at: PageContext) -> HttpResponse:
    environment = environment_of(request, at)
    scope = inside(at, environment)
    found = services.list_endpoints(scope)
    names = {one.public_id: one.name for one in list_projects(scope)} if any(one.project for one in found) else {}
    return show(
        request,
        "webhooks",
        at=at,
        place="webhooks",
        environment=environment,
        environments=FIRST,
        found=[_shown(one) | {"project": names.get(one.project or "", "")} for one in found],
        health=deliveries.health(scope, now=at.now),
        may_write=WRITE in at.reach.permissions,
    )


@in_tenant(AccessLevel.STEP_UP, grant=WRITE, methods="GET POST")
def new_webhook(request: HttpRequest, at: PageContext) -> HttpResponse:
    """POST creates an endpoint and shows its secret, once."""
    environment = environment_of(request, at)
    scope = inside(at, environment)
    form = WebhookForm(request.POST if request.method == "POST" else None, initial={"events": ["memory.created"]})
    if form.is_valid():
        try:
            made = services.create(
                in_project(scope, request.POST.get("project", "")),
                name=form.cleaned_data["name"],
                url=form.cleaned_data["url"].strip(),
                wanted=form.cleaned_data["events"],
                description=form.cleaned_data["description"] or None,
                retry=form.retry,
                signature=form.signature,
                now=at.now,
            )
        except (Invalid, Conflict) as error:
            _refuse(form, error)
        else:
            return _secret(request, at, made, environment)
    return _form(request, at, form, environment, one=None, projects=list_projects(at.scope))


@in_tenant(AccessLevel.GRANTED, grant=READ)
def webhook(request: HttpRequest, at: PageContext, endpoint_id: int) -> HttpResponse:
    environment = environment_of(request, at)
    scope = inside(at, environment)
    one = services.get(scope, endpoint_id)
    state = said if (said := request.GET.get("state", "")) in STATES else ""
    before = id_of(request.GET.get("before"))
    found = deliveries.newest(
        scope, endpoint_id=endpoint_id, status=state or None, before=before, limit=PAGE + 1, now=at.now
    )
    query = urlencode({"environment": environment.value, **({"state": state} if state else {})})
    return show(
        request,
        "webhook",
        at=at,
        place="webhooks",
        environment=environment,
        **_shown(one),
        groups=_chosen(set(one.row.events)),
        wanted=one.row.events,
        types=TYPES,
        project=get_project(scope, one.project) if one.project else None,
        former_until=one.row.former_until if one.row.former_until and one.row.former_until > at.now else None,
        found=found[:PAGE],
        states=STATES,
        state=state,
        before=before,
        query=query,
        next_query=following(query, found[PAGE - 1].row.pk if len(found) > PAGE else None),
        has_failed=any(one.row.status in ENDED_BADLY for one in found),
        again_days=AGAIN.days,
        may_write=WRITE in at.reach.permissions,
    )


@in_tenant(AccessLevel.GRANTED, grant=WRITE, methods="GET POST")
def change_webhook(request: HttpRequest, at: PageContext, endpoint_id: int) -> HttpResponse:
    environment = environment_of(request, at)
    scope = inside(at, environment)
    one = services.get(scope, endpoint_id)
    columns = {name: getattr(one.row, name) for name in ("name", "events", *RETRY_DEFAULTS, *SIGNATURE_DEFAULTS)}
    form = WebhookForm(
        request.POST if request.method == "POST" else None,
        initial=columns | {"url": one.url, "description": one.description or ""},
    )
    if form.is_valid():
        try:
            services.update(
                scope,
                endpoint_id,
                name=form.cleaned_data["name"],
                url=form.cleaned_data["url"].strip(),
                description=form.cleaned_data["description"],
                wanted=form.cleaned_data["events"],
                retry=form.retry,
                signature=form.signature,
                now=at.now,
            )
        except Invalid as error:
            _refuse(form, error)
        else:
            messages.success(request, "Saved. The change applies from the next delivery on.")
            return _to(at, endpoint_id, environment)
    return _form(request, at, form, environment, one=one, projects=[])


@in_tenant(AccessLevel.GRANTED, grant=WRITE, methods="POST")
def pause_webhook(request: HttpRequest, at: PageContext, endpoint_id: int) -> HttpResponse:
    environment = environment_of(request, at)
    services.pause(inside(at, environment), endpoint_id, now=at.now)
    messages.success(request, "Paused. Pending deliveries are kept; new events are not delivered.")
    return _to(at, endpoint_id, environment)


@in_tenant(AccessLevel.GRANTED, grant=WRITE, methods="POST")
def resume_webhook(request: HttpRequest, at: PageContext, endpoint_id: int) -> HttpResponse:
    environment = environment_of(request, at)
    services.resume(inside(at, environment), endpoint_id, now=at.now)
    messages.success(request, "Resumed. Pending deliveries are sent first.")
    return _to(at, endpoint_id, environment)


@in_tenant(AccessLevel.GRANTED, grant=WRITE, methods="POST")
def test_webhook(request: HttpRequest, at: PageContext, endpoint_id: int) -> HttpResponse:
    environment = environment_of(request, at)
    event_type = request.POST.get("event_type") or TYPES[0]
    row = deliveries.test(inside(at, environment), endpoint_id, event_type, now=at.now)
    messages.success(request, "A test event was queued. It is marked as a test.")
    return _to_delivery(at, row.pk, environment)


@in_tenant(AccessLevel.GRANTED, grant=WRITE, methods="POST")
def replay_webhook(request: HttpRequest, at: PageContext, endpoint_id: int) -> HttpResponse:
    environment = environment_of(request, at)
    found = deliveries.replay(
        inside(at, environment), endpoint_id, since=at.now - AGAIN, statuses=ENDED_BADLY, limit=AT_ONCE, now=at.now
    )
    left = found.eligible - len(found.ids)
    if found.ids:
        rest = f" {left:,} more are left for another time." if left else ""
        messages.success(request, f"{len(found.ids):,} queued again, with the same IDs.{rest}")
    else:
        messages.warning(request, f"No failed deliveries of the last {AGAIN.days} days to resend.")
    return _to(at, endpoint_id, environment)


@in_tenant(AccessLevel.STEP_UP, grant=WRITE, methods="GET POST")
def rotate_webhook(request: HttpRequest, at: PageContext, endpoint_id: int) -> HttpResponse:
    """POST creates a new secret and shows it, once."""
    environment = environment_of(request, at)
    scope = inside(at, environment)
    if request.method == "POST":
        return _secret(request, at, services.rotate_secret(scope, endpoint_id, now=at.now), environment, is_new=False)
    row = services.get(scope, endpoint_id).row
    secret = format_html(
        "It signs deliveries from the next one on and is shown once. For {} hours the current secret (<code>{}…</code>)"
        " also signs, in a second header, so that your service can switch.",
        FORMER_HOURS,
        row.secret_prefix,
    )
    leak = (
        f"If the current secret leaked: for those {FORMER_HOURS} hours its holder can impersonate this server to a"
        " receiver that still accepts it."
    )
    confirmation = Confirmation(
        title="New secret",
        heading=f"Create a new secret for {row.name}?",
        body=(Paragraph(secret), Paragraph(leak, "meta")),
        button="Create secret",
        action=f"?{query_of(environment)}",
        back_url=_page(at, endpoint_id, environment),
        width="medium",
    )
    return show(request, "confirm", at=at, place="webhooks", environment=environment, confirmation=confirmation)


@in_tenant(AccessLevel.GRANTED, grant=WRITE, methods="GET POST")
def delete_webhook(request: HttpRequest, at: PageContext, endpoint_id: int) -> HttpResponse:
    environment = environment_of(request, at)
    scope = inside(at, environment)
    if request.method == "POST":
        services.delete(scope, endpoint_id, now=at.now)
        messages.success(request, "Deleted with its deliveries. Pending ones are not sent.")
        return HttpResponseRedirect(f"{reverse('web_webhooks', args=[at.tenant])}?{query_of(environment)}")
    one = services.get(scope, endpoint_id)
    count = one.row.total_deliveries
    effect = format_html(
        "This deletes its secret and the record of its {} deliver{}. Pending deliveries are not sent. This cannot be"
        " undone. To stop it for a while, <strong>pause</strong> it instead.",
        count,
        pluralize(count, "y,ies"),
    )
    address = format_html("<code>{}</code> in {}", one.url, environment.value)
    confirmation = Confirmation(
        title="Delete a webhook",
        heading=f"Delete {one.row.name}?",
        body=(Paragraph(address, "meta"), Paragraph(effect)),
        button="Delete webhook",
        is_danger=True,
        action=f"?{query_of(environment)}",
        back_url=_page(at, endpoint_id, environment),
        width="medium",
    )
    return show(request, "confirm", at=at, place="webhooks", environment=environment, confirmation=confirmation)


@in_tenant(AccessLevel.GRANTED, grant=READ)
def delivery(request: HttpRequest, at: PageContext, delivery_id: int) -> HttpResponse:
    environment = environment_of(request, at)
    scope = inside(at, environment)
    found = deliveries.get(scope, delivery_id, now=at.now)
    return show(
        request,
        "delivery",
        at=at,
        place="webhooks",
        environment=environment,
        found=found,
        is_open=found.row.status in ("pending", "retrying"),
        endpoint=services.get(scope, found.row.endpoint_id).row,
        event_id=shown_id(found.row.event_id),
        payload=orjson.dumps(orjson.loads(found.row.payload), option=orjson.OPT_INDENT_2).decode(),
        digest=hash_of(found.row.payload),
        state=STATES[found.row.status],
        attempts=[one | {"at": datetime.fromisoformat(one["at"])} for one in found.row.attempts],
        may_write=WRITE in at.reach.permissions,
    )


@in_tenant(AccessLevel.GRANTED, grant=WRITE, methods="POST")
def send_again(request: HttpRequest, at: PageContext, delivery_id: int) -> HttpResponse:
    environment = environment_of(request, at)
    try:
        deliveries.retry(inside(at, environment), delivery_id, now=at.now)
    except Conflict as error:
        messages.error(request, error.message)
    else:
        messages.success(request, "Queued again, with the same IDs.")
    return _to_delivery(at, delivery_id, environment)


def _shown(one: OpenedEndpoint) -> dict[str, Any]:
    """An endpoint and its delivery statistics."""
    row = one.row
    state = "paused" if not row.is_enabled else "failing" if row.consecutive_failures >= FAILING else "active"
    return {
        "one": one,
        "row": row,
        "state_of": state,
        "rate": rate(row.successful_deliveries, row.total_deliveries),
        "failed": row.total_deliveries - row.successful_deliveries,
    }


def _chosen(wanted: set[str]) -> list[dict[str, Any]]:
    return [
        {"name": name.replace("_", " "), "events": [{"name": one, "is_chosen": one in wanted} for one in types]}
        for name, types in CATEGORIES.items()
    ]


def _form(
    request: HttpRequest,
    at: PageContext,
    form: WebhookForm,
    environment: Environment,
    *,
    one: OpenedEndpoint | None,
    projects: Any,
) -> HttpResponse:
    return show(
        request,
        "webhook_form",
        status=422 if form.is_bound else 200,
        at=at,
        place="webhooks",
        environment=environment,
        environments=FIRST,
        form=form,
        one=one,
        groups=_chosen(form.chosen),
        projects=projects,
        project=request.POST.get("project", ""),
    )


def _secret(
    request: HttpRequest, at: PageContext, made: OpenedEndpoint, environment: Environment, *, is_new: bool = True
) -> HttpResponse:
    """Show the secret in the response itself: a redirect would have to store it."""
    previous = f"{made.row.signature_header}{services.PREVIOUS}"
    return show(
        request,
        "webhook_secret",
        at=at,
        place="webhooks",
        environment=environment,
        is_new=is_new,
        previous=previous,
        digest=made.row.signature_algorithm.removeprefix("hmac-"),
        hours=FORMER_HOURS,
        **_shown(made),
    )


def _refuse(form: WebhookForm, error: DomainError) -> None:
    field = {"WEBHOOK_URL_REFUSED": "url", "UNKNOWN_EVENT_TYPE": "events"}.get(error.code)
    form.add_error(field, error.message)


def _page(at: PageContext, endpoint_id: int, environment: Environment) -> str:
    return f"{reverse('web_webhook', args=[at.tenant, endpoint_id])}?{query_of(environment)}"


def _to(at: PageContext, endpoint_id: int, environment: Environment) -> HttpResponse:
    return HttpResponseRedirect(_page(at, endpoint_id, environment))


def _to_delivery(at: PageContext, delivery_id: int, environment: Environment) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('web_delivery', args=[at.tenant, delivery_id])}?{query_of(environment)}")
