"""Retention policies, read-only."""

from django.contrib import admin

from apps.core.admin import OperatorAdmin, display
from apps.policies.models import RULES, RetentionPolicy


@admin.register(RetentionPolicy)
class RetentionPolicyAdmin(OperatorAdmin):
    heading = "Retention policies"
    list_display = ("whose", "tenant", "says", "revision", "updated_at", "updated_by")
    list_filter = ("level", "tenant")
    list_select_related = ("tenant",)
    fields = ("whose", "tenant", *RULES, "revision", "created_at", "updated_at", "updated_by")

    @display(description="Level")
    def whose(self, policy: RetentionPolicy) -> str:
        target = policy.project_id or policy.namespace_id or policy.space_id
        return f"{policy.level} {target}" if target else str(policy.level)

    @display(description="Says")
    def says(self, policy: RetentionPolicy) -> str:
        said = ((name, getattr(policy, name)) for name in RULES)
        return ", ".join(f"{name} {value}" for name, value in said if value is not None)
