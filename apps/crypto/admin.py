"""Which encryption keys are in use.  The keys themselves, wrapped or not, are in a database that no page here reads."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from apps.core.admin import OperatorAdmin, display
from apps.crypto.models import TenantKeyState


@admin.register(TenantKeyState)
class TenantKeyStateAdmin(OperatorAdmin):
    heading = "Encryption keys"
    list_display = ("tenant", "active_version", "readable", "state", "key_epoch", "created_at")
    list_filter = ("compromised",)
    list_select_related = ("tenant",)
    search_fields = ("tenant__name",)
    ordering = ("tenant__name",)
    fields = ("tenant", "active_version", "readable", "state", "key_epoch", "created_at")

    @display(description="Versions that can be read", ordering="live_versions")
    def readable(self, row: TenantKeyState) -> str:
        return ", ".join(map(str, row.live_versions))

    @display(description="State", label={"in use": "success", "rotating": "info", "compromised": "danger"})
    def state(self, row: TenantKeyState) -> str:
        if row.compromised:
            return "compromised"
        return "rotating" if len(row.live_versions) > 1 else "in use"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("tenant")
