"""Read-only list of all tenants' grants, to find those that wait for a second operator.  Decisions: in the console."""

from django.contrib import admin
from django.urls import reverse
from django.utils import timezone

from apps.breakglass.models import Grant, GrantStatus
from apps.core.admin import OperatorAdmin, display, link

LABELS = {
    GrantStatus.WAITS_FOR_OPERATOR: "warning",
    GrantStatus.WAITS_FOR_TENANT: "warning",
    GrantStatus.OPEN: "danger",
    GrantStatus.REFUSED: "info",
    GrantStatus.OVER: "info",
    GrantStatus.ENDED: "info",
    GrantStatus.LAPSED: "info",
}


@admin.register(Grant)
class GrantAdmin(OperatorAdmin):
    heading = "Break-glass grants"
    list_display = ("number", "state", "tenant", "space", "asker", "ticket", "opened", "created_at", "ends_at")
    list_filter = ("tenant",)
    list_select_related = ("tenant", "space")
    search_fields = ("=ticket",)
    fields = (
        "state", "tenant", "space", "reason", "ticket", "asker", "created_at", "waits_until", "second", "approved_at",
        "owner", "allowed_at", "opened_at", "ends_at", "closed_by", "closed_at", "opened", "opened_ids", "page",
    )  # fmt: skip

    @display(description="Grant", ordering="id")
    def number(self, grant: Grant) -> str:
        return f"#{grant.pk}"

    @display(description="State", label=LABELS)
    def state(self, grant: Grant) -> str:
        return grant.standing(now=timezone.now())

    @display(description="Requested by")
    def asker(self, grant: Grant) -> str:
        return _person(grant.asked_by)

    @display(description="Approved by")
    def second(self, grant: Grant) -> str:
        return _person(grant.approved_by)

    @display(description="Allowed by")
    def owner(self, grant: Grant) -> str:
        return _person(grant.allowed_by)

    @display(description="Opened")
    def opened(self, grant: Grant) -> int:
        return len(grant.opened_ids)

    @display(description="Approve, read, end")
    def page(self, grant: Grant) -> str:
        return link("In the console", reverse("web_break_glass", args=[grant.tenant.name, grant.pk]))


def _person(person_id: int | None) -> str:
    return link(f"person {person_id}", reverse("admin:accounts_user_change", args=[person_id])) if person_id else "–"
