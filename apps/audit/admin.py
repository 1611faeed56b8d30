"""Read-only admin pages for the audit log."""

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery, Sum
from django.http import HttpRequest
from django.urls import reverse

from apps.audit.models import AuditEvent, ChainHead, Checkpoint
from apps.core.admin import (
    OPERATOR,
    OperatorAdmin,
    display,
    link,
    mono,
)  # fmt: skip


class TenantRowsAdmin(OperatorAdmin):
    """Rows that store the tenant as a plain id, because they outlive the tenant."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        tenants = apps.get_model("tenants.Tenant")._default_manager.using(OPERATOR)
        name = tenants.filter(pk=OuterRef("tenant_id")).values("name")
        rows: QuerySet[Any] = super().get_queryset(request).annotate(tenant_name=Subquery(name))
        return rows

    @display(description="Tenant", ordering="tenant_id")
    def tenant(self, row: Any) -> str | None:
        if row.tenant_id is None or row.tenant_name is None:
            return f"erased tenant {row.tenant_id}" if row.tenant_id else None
        return link(row.tenant_name, reverse("admin:tenants_tenant_change", args=[row.tenant_id]))


@admin.register(AuditEvent)
class AuditEventAdmin(TenantRowsAdmin):
    """The audit chains of all tenants.  `memsync audit verify` verifies them."""

    heading = "Audit trail"
    list_display = ("created_at", "tenant", "seq", "actor", "action", "target", "result", "reason")
    list_filter = ("outcome", "created_at", "action")
    # Not "=actor", which compares in upper case and took five times as long.
    search_fields = ("actor__exact", "target__exact", "action__exact", "request_id__exact", "hash__exact")
    search_help_text = "An actor, a target, an action, a request id or a hash, in full."
    fields = ("created_at", "tenant", "actor", "action", "target", "result", "reason", "count", "asked_in", "network",
              "code_version", "seq", "hash_before", "own_hash")  # fmt: skip

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        return super().changelist_view(request, {"subheading": _signed_up_to(), **(extra_context or {})})

    @display(description="Outcome", ordering="outcome", label={"ok": "success", "denied": "danger"})
    def result(self, row: AuditEvent) -> str:
        return row.outcome

    @display(description="Request id")
    def asked_in(self, row: AuditEvent) -> str | None:
        return mono(row.request_id) if row.request_id else None

    @display(description="Hash of the previous row")
    def hash_before(self, row: AuditEvent) -> str:
        return mono(row.prev_hash)

    @display(description="Hash")
    def own_hash(self, row: AuditEvent) -> str:
        return mono(row.hash)


def _signed_up_to() -> str:
    newest = Checkpoint.objects.using(OPERATOR).order_by("-number").first()
    if newest is None:
        return "No checkpoint has been signed yet"
    rows = ChainHead.objects.using(OPERATOR).aggregate(all=Sum("seq"))["all"] or 0
    since = max(0, rows - newest.rows)
    return (
        f"Signed up to {newest.made_at:%Y-%m-%d %H:%M} UTC: checkpoint {newest.number}, {newest.rows:,} rows; "
        f"{since:,} since then"
    )
