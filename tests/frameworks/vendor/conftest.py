"""The vendor's published adapters, unmodified, told where this server is by the two variables that they read."""

import os
from uuid import uuid4

import pytest

from tests.running import Up

# CrewAI would report to its vendor, and wait for that at the end.  It reads this when it is imported.
os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"}


@pytest.fixture
def user_id(served: Up, monkeypatch: pytest.MonkeyPatch) -> str:
    """A new end user.  Keys without projects:read use the namespace "default", as keys with it the tenant's own."""
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("MEMORYSYNC_BASE_URL", served.ready["url"])
    monkeypatch.setenv("MEMORYSYNC_API_KEY", served.ready["keys"]["production"])
    return f"user-{uuid4().hex}"
