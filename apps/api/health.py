"""GET /health: whether the server and its dependencies work."""

import logging
import time
from collections.abc import Callable
from typing import Any, ClassVar, Final

from django.core.cache import cache
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.operations import operation
from apps.api.permissions import OPEN
from apps.api.views import OpenView
from apps.core.queries import fetch_value
from apps.crypto.inspection import first_foreign_key

KEYRING_SECONDS: Final = 10.0

logger = logging.getLogger(__name__)
_keyring_works: dict[str, float] = {}  # "until": a time of the monotonic clock


class HealthOutput(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=["ok", "degraded"])
    db = serializers.CharField(help_text="`healthy` or `unhealthy`, like the others.")
    vector_db = serializers.CharField()
    cache = serializers.CharField()
    keyring = serializers.CharField(help_text="The keys: their database, and the provider that unwraps them.")


class HealthView(OpenView):
    permissions: ClassVar = {"GET": OPEN}

    @operation("health", responses=HealthOutput, auth=[])
    def get(self, request: Request) -> Response:
        """Whether the database, its vector extension, the cache and the keys work.  Always 200: the body says."""
        parts = {
            "db": _works(_ask_database),
            "vector_db": _works(_ask_vectors),
            "cache": _works(_ask_cache),
            "keyring": _works(_ask_keyring),
        }
        status = "ok" if all(part == "healthy" for part in parts.values()) else "degraded"
        return Response({"status": status, **parts})


def _works(ask: Callable[[], bool]) -> str:
    try:
        healthy = ask()
    except Exception as error:  # noqa: BLE001  whatever is wrong with a part, the answer is that it is unhealthy
        logger.warning("a part is unhealthy", extra={"component": ask.__name__, "error": type(error).__name__})
        healthy = False
    return "healthy" if healthy else "unhealthy"


def _ask_database() -> bool:
    return _row("select true")


def _ask_vectors() -> bool:
    return _row("select '[1,2]'::vector <-> '[1,2]'::vector = 0")


def _row(sql: str) -> bool:
    return bool(fetch_value(sql))


def _ask_cache() -> bool:
    cache.set("memsync.health", "1", timeout=5)
    return bool(cache.get("memsync.health") == "1")


def _ask_keyring() -> bool:
    """Whether keys unwrap.  That they do is remembered for KEYRING_SECONDS: a key service may cost time and money."""
    if time.monotonic() >= _keyring_works.get("until", 0.0):
        if first_foreign_key() is not None:
            return False
        _keyring_works["until"] = time.monotonic() + KEYRING_SECONDS
    return True
