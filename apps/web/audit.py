"""Pages of the audit trail: its entries, its integrity check, and the receipts of erasures."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import orjson
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import urlencode

from apps.audit.selectors import AuditFilter, browse
from apps.erasure.receipt_log import public_keys, receipts_of
from apps.transparency import checkpoints
from apps.transparency.self_check import check_trail, export_lines
from apps.web.actors import actor_names
from apps.web.memories import following
from apps.web.memory_filters import FilterRefused, day_of, id_of, midnight
from apps.web.pages import AccessLevel, PageContext, in_tenant, show

PAGE: Final = 50
RECEIPTS: Final = 25
LONGEST: Final = 64
READ: Final = "audit:read"
# Prefix of an action, and its label.
KINDS: Final = (
    ("", "everything"),
    ("memory.", "memories"),
    ("candidate.", "review"),
    ("retention.", "retention"),
    ("privacy.", "privacy requests"),
    ("export.", "exports"),
    ("webhook.", "webhooks"),
    ("api_key.", "keys"),
    ("member.", "team"),
)
OUTCOMES: Final = (("", "any"), ("ok", "done"), ("denied", "denied"))


@in_tenant(AccessLevel.GRANTED, grant=READ)
def audit(request: HttpRequest, at: PageContext) -> HttpResponse:
    said = {name: _plain(request.GET.get(name)) for name in ("action", "actor", "outcome", "since", "until")}
    before = id_of(request.GET.get("before"))
    since, until = day_of(said["since"]), day_of(said["until"])
    wanted = AuditFilter(
        action=said["action"] or None,
        actor=said["actor"] or None,
        outcome=said["outcome"] or None,
        since=midnight(since) if since else None,
        until=midnight(until) + timedelta(days=1) if until else None,
    )
    shown, next_before = browse(at.scope, wanted, before=before, limit=PAGE)
    query = _query(said)
    names = actor_names(at)
    return show(
        request,
        "audit",
        at=at,
        place="audit",
        rows=[{"entry": one, "who": names.get(one.actor, "")} for one in shown],
        names=names,
        said=said,
        kinds=[{"name": name, "action": action, "query": _query(said | {"action": action})} for action, name in KINDS],
        outcomes=OUTCOMES,
        is_narrowed=bool(query),
        query=query,
        before=before,
        next_query=following(query, next_before),
    )


@in_tenant(AccessLevel.GRANTED, grant=READ, methods="POST")
def check_audit(request: HttpRequest, at: PageContext) -> HttpResponse:
    """Verify the audit trail.  Nothing is changed."""
    checked = check_trail(at.scope, now=at.now)
    return show(
        request, "audit_checked", at=at, place="audit", checked=checked, public_key=checkpoints.public_key().hex()
    )


@in_tenant(AccessLevel.GRANTED, grant=READ)
def take_audit(request: HttpRequest, at: PageContext) -> HttpResponseBase:
    """The tenant's audit trail as a file, in the format of `memsync audit export`."""
    name = f"audit-{at.tenant}-{at.now:%Y-%m-%d}.jsonl"
    return StreamingHttpResponse(
        export_lines(at.scope),
        content_type="application/jsonl",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@in_tenant(AccessLevel.DECIDER, closed=True)
def receipts(request: HttpRequest, at: PageContext) -> HttpResponse:
    before = id_of(request.GET.get("before"))
    found = receipts_of(at.scope, limit=RECEIPTS + 1, before=before)
    shown = found[:RECEIPTS]
    return show(
        request,
        "receipts",
        at=at,
        place="receipts",
        found=shown,
        keys=public_keys().keys,
        query="",
        before=before,
        next_query=following("", shown[-1].index if len(found) > RECEIPTS else None),
    )


@in_tenant(AccessLevel.DECIDER, closed=True)
def receipt_keys(request: HttpRequest, at: PageContext) -> HttpResponse:
    """The public keys that verify receipts, as a file."""
    name = {"Content-Disposition": 'attachment; filename="receipt-keys.json"'}
    raw = orjson.dumps(public_keys().to_json(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    return HttpResponse(raw, content_type="application/json", headers=name)


def _plain(said: str | None) -> str:
    """Raises FilterRefused."""
    said = (said or "").strip()
    if len(said) > LONGEST or not said.isprintable():
        raise FilterRefused
    return said


def _query(said: Mapping[str, str]) -> str:
    return urlencode({name: text for name, text in said.items() if text})
