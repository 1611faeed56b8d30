"""What is kept for how long, what a legal hold keeps, and runs: to look at, never to change.  Ids, times and counts."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from apps.core.admin import OperatorAdmin, display
from apps.projects.models import RULES, RetentionPolicy
from apps.retention.models import Hold, PrivacyRequest, RetentionRun


@admin.register(RetentionPolicy)
class RetentionPolicyAdmin(OperatorAdmin):
    heading = "Retention policies"
    list_display = ("whose", "tenant", "says", "revision", "updated_at", "updated_by")
    list_filter = ("level", "tenant")
    fields = ("whose", "tenant", *RULES, "revision", "created_at", "updated_at", "updated_by")

    @display(description="Whose word")
    def whose(self, policy: RetentionPolicy) -> str:
        target = policy.project_id or policy.space_id
        return f"{policy.level} {target}" if target else str(policy.level)

    @display(description="Says")
    def says(self, policy: RetentionPolicy) -> str:
        said = ((name, getattr(policy, name)) for name in RULES)
        return ", ".join(f"{name} {value}" for name, value in said if value is not None)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("tenant")


@admin.register(Hold)
class HoldAdmin(OperatorAdmin):
    heading = "Legal holds"
    list_display = ("number", "tenant", "what", "case", "state", "created_at", "set_by")
    list_filter = ("level", "tenant")
    search_fields = ("case",)
    fields = ("tenant", "what", "case", "state", "created_at", "set_by", "lifted_at", "lifted_by")

    @display(description="Hold", ordering="id")
    def number(self, hold: Hold) -> str:
        return f"#{hold.pk}"

    @display(description="What it keeps")
    def what(self, hold: Hold) -> str:
        target = hold.project_id or hold.space_id or hold.memory_id
        return f"{hold.level} {target}" if target else str(hold.level)

    @display(description="State", label={"in force": "warning", "lifted": "info"})
    def state(self, hold: Hold) -> str:
        return "lifted" if hold.lifted_at else "in force"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("tenant")


@admin.register(RetentionRun)
class RetentionRunAdmin(OperatorAdmin):
    heading = "Runs of the retention"
    list_display = ("number", "tenant", "created_at", "finished_at", "archived", "deleted", "purged", "times_resumed")
    list_filter = ("tenant",)
    fields = ("tenant", "created_at", "finished_at", "leased_until", "times_resumed", "archived", "deleted", "purged")

    @display(description="Run", ordering="id")
    def number(self, run: RetentionRun) -> str:
        return f"#{run.pk}"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("tenant")


@admin.register(PrivacyRequest)
class PrivacyRequestAdmin(OperatorAdmin):
    heading = "Requests of people"
    list_display = ("number", "tenant", "kind", "state", "created_at", "due_at", "completed_at", "handled_by")
    list_filter = ("kind", "state", "tenant")
    fields = (
        "tenant", "end_user_id", "kind", "state", "created_at", "requested_by", "due_at", "started_at", "completed_at",
        "handled_by", "attempts", "error", "records", "evidence",
    )  # fmt: skip

    @display(description="Request", ordering="id")
    def number(self, request: PrivacyRequest) -> str:
        return f"#{request.pk}"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("tenant")
