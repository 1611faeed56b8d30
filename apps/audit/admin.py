"""The audit trail and the outbox, to read."""

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from apps.audit.models import AuditEvent, OutboxEvent
from apps.core.admin import OPERATOR, OperatorAdmin, display, link, mono


class _OfTenants(OperatorAdmin):
    """Rows that name their tenant by a plain id, because they outlive it."""

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
class AuditEventAdmin(_OfTenants):
    heading = "Audit trail"
    list_display = ("created_at", "tenant", "actor", "action", "target", "result", "reason")
    list_filter = ("outcome", "action")
    search_fields = ("=actor", "=target", "=action", "=request_id")
    search_help_text = "An actor, a target, an action or a request id, in full."
    fields = ("created_at", "tenant", "actor", "action", "target", "result", "reason", "count", "asked_in")

    @display(description="Outcome", ordering="outcome", label={"ok": "success", "denied": "danger"})
    def result(self, row: AuditEvent) -> str:
        return row.outcome

    @display(description="Request id")
    def asked_in(self, row: AuditEvent) -> str | None:
        return mono(row.request_id) if row.request_id else None


@admin.register(OutboxEvent)
class OutboxEventAdmin(_OfTenants):
    """Work that is still to be done; what is done is gone."""

    heading = "Outbox"
    list_display = ("kind", "subject_id", "tenant", "state", "attempts", "error", "run_after", "created_at")
    list_filter = ("kind",)
    search_fields = ("=kind", "=subject_id", "=error")
    ordering = ("run_after", "id")
    fields = ("kind", "subject_id", "tenant", "state", "attempts", "error", "run_after", "created_at")

    @display(description="State", label={"due": "info", "waiting": None, "failing": "danger"})
    def state(self, row: OutboxEvent) -> str:
        if row.error:
            return "failing"
        return "due" if row.run_after <= timezone.now() else "waiting"
