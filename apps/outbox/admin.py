"""Outbox: operators retry work that failed."""

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponseRedirect
from django.utils import timezone

from apps.audit.admin import TenantRowsAdmin
from apps.core.admin import (
    Answer,
    ConfirmForm,
    action,
    actor,
    display,
)  # fmt: skip
from apps.outbox.leases import MOST_LOST
from apps.outbox.models import OutboxEvent
from apps.outbox.services import try_again


@admin.register(OutboxEvent)
class OutboxEventAdmin(TenantRowsAdmin):
    """Open work: events are deleted when done."""

    heading = "Outbox"
    list_display = ("kind", "subject_id", "tenant", "state", "attempts", "lost", "error", "run_after", "created_at")
    list_filter = ("kind",)
    search_fields = ("=kind", "=subject_id", "=error")
    ordering = ("run_after", "id")
    fields = ("kind", "subject_id", "tenant", "state", "attempts", "lost", "error", "run_after", "leased_until",
              "asked_again", "created_at")  # fmt: skip

    actions_detail = ("replay",)

    def is_offered(self, name: str, row: OutboxEvent) -> bool:
        return bool(row.error) and row.token is None

    @action(description="Try again now", url_path="replay", icon="replay", permissions=["operate"])
    def replay(self, request: HttpRequest, object_id: str) -> Answer:
        work = self.found(request, object_id)
        if request.method == "POST":
            if try_again(work, work.pk, actor=actor(request), now=timezone.now()):
                self.message_user(request, "It is retried within seconds.", messages.SUCCESS)
            else:
                self.message_user(request, "It is done already or running at the moment.", messages.WARNING)
            return HttpResponseRedirect(self.list_url())
        return self.form_page(
            request,
            ConfirmForm(),
            title=f"Try {work.kind} of {work.subject_id} again",
            explanation=_why(work) + " It is retried now; if it fails again, the waits start short again.",
            submit="Try again now",
            back=self.row_url(work.pk),
        )

    @display(
        description="State",
        label={"due": "info", "waiting": None, "running": "success", "failing": "danger", "set aside": "danger"},
    )
    def state(self, row: OutboxEvent) -> str:
        if row.token is not None:
            return "running"
        if row.lost >= MOST_LOST:
            return "set aside"
        if row.error:
            return "failing"
        return "due" if row.run_after <= timezone.now() else "waiting"


def _why(work: OutboxEvent) -> str:
    if work.lost >= MOST_LOST:
        return f"It crashed {work.lost} workers ({work.error}) and was set aside: it is retried once a day."
    return f"It failed {work.attempts} times ({work.error}); each wait is longer than the last."
