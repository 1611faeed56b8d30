"""Webhook endpoints, events, and deliveries."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from apps.core.fields import EncryptedField
from apps.core.scoping import ScopedManager, ScopedModel

# Names bound into the encryption.
URL, DESCRIPTION, SECRET, FORMER = "webhook.url", "webhook.description", "webhook.secret", "webhook.former"
RESPONSE = "webhook.response"
ENDPOINTS, DELIVERIES = "webhook", "webhook delivery"  # the tables' names in the quarantine


class Algorithm(models.TextChoices):
    SHA256 = "hmac-sha256"
    SHA512 = "hmac-sha512"


class DeliveryStatus(models.TextChoices):
    """retrying: it failed and will be retried.  failed: it failed and the endpoint allows no retry.  dead_letter: every
    retry failed, or the receiver refused further deliveries."""

    PENDING = "pending"
    RETRYING = "retrying"
    DELIVERED = "delivered"
    FAILED = "failed"
    DEAD_LETTER = "dead_letter"


OPEN = (DeliveryStatus.PENDING, DeliveryStatus.RETRYING)


class WebhookEndpoint(ScopedModel):
    """A URL that receives events of one environment, and of one project if it has one.

    The URL is encrypted, because many contain a token in their path; so are the description and the secrets.
    former_ct: the previous secret, which also signs until ``former_until``.
    """

    environment = models.CharField(max_length=16)
    project_id = models.BigIntegerField(null=True)
    name = models.CharField(max_length=128)
    url_ct = EncryptedField(URL, is_revised=True)
    description_ct = EncryptedField(DESCRIPTION, is_revised=True, null=True)
    secret_ct = EncryptedField(SECRET, is_revised=True)
    former_ct = EncryptedField(FORMER, is_revised=True, null=True)
    former_until = models.DateTimeField(null=True)
    revision = models.IntegerField(default=0, help_text="Of all that is sealed; bound into the seals.")
    key_version = models.IntegerField()
    secret_prefix = models.CharField(max_length=16)
    events = ArrayField(models.CharField(max_length=32))
    is_enabled = models.BooleanField(default=True)
    signature_algorithm = models.CharField(max_length=16, choices=Algorithm)
    signature_header = models.CharField(max_length=64)
    timestamp_header = models.CharField(max_length=64)
    signature_tolerance = models.IntegerField()
    retry_enabled = models.BooleanField()
    max_retries = models.IntegerField()
    initial_delay_seconds = models.IntegerField()
    max_delay_seconds = models.IntegerField()
    backoff_multiplier = models.FloatField()
    retry_status_codes = ArrayField(models.CharField(max_length=3))
    created_by = models.CharField(max_length=64)
    updated_at = models.DateTimeField()
    total_deliveries = models.BigIntegerField(default=0, help_text="That ended.")
    successful_deliveries = models.BigIntegerField(default=0)
    consecutive_failures = models.IntegerField(default=0, help_text="Attempts, since the last that went well.")
    last_triggered_at = models.DateTimeField(null=True)
    last_success_at = models.DateTimeField(null=True)
    last_failure_at = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=32, blank=True)
    last_status_code = models.IntegerField(null=True)

    objects = ScopedManager["WebhookEndpoint"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.UniqueConstraint(fields=("tenant", "id"), name="webhook_endpoint_in_tenant"),
            models.CheckConstraint(
                condition=models.Q(signature_algorithm__in=Algorithm.values), name="webhook_endpoint_algorithm"
            ),
        )
        indexes = (models.Index(fields=("tenant", "key_version", "id"), name="webhook_endpoint_key_version"),)

    def __str__(self) -> str:
        return f"webhook {self.pk}"


class WebhookEvent(ScopedModel):
    """An event that an endpoint subscribes to, or of a tenant with listeners.  A trigger writes it in the transaction
    of the change.  It holds ids and states, never content.

    It is deleted once each subscribed endpoint has a delivery of it; after EVENT_HOURS if the tenant's log is recorded.
    environment: blank if the event belongs to none.  position: its place in the tenant's log (``event_log``), None
    until it has one.
    """

    space = models.ForeignKey(
        "projects.Space", models.CASCADE, null=True, related_name="+", db_constraint=False, db_index=False
    )
    type = models.CharField(max_length=32)
    environment = models.CharField(max_length=16, blank=True)
    project_id = models.BigIntegerField(null=True)
    memory_ids = ArrayField(models.BigIntegerField())
    data = models.JSONField()
    position = models.BigIntegerField(null=True)

    objects = ScopedManager["WebhookEvent"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "position"),
                condition=models.Q(position__isnull=False),
                name="webhook_event_position",
            ),
        )
        indexes = (
            models.Index(fields=("tenant", "space"), name="webhook_event_space"),
            models.Index(
                fields=("tenant", "id"), condition=models.Q(position__isnull=True), name="webhook_event_unnumbered"
            ),
        )

    def __str__(self) -> str:
        return f"{self.type} {self.pk}"


class EventLog(ScopedModel):
    """The log of a tenant's events, which listeners read and may read again (``event_log``).

    position: of the last event that has one.  dropped: events up to this position are not kept any more.  is_recording:
    whether events are written although no endpoint subscribes to them; until no client has listened for EVENT_HOURS.
    listened_at: when a client last did, to the hour.
    """

    position = models.BigIntegerField(default=0)
    dropped = models.BigIntegerField(default=0)
    is_recording = models.BooleanField(default=True)
    listened_at = models.DateTimeField()

    objects = ScopedManager["EventLog"]()

    class Meta(ScopedModel.Meta):
        constraints = (models.UniqueConstraint(fields=("tenant",), name="webhook_event_log_of_tenant"),)

    def __str__(self) -> str:
        return f"event log at {self.position}"


class WebhookDelivery(ScopedModel):
    """One event for one endpoint.  It is deleted with its space and with the memories that it names.

    event_id: the same for every endpoint and attempt.  payload: the request body; ids and states.  leased_until: end of
    the lease of the worker that is sending it.  attempts: time, status, milliseconds and error of each attempt.
    response_ct: the beginning of the last response, encrypted under the space's key, or the tenant's if there is no
    space.
    """

    endpoint = models.ForeignKey(WebhookEndpoint, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    space = models.ForeignKey(
        "projects.Space", models.CASCADE, null=True, related_name="+", db_constraint=False, db_index=False
    )
    memory_ids = ArrayField(models.BigIntegerField())
    event_id = models.UUIDField()
    event_type = models.CharField(max_length=32)
    payload = models.TextField()
    status = models.CharField(max_length=12, choices=DeliveryStatus, default=DeliveryStatus.PENDING)
    attempt_number = models.IntegerField(default=0)
    max_attempts = models.IntegerField()
    next_retry_at = models.DateTimeField(null=True)
    leased_until = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)
    status_code = models.IntegerField(null=True)
    latency_ms = models.IntegerField(null=True)
    error = models.CharField(max_length=32, blank=True)
    signature = models.CharField(max_length=144, blank=True)
    attempts = models.JSONField(default=list)
    response_ct = EncryptedField(RESPONSE, null=True)
    key_version = models.IntegerField(null=True)

    objects = ScopedManager["WebhookDelivery"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.CheckConstraint(
                condition=models.Q(status__in=DeliveryStatus.values), name="webhook_delivery_status"
            ),
        )
        indexes = (
            models.Index(fields=("tenant", "endpoint", "-id"), name="webhook_delivery_newest"),
            models.Index(fields=("tenant", "space"), name="webhook_delivery_space"),
            models.Index(
                fields=("tenant", "endpoint", "leased_until"),
                condition=models.Q(leased_until__isnull=False),
                name="webhook_delivery_leased",
            ),
            models.Index(
                fields=("tenant", "key_version", "id"),
                condition=models.Q(key_version__isnull=False),
                name="webhook_delivery_key_version",
            ),
        )

    def __str__(self) -> str:
        return f"{self.event_type} to {self.endpoint_id}"
