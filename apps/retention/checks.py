"""System checks of the deployment's retention settings.  Ids: memsync.E030 to E039."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import Error, register

from apps.policies.retention import BOUNDS


@register()
def check_default(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[Error]:
    """Check that the settings are in range: a negative number would delete everything immediately."""
    settings_of = {
        "RETENTION_DAYS": (BOUNDS["active_days"][1], "keeps memories for good"),
        "RETENTION_ARCHIVE_DAYS": (BOUNDS["archive_days"][1], "archives nothing"),
    }
    return [
        Error(f"{name} is not a number of days.", hint=f"0 to {most:,} are; 0 {zero}.", id="memsync.E030")
        for name, (most, zero) in settings_of.items()
        if not 0 <= getattr(settings, name) <= most
    ]
