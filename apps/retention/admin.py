"""Read-only admin pages for retention: ids, times and counts."""

from django.contrib import admin

from apps.core.admin import OperatorAdmin, display
from apps.retention.models import PrivacyRequest, RetentionRun


@admin.register(RetentionRun)
class RetentionRunAdmin(OperatorAdmin):
    heading = "Retention runs"
    list_display = ("number", "tenant", "created_at", "finished_at", "archived", "deleted", "purged", "times_resumed")
    list_filter = ("tenant",)
    list_select_related = ("tenant",)
    fields = ("tenant", "created_at", "finished_at", "leased_until", "times_resumed", "archived", "deleted", "purged")

    @display(description="Run", ordering="id")
    def number(self, run: RetentionRun) -> str:
        return f"#{run.pk}"


@admin.register(PrivacyRequest)
class PrivacyRequestAdmin(OperatorAdmin):
    heading = "Privacy requests"
    list_display = ("number", "tenant", "kind", "state", "created_at", "due_at", "completed_at", "handled_by")
    list_filter = ("kind", "state", "tenant")
    list_select_related = ("tenant",)
    fields = (
        "tenant", "end_user_id", "kind", "state", "created_at", "requested_by", "due_at", "started_at", "completed_at",
        "handled_by", "attempts", "error", "records", "evidence",
    )  # fmt: skip

    @display(description="Request", ordering="id")
    def number(self, request: PrivacyRequest) -> str:
        return f"#{request.pk}"
