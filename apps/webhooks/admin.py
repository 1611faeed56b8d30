"""Webhooks in the admin: metadata and status only; no URL, no secret, no payload."""

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.admin import Answer, ConfirmForm, OperatorAdmin, action, actor, display, link
from apps.core.scoping import tenant_transaction
from apps.projects.admin import scope_of
from apps.webhooks.models import WebhookDelivery, WebhookEndpoint
from apps.webhooks.redelivery import GIVEN_UP, redeliver

STATES = {"delivered": "success", "pending": "info", "retrying": "warning", "failed": "danger", "dead_letter": "danger"}


@admin.register(WebhookEndpoint)
class WebhookEndpointAdmin(OperatorAdmin):
    heading = "Webhooks"
    list_display = ("name", "tenant", "environment", "is_enabled", "total_deliveries", "consecutive_failures",
                    "last_status_code", "last_success_at")  # fmt: skip
    list_filter = ("is_enabled", "environment", "tenant")
    list_select_related = ("tenant",)
    search_fields = ("=id",)
    fields = ("name", "tenant", "environment", "project_id", "events", "is_enabled", "secret_prefix",
              "signature_algorithm", "retry_enabled", "max_retries", "total_deliveries", "successful_deliveries",
              "consecutive_failures", "last_triggered_at", "last_success_at", "last_failure_at", "last_error",
              "last_status_code", "created_by", "created_at", "updated_at")  # fmt: skip


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(OperatorAdmin):
    heading = "Webhook deliveries"
    list_display = ("number", "standing", "event_type", "webhook", "status_code", "error", "attempt_number", "tenant",
                    "created_at", "next_retry_at")  # fmt: skip
    list_filter = ("status", "event_type", "tenant")
    list_select_related = ("tenant",)
    search_fields = ("=id", "=endpoint__id")
    fields = ("number", "standing", "event_type", "event_id", "webhook", "status_code", "error", "latency_ms",
              "attempt_number", "max_attempts", "tenant", "created_at", "next_retry_at", "completed_at")  # fmt: skip

    actions_detail = ("replay",)

    def is_offered(self, name: str, row: WebhookDelivery) -> bool:
        return row.status in GIVEN_UP

    @action(description="Send again", url_path="replay", icon="replay", permissions=["operate"])
    def replay(self, request: HttpRequest, object_id: str) -> Answer:
        delivery, now = self.found(request, object_id), timezone.now()
        back = self.row_url(delivery.pk)
        if request.method == "POST":
            scope, target = scope_of(request, delivery.tenant), f"webhook:{delivery.endpoint_id}"
            with tenant_transaction(scope):
                again = redeliver(scope, [delivery.pk], now=now) if delivery.status in GIVEN_UP else []
                if again:
                    record(scope, actor=actor(request), action=AuditAction.WEBHOOK_REPLAY, target=target, now=now)
            if again:
                self.message_user(request, "It is queued again, with a full set of attempts.", messages.SUCCESS)
            else:
                self.message_user(request, "It has not failed, or is being sent at the moment.", messages.WARNING)
            return HttpResponseRedirect(back)
        return self.form_page(
            request,
            ConfirmForm(),
            title=f"Send delivery #{delivery.pk} again",
            explanation="Sends the same event to the same endpoint; receivers detect duplicates by its IDs.",
            submit="Send again",
            back=back,
        )

    @display(description="Delivery", ordering="id")
    def number(self, delivery: WebhookDelivery) -> str:
        return f"#{delivery.pk}"

    @display(description="State", ordering="status", label=STATES)
    def standing(self, delivery: WebhookDelivery) -> str:
        return delivery.status.replace("_", " ")

    @display(description="Webhook")
    def webhook(self, delivery: WebhookDelivery) -> str:
        page = reverse("admin:webhooks_webhookendpoint_change", args=[delivery.endpoint_id])
        return link(f"#{delivery.endpoint_id}", page)
