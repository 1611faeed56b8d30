"""The list of routes.  No trailing slashes, because the published client cannot follow a redirect; literals before ids.

Each route has its row in tests/api/test_access.py.
"""

from django.urls import path

from apps.api.health import HealthView
from apps.api.memory.add import AddView
from apps.api.memory.bulk_add import BulkAddView
from apps.api.memory.forget import ForgetView
from apps.api.memory.items import MemoryView
from apps.api.memory.query import QueryView, RetrieveView
from apps.api.memory.refresh import RefreshView
from apps.api.reference import DocsView, SchemaView
from apps.api.v1.audit import EventsView
from apps.api.v1.status import StatusView

urlpatterns = [
    path("health", HealthView.as_view()),
    path("openapi.json", SchemaView.as_view()),
    path("docs", DocsView.as_view()),
    path("memory/add", AddView.as_view()),
    path("memory/bulk-add", BulkAddView.as_view()),
    path("memory/query", QueryView.as_view()),
    path("memory/retrieve", RetrieveView.as_view()),
    path("memory/forget", ForgetView.as_view()),
    path("memory/refresh", RefreshView.as_view()),
    path("memory/<int:memory_id>", MemoryView.as_view()),
    path("v1/audit/events", EventsView.as_view()),
    path("v1/memory/status/<int:memory_id>", StatusView.as_view()),
]
