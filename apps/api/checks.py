"""System checks of the settings that the API requires."""

from collections.abc import Sequence
from typing import Any, Final

from django.conf import settings
from django.core.checks import Error, register

from apps.apikeys.rate_limits import TIERS

FIRST: Final = "apps.api.middleware.RequestIdMiddleware"
DENYING: Final = ["apps.api.permissions.DenyByDefault"]


@register()
def check_settings(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[Error]:
    held = {
        "E101": (
            settings.RATE_LIMIT_TIER in TIERS,
            "RATE_LIMIT_TIER names no tier.",
            f"Set it to one of: {', '.join(TIERS)}.",
        ),
        "E102": (
            not settings.APPEND_SLASH,
            "APPEND_SLASH is on, and the published client crashes on a redirect.",
            "Set APPEND_SLASH = False.",
        ),
        "E103": (
            settings.MIDDLEWARE[0] == FIRST,
            "Another middleware comes before the one that numbers, logs and shapes every answer.",
            f"Put {FIRST} first in MIDDLEWARE.",
        ),
        "E104": (
            settings.REST_FRAMEWORK.get("DEFAULT_PERMISSION_CLASSES") == DENYING,
            "A view that forgets to say who may call it would admit callers without permission.",
            f"Set REST_FRAMEWORK['DEFAULT_PERMISSION_CLASSES'] = {DENYING}.",
        ),
    }
    return [Error(what, hint=fix, id=f"memsync.{name}") for name, (holds, what, fix) in held.items() if not holds]
