"""The form of a webhook endpoint."""

from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator

from apps.webhooks.events import TYPES
from apps.webhooks.retry_policy import RETRY_DEFAULTS
from apps.webhooks.services import BOUNDS, MOST_URL, SIGNATURE_DEFAULTS

ALGORITHMS: Final = (("hmac-sha256", "HMAC-SHA256"), ("hmac-sha512", "HMAC-SHA512"))


class WebhookForm(forms.Form):
    """The settings of an endpoint; the service validates them."""

    name = forms.CharField(max_length=128, label="Name")
    url = forms.CharField(
        max_length=MOST_URL,
        label="Address",
        widget=forms.TextInput({"inputmode": "url", "autocomplete": "off"}),
    )
    description = forms.CharField(max_length=500, required=False, label="Description")
    events = forms.MultipleChoiceField(
        choices=[(one, one) for one in TYPES], error_messages={"required": "Choose at least one event."}
    )
    retry_enabled = forms.BooleanField(required=False, label="Retry failed deliveries")
    max_retries = forms.IntegerField(label="Maximum retries")
    initial_delay_seconds = forms.IntegerField(label="Initial delay (seconds)")
    max_delay_seconds = forms.IntegerField(label="Maximum delay (seconds)")
    backoff_multiplier = forms.FloatField(label="Backoff factor")
    retry_status_codes = forms.CharField(max_length=256, label="Status codes to retry")
    signature_algorithm = forms.ChoiceField(choices=ALGORITHMS, label="Algorithm")
    signature_header = forms.CharField(max_length=64, label="Signature header")
    timestamp_header = forms.CharField(max_length=64, label="Timestamp header")
    signature_tolerance = forms.IntegerField(label="Timestamp tolerance (seconds)")

    def __init__(self, data: Any = None, *, initial: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, initial={**RETRY_DEFAULTS, **SIGNATURE_DEFAULTS, **(initial or {})})
        self.initial["retry_status_codes"] = ", ".join(self.initial["retry_status_codes"])
        for name, (least, most) in BOUNDS.items():
            field = self.fields[name]
            field.validators = [*field.validators, MinValueValidator(least), MaxValueValidator(most)]
            field.widget.attrs |= {"min": least, "max": most}
        self.fields["backoff_multiplier"].widget.attrs["step"] = "0.5"

    @property
    def chosen(self) -> set[str]:
        data: Any = self.data
        return set(data.getlist("events") if self.is_bound else self.initial.get("events", ()))

    @property
    def retry(self) -> dict[str, Any]:
        codes = [one.strip() for one in self.cleaned_data["retry_status_codes"].split(",") if one.strip()]
        return {name: self.cleaned_data[name] for name in RETRY_DEFAULTS} | {"retry_status_codes": codes}

    @property
    def signature(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in SIGNATURE_DEFAULTS}

    @property
    def advanced(self) -> list[Any]:
        return [self[name] for name in (*RETRY_DEFAULTS, *SIGNATURE_DEFAULTS)]

    @property
    def has_advanced_errors(self) -> bool:
        return any(field.errors for field in self.advanced)
