"""Request and response fields of the webhook routes."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Final

import orjson
from rest_framework import serializers

from apps.api.collection_fields import Labels
from apps.api.fields import Choice, Flag, Label, Text, Whole, WholeInQuery
from apps.api.input_serializers import Input, Parameters
from apps.webhooks import services
from apps.webhooks.deliveries import Delivery, rate
from apps.webhooks.events import TYPES
from apps.webhooks.payloads import hash_of, shown_id
from apps.webhooks.services import OpenedEndpoint

ALGORITHMS: Final = ("hmac-sha256", "hmac-sha512")
STATUSES: Final = ("pending", "retrying", "delivered", "failed", "dead_letter")
_RETRY: Final = {"enabled": "retry_enabled"}
_SIGNATURE: Final = {
    "algorithm": "signature_algorithm",
    "header_name": "signature_header",
    "tolerance_seconds": "signature_tolerance",
}


def _within(column: str) -> dict[str, Any]:
    least, most = services.BOUNDS[column]
    return {"min_value": least, "max_value": most}


class RetryInput(Input):
    """When failed deliveries are retried."""

    enabled = Flag(required=False)
    max_retries = Whole(required=False, **_within("max_retries"))
    initial_delay_seconds = Whole(required=False, **_within("initial_delay_seconds"))
    max_delay_seconds = Whole(required=False, **_within("max_delay_seconds"))
    backoff_multiplier = serializers.FloatField(required=False, **_within("backoff_multiplier"))
    retry_status_codes = Labels(required=False, max_items=64, max_length=3)


class SignatureInput(Input):
    """Signature of deliveries."""

    algorithm = Choice(choices=ALGORITHMS, required=False)
    header_name = Label(required=False, max_length=64)
    timestamp_header = Label(required=False, max_length=64)
    tolerance_seconds = Whole(required=False, **_within("signature_tolerance"))


class UpdateInput(Input):
    name = Label(required=False, max_length=128)
    url = Text(required=False, max_length=services.MOST_URL)
    events = Labels(required=False, choices=TYPES)
    description = Text(required=False, max_length=500, allow_blank=True)
    retry_config = RetryInput(required=False)
    signature_config = SignatureInput(required=False)

    some_of: ClassVar = ("name", "url", "events", "description", "retry_config", "signature_config")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError("at least one field is required")
        return attrs


class CreateInput(Input):
    name = Label(max_length=128)
    url = Text(max_length=services.MOST_URL, help_text="A public https address.")
    events = Labels(choices=TYPES, help_text="At least one.")
    description = Text(required=False, max_length=500, allow_blank=True)
    retry_config = RetryInput(required=False)
    signature_config = SignatureInput(required=False)
    project_id = Label(required=False, max_length=64, help_text="Only events of this project.")


class TestInput(Input):
    event_type = Choice(choices=TYPES, default="memory.created")


class ReplayInput(Input):
    since_minutes = Whole(default=60, min_value=1, max_value=10_080)
    statuses = Labels(default=("failed", "dead_letter"), choices=STATUSES)
    limit = Whole(default=100, min_value=1, max_value=1_000)


class DeliveryPageInput(Parameters):
    page = WholeInQuery(default=1, min_value=1, max_value=1_000_000)
    page_size = WholeInQuery(default=20, min_value=1, max_value=100)
    status_filter = Choice(choices=STATUSES, required=False)


class RecentInput(DeliveryPageInput):
    endpoint_id = WholeInQuery(required=False, min_value=1)


class WebhookOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    url = serializers.CharField()
    description = serializers.CharField(allow_null=True)
    secret_prefix = serializers.CharField()
    events = serializers.ListField(child=serializers.CharField())
    enabled = serializers.BooleanField()
    environment = serializers.CharField()
    signature_algorithm = serializers.ChoiceField(choices=ALGORITHMS)
    signature_header = serializers.CharField()
    timestamp_header = serializers.CharField()
    signature_tolerance = serializers.IntegerField()
    retry_enabled = serializers.BooleanField()
    max_retries = serializers.IntegerField()
    initial_delay_seconds = serializers.IntegerField()
    max_delay_seconds = serializers.IntegerField()
    backoff_multiplier = serializers.FloatField()
    retry_status_codes = serializers.ListField(child=serializers.CharField())
    total_deliveries = serializers.IntegerField()
    successful_deliveries = serializers.IntegerField()
    failed_deliveries = serializers.IntegerField()
    consecutive_failures = serializers.IntegerField()
    success_rate = serializers.FloatField(help_text="Percent; 100 until the first delivery has ended.")
    last_triggered_at = serializers.DateTimeField(allow_null=True)
    last_success_at = serializers.DateTimeField(allow_null=True)
    last_failure_at = serializers.DateTimeField(allow_null=True)
    last_error = serializers.CharField(allow_null=True)
    last_status_code = serializers.IntegerField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    created_by_name = serializers.CharField(allow_null=True)
    project_id = serializers.CharField(allow_null=True)


class CreatedWebhookOutput(WebhookOutput):
    secret = serializers.CharField(help_text="Shown only once.")


class WebhooksOutput(serializers.Serializer[Any]):
    endpoints = WebhookOutput(many=True)
    total_endpoints = serializers.IntegerField()
    active_endpoints = serializers.IntegerField()
    total_deliveries = serializers.IntegerField()
    avg_success_rate = serializers.FloatField()
    failing_endpoints = serializers.IntegerField()


class AttemptOutput(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    status_code = serializers.IntegerField(allow_null=True)
    latency_ms = serializers.IntegerField()
    error = serializers.CharField()


class DeliveryOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    endpoint_id = serializers.IntegerField()
    event_type = serializers.CharField()
    event_id = serializers.CharField()
    status = serializers.ChoiceField(choices=STATUSES)
    payload = serializers.DictField()
    payload_hash = serializers.CharField(help_text="SHA-256 of the body, in hex.")
    signature = serializers.CharField(allow_null=True, help_text="Of the last attempt.")
    status_code = serializers.IntegerField(allow_null=True)
    response_body = serializers.CharField(allow_null=True, help_text="The first 1,024 bytes of the last response.")
    error_message = serializers.CharField(allow_null=True)
    latency_ms = serializers.IntegerField(allow_null=True)
    attempt_number = serializers.IntegerField()
    max_attempts = serializers.IntegerField()
    attempts = AttemptOutput(many=True)
    next_retry_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    completed_at = serializers.DateTimeField(allow_null=True)


class DeliveriesOutput(serializers.Serializer[Any]):
    deliveries = DeliveryOutput(many=True)
    total = serializers.IntegerField()
    page = serializers.IntegerField()
    page_size = serializers.IntegerField()


class TestedOutput(serializers.Serializer[Any]):
    delivery_id = serializers.IntegerField()
    event_id = serializers.CharField()
    event_type = serializers.CharField()
    endpoint_id = serializers.IntegerField()
    status = serializers.ChoiceField(choices=STATUSES)
    payload = serializers.DictField()
    message = serializers.CharField()


class ReplayedOutput(serializers.Serializer[Any]):
    endpoint_id = serializers.IntegerField()
    eligible = serializers.IntegerField()
    replayed = serializers.IntegerField()
    skipped = serializers.IntegerField()
    delivery_ids = serializers.ListField(child=serializers.IntegerField())


class EventTypesOutput(serializers.Serializer[Any]):
    event_types = serializers.ListField(child=serializers.CharField())
    categories = serializers.DictField(child=serializers.ListField(child=serializers.CharField()))


class WebhookHealthOutput(serializers.Serializer[Any]):
    active_webhooks = serializers.IntegerField()
    total_webhooks = serializers.IntegerField()
    total_deliveries_all_time = serializers.IntegerField()
    total_deliveries_24h = serializers.IntegerField()
    success_rate_7d = serializers.FloatField(help_text="Percent; 100 if nothing was delivered.")
    failing_endpoints = serializers.IntegerField()
    pending_retries = serializers.IntegerField()
    dead_letter_count = serializers.IntegerField()


def retry_policy(fields: Mapping[str, Any]) -> dict[str, Any]:
    given = {_RETRY.get(name, name): value for name, value in fields.get("retry_config", {}).items()}
    if "retry_status_codes" in given:
        given["retry_status_codes"] = list(given["retry_status_codes"])
    return given


def signature_policy(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {_SIGNATURE.get(name, name): value for name, value in fields.get("signature_config", {}).items()}


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def webhook_body(one: OpenedEndpoint) -> dict[str, Any]:
    row = one.row
    return {
        "id": row.pk,
        "name": row.name,
        "url": one.url,
        "description": one.description,
        "secret_prefix": row.secret_prefix,
        "events": row.events,
        "enabled": row.is_enabled,
        "environment": row.environment,
        "signature_algorithm": row.signature_algorithm,
        "signature_header": row.signature_header,
        "timestamp_header": row.timestamp_header,
        "signature_tolerance": row.signature_tolerance,
        "retry_enabled": row.retry_enabled,
        "max_retries": row.max_retries,
        "initial_delay_seconds": row.initial_delay_seconds,
        "max_delay_seconds": row.max_delay_seconds,
        "backoff_multiplier": row.backoff_multiplier,
        "retry_status_codes": row.retry_status_codes,
        "total_deliveries": row.total_deliveries,
        "successful_deliveries": row.successful_deliveries,
        "failed_deliveries": row.total_deliveries - row.successful_deliveries,
        "consecutive_failures": row.consecutive_failures,
        "success_rate": rate(row.successful_deliveries, row.total_deliveries),
        "last_triggered_at": _time(row.last_triggered_at),
        "last_success_at": _time(row.last_success_at),
        "last_failure_at": _time(row.last_failure_at),
        "last_error": row.last_error or None,
        "last_status_code": row.last_status_code,
        "created_at": _time(row.created_at),
        "updated_at": _time(row.updated_at),
        "created_by_name": row.created_by,
        "project_id": one.project,
    }


def created_body(one: OpenedEndpoint) -> dict[str, Any]:
    return webhook_body(one) | {"secret": one.secret}


def delivery_body(one: Delivery) -> dict[str, Any]:
    row = one.row
    return {
        "id": row.pk,
        "endpoint_id": row.endpoint_id,
        "event_type": row.event_type,
        "event_id": shown_id(row.event_id),
        "status": row.status,
        "payload": orjson.loads(row.payload),
        "payload_hash": hash_of(row.payload),
        "signature": row.signature or None,
        "status_code": row.status_code,
        "response_body": one.response,
        "error_message": row.error or None,
        "latency_ms": row.latency_ms,
        "attempt_number": row.attempt_number,
        "max_attempts": row.max_attempts,
        "attempts": row.attempts,
        "next_retry_at": _time(row.next_retry_at),
        "created_at": _time(row.created_at),
        "completed_at": _time(row.completed_at),
    }
