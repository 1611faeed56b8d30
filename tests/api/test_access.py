"""Who may do what: one row for each route and method.

Every row is tried with a key that may, with one that may not, and with those of strangers (test_strangers.py).  What a
bad credential is answered is decided in one class for all routes, so it is tried on routes of every kind; a test holds
every view to it.
A new route needs a row in ``TABLE``; the first test says so.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.http import HttpResponse
from django.urls import URLPattern, URLResolver, get_resolver

from apps.api import connectors
from apps.api.connectors import READ, WRITE, ConnectorView
from apps.api.mcp.connected import MemoryMcpView
from apps.api.mem0.entities import Mem0EntityView
from apps.api.mem0.memories import Mem0BatchView, Mem0MemoriesView, Mem0MemoryView
from apps.api.mem0.unbuilt import UnbuiltView
from apps.api.memory.forget import ForgetView, PurgeView
from apps.api.permissions import OPEN, PERSON, HasPermission
from apps.api.platform.memories import PlatformMemoriesView, PlatformMemoryView
from apps.api.profiles.base import ProfileView
from apps.api.profiles.memories import TypedMemoryView
from apps.api.v1.connectors import DocumentConnectorView
from apps.api.v1.objects import ObjectView
from apps.api.views import ApiView, ControlView, OpenView, PersonView
from apps.apikeys import services, tokens
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT, PERMISSIONS
from apps.projects.scope import Environment
from apps.tenants.members import give_role
from apps.tenants.services import close_tenant, set_policy
from tests import once
from tests.api.conftest import Caller
from tests.api.people import OF_PEOPLE
from tests.forms import form
from tests.makers import make_api_key

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

TEXT = "The spare key lies under the blue flower pot."
MEMORY_ID = "<memory_id>"  # in a row's body: the memory that is asked for
IMPORT = form(b'{"text": "The attic light switch is behind the door."}', "memories.jsonl")
UPLOAD = form(TEXT.encode(), deduplicate="false")


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one route answers to one method.

    status: to the right key.  stranger: to a good key that does not reach the memory, be it of another tenant, another
    environment, or asking for another end user.  body: what is sent, if anything; form: a form and its content type.
    denied: the code for a key that lacks the permission.  varying: keys of the body that differ between two answers.
    """

    route: str
    method: str
    permission: str
    status: int
    stranger: int
    body: Mapping[str, Any] | None = None
    form: tuple[bytes, str] | None = None
    denied: str = "INSUFFICIENT_SCOPE"
    varying: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.method} {self.route}"


CALLER = "the caller's own"
NAMED = {"tenant_id": "acme", "user_id": CALLER}  # of a route whose requests name the end user in the body

TYPED = {"type": "event", "summary": "bought a lamp", "content": {"item": "lamp"}}

TABLE = (
    Row(route="/health", method="GET", permission=OPEN, status=200, stranger=200),
    Row(route="/openapi.json", method="GET", permission=OPEN, status=200, stranger=200),
    Row(route="/docs", method="GET", permission=OPEN, status=200, stranger=200),
    # OAuth is off: tests/mcp/test_oauth.py has it on.
    *(
        Row(route=f"/.well-known/{path}", method="GET", permission=OPEN, status=404, stranger=404)
        for path in (
            "oauth-protected-resource",
            "oauth-protected-resource/v1/mcp",
            "oauth-protected-resource/mcp",
            "oauth-authorization-server",
            "openid-configuration",
        )
    ),
    # Of no known user: tests/api/test_bearer.py has users who are known.
    Row(
        route="/auth/signup",
        method="POST",
        permission=OPEN,
        body={"email": "new@acme.example", "password": "correct horse battery", "organization_name": "New"},
        status=403,
        stranger=403,
    ),
    Row(
        route="/auth/login",
        method="POST",
        permission=OPEN,
        body={"email": "nobody@acme.example", "password": "not a password"},
        status=401,
        stranger=401,
    ),
    Row(
        route="/auth/mfa/complete",
        method="POST",
        permission=OPEN,
        body={"mfa_token": "none", "code": "123456"},
        status=401,
        stranger=401,
    ),
    Row(
        route="/auth/refresh",
        method="POST",
        permission=OPEN,
        body={"refresh_token": "none"},
        status=401,
        stranger=401,
    ),
    Row(
        route="/auth/logout",
        method="POST",
        permission=OPEN,
        body={"refresh_token": "none"},
        status=204,
        stranger=204,
    ),
    Row(
        route="/memory/add",
        method="POST",
        permission="memory:add",
        body={"text": TEXT, "importance": 0.6, "deduplicate": False},
        status=201,
        stranger=201,
    ),
    Row(
        route="/memory/bulk-add",
        method="POST",
        permission="memory:add",
        body={"items": [{"text": TEXT, "importance": 0.6}], "deduplicate": False},
        status=207,
        stranger=207,
    ),
    Row(
        route="/memory/upload",
        method="POST",
        permission="memory:add",
        form=UPLOAD,
        status=201,
        stranger=201,
    ),
    Row(
        route="/memory/query",
        method="POST",
        permission="memory:read",
        body={"query": TEXT},
        status=200,
        stranger=200,
        varying=("query_id", "latency_ms"),
    ),
    Row(
        route="/memory/retrieve",
        method="POST",
        permission="memory:read",
        body={"query": TEXT},
        status=200,
        stranger=200,
        varying=("query_id", "latency_ms"),
    ),
    Row(
        route="/memory/search/routed",
        method="POST",
        permission="memory:read",
        body={"query": TEXT},
        status=200,
        stranger=200,
        varying=("query_id", "latency_ms"),
    ),
    Row(
        route="/memory/intelligence",
        method="GET",
        permission="memory:read",
        status=200,
        stranger=200,
        varying=("generated_at",),
    ),
    Row(
        route="/memory/summarize",
        method="POST",
        permission="memory:add",
        body={"memory_ids": [2**53 - 2]},
        status=404,
        stranger=404,
    ),
    Row(route="/memory/clusters", method="GET", permission="memory:read", status=200, stranger=200),
    Row(route="/memory/knowledge/stats", method="GET", permission="memory:read", status=200, stranger=200),
    Row(
        route="/memory/compose",
        method="POST",
        permission="memory:read",
        body={"prompt_template": "Where is the key? {memories}"},
        status=200,
        stranger=200,
    ),
    Row(
        route="/memory/synthesize",
        method="POST",
        permission="memory:read",
        body={"query": "Where is the key?"},
        status=200,
        stranger=200,
    ),
    Row(
        route="/memory/forget",
        method="DELETE",
        permission="memory:delete",
        body={"memory_ids": [1]},
        status=403,
        stranger=403,
        denied="STEP_UP_REQUIRED",
    ),
    Row(
        route="/memory/batch-update",
        method="POST",
        permission="memory:update",
        body={"items": [{"memory_id": MEMORY_ID, "tags": ["moved"]}]},
        status=207,
        stranger=207,
        varying=("results",),
    ),
    Row(
        route="/memory/<int:memory_id>",
        method="PATCH",
        permission="memory:update",
        body={"tags": ["moved"]},
        status=200,
        stranger=404,
    ),
    Row(
        route="/memory/export",
        method="GET",
        permission="memory:read",
        status=200,
        stranger=200,
        varying=("generated_at",),
    ),
    Row(
        route="/memory/<int:memory_id>/feedback",
        method="POST",
        permission="memory:update",
        body={"signal": "positive"},
        status=200,
        stranger=404,
    ),
    Row(route="/memory/<int:memory_id>/history", method="GET", permission="memory:read", status=200, stranger=404),
    Row(
        route="/memory/user/purge",
        method="DELETE",
        permission="memory:delete",
        status=403,
        stranger=403,
        denied="STEP_UP_REQUIRED",
    ),
    Row(
        route="/memory/forget-requests",
        method="POST",
        permission="memory:forget_request",
        body={"memory_ids": [MEMORY_ID]},
        status=201,
        stranger=404,
        varying=("id", "memory_ids", "created_at", "expires_at"),
    ),
    Row(route="/memory/forget-requests", method="GET", permission="memory:forget_request", status=200, stranger=200),
    # No request of this number exists, for any caller: tests/api/test_forgetting.py has those that exist.
    Row(
        route="/memory/forget-requests/<int:request_id>",
        method="GET",
        permission="memory:forget_request",
        status=404,
        stranger=404,
    ),
    Row(
        route="/memory/forget-requests/<int:request_id>/cancel",
        method="POST",
        permission="memory:forget_request",
        status=404,
        stranger=404,
    ),
    Row(route="/memory/refresh", method="POST", permission="memory:update", status=202, stranger=202),
    Row(route="/memory/graph", method="GET", permission="memory:read", status=200, stranger=200),
    Row(route="/memory/decisions", method="GET", permission="memory:read", status=200, stranger=200),
    Row(
        route="/memory/decision/resolve",
        method="POST",
        permission="memory:update",
        body={"decision_id": "dec_1"},
        status=404,
        stranger=404,
    ),
    Row(route="/v1/types", method="GET", permission="memory:read", status=200, stranger=200),
    Row(
        route="/v1/types",
        method="POST",
        permission="ontology:write",
        body={"name": "pot", "rules": [{"words": ["flower pot"]}]},
        status=202,
        stranger=403,
    ),
    Row(
        route="/v1/types/<str:name>/split",
        method="POST",
        permission="ontology:write",
        body={"sources": ["fact"], "rules": [{"words": ["flower pot"]}]},
        status=422,
        stranger=403,
    ),
    Row(
        route="/v1/types/<str:name>/sunset",
        method="POST",
        permission="ontology:write",
        body={"into": "fact"},
        status=404,
        stranger=403,
    ),
    Row(
        route="/v1/types/changes/<int:change_id>",
        method="GET",
        permission="ontology:write",
        status=404,
        stranger=403,
    ),
    Row(
        route="/v1/types/changes/<int:change_id>/undo",
        method="POST",
        permission="ontology:write",
        status=404,
        stranger=403,
    ),
    Row(route="/memory/ontology", method="GET", permission="memory:read", status=200, stranger=200),
    Row(
        route="/memory/ontology",
        method="PUT",
        permission="ontology:write",
        body={"relation_types": ["treats"]},
        status=200,
        stranger=403,
    ),
    Row(route="/memory/<int:memory_id>/relations", method="GET", permission="memory:read", status=200, stranger=404),
    Row(
        route="/memory/<int:memory_id>/relations",
        method="POST",
        permission="memory:update",
        body={"to_memory_id": 2**53, "relationship_type": "supports"},
        status=404,
        stranger=404,
    ),
    Row(
        route="/memory/<int:memory_id>/relations/<int:edge_id>",
        method="DELETE",
        permission="memory:update",
        status=404,
        stranger=404,
    ),
    Row(route="/memory/<int:memory_id>", method="GET", permission="memory:read", status=200, stranger=404),
    Row(
        route="/imports",
        method="POST",
        permission="imports:write",
        form=IMPORT,
        status=202,
        stranger=202,
        varying=("id", "created_at"),
    ),
    Row(route="/imports", method="GET", permission="imports:read", status=200, stranger=200),
    Row(route="/imports/<str:job_id>", method="GET", permission="imports:read", status=404, stranger=404),
    Row(route="/imports/<str:job_id>/cancel", method="POST", permission="imports:write", status=404, stranger=404),
    Row(
        route="/exports",
        method="POST",
        permission="exports:write",
        body={"format": "jsonl"},
        status=202,
        stranger=403,
    ),
    Row(route="/exports", method="GET", permission="exports:read", status=200, stranger=403),
    # No export of this name exists, for any caller: tests/api/test_exports.py has those that exist.
    Row(route="/exports/<str:job_id>", method="GET", permission="exports:read", status=404, stranger=403),
    Row(route="/exports/<str:job_id>/cancel", method="POST", permission="exports:write", status=404, stranger=403),
    Row(route="/exports/<str:job_id>/retry", method="POST", permission="exports:write", status=404, stranger=403),
    Row(route="/exports/<str:job_id>/download-url", method="GET", permission="exports:read", status=404, stranger=403),
    Row(route="/exports/<str:job_id>/file/<str:token>", method="GET", permission=OPEN, status=404, stranger=404),
    Row(route="/v1/candidates", method="GET", permission="candidates:review", status=200, stranger=403),
    Row(
        route="/v1/candidates/bulk",
        method="POST",
        permission="candidates:review",
        body={"action": "reject", "candidate_ids": [2**53 - 2]},
        status=207,
        stranger=403,
    ),
    Row(
        route="/v1/candidates/<int:candidate_id>",
        method="GET",
        permission="candidates:review",
        status=404,
        stranger=403,
    ),
    Row(
        route="/v1/candidates/<int:candidate_id>/accept",
        method="POST",
        permission="candidates:review",
        body={},
        status=404,
        stranger=403,
    ),
    Row(
        route="/v1/candidates/<int:candidate_id>/reject",
        method="POST",
        permission="candidates:review",
        status=404,
        stranger=403,
    ),
    # Counted are memories of everybody in the key's environment.
    Row(
        route="/org/projects",
        method="GET",
        permission="projects:read",
        status=200,
        stranger=200,
        varying=("memory_count",),
    ),
    Row(route="/org/audit-logs", method="GET", permission="audit:read", status=200, stranger=403),
    Row(route="/v1/quota", method="GET", permission="memory:read", status=200, stranger=200),
    Row(route="/v1/retention", method="GET", permission="retention:read", status=200, stranger=403),
    Row(
        route="/v1/retention",
        method="PUT",
        permission="retention:write",
        body={"level": "tenant", "active_days": 30},
        status=200,
        stranger=403,
    ),
    Row(route="/v1/retention/preview", method="GET", permission="retention:read", status=200, stranger=403),
    # Positions count the events of the tenant, so they differ after another end user's memory.
    Row(route="/v1/events", method="GET", permission="memory:read", status=200, stranger=200, varying=("next",)),
    Row(route="/v1/events/stream", method="GET", permission="memory:read", status=200, stranger=200),
    Row(route="/v1/audit/events", method="GET", permission="audit:read", status=200, stranger=403),
    Row(route="/v1/privacy/requests", method="GET", permission="privacy:request", status=200, stranger=403),
    Row(
        route="/v1/privacy/requests",
        method="POST",
        permission="privacy:request",
        body={"type": "export"},
        status=201,
        stranger=403,
    ),
    Row(route="/v1/receipts", method="GET", permission="receipts:read", status=200, stranger=403),
    Row(route="/v1/receipts/<str:receipt_id>", method="GET", permission="receipts:read", status=404, stranger=403),
    Row(route="/v1/receipt-keys", method="GET", permission="receipts:read", status=200, stranger=403),
    Row(route="/v1/memory/status/<int:memory_id>", method="GET", permission="memory:read", status=200, stranger=404),
    Row(
        route="/v1/memory/add_turn",
        method="POST",
        permission="memory:add",
        body=NAMED | {"text": "I live in Lisbon and work as a nurse."},
        status=201,
        stranger=201,
    ),
    Row(
        route="/v1/facts",
        method="POST",
        permission="memory:add",
        body={"subject": "the database", "predicate": "password", "object": "hunter2-Xk9!pQ"},  # refused each time
        status=200,
        stranger=200,
    ),
    Row(route="/v1/facts/query", method="GET", permission="memory:read", status=200, stranger=200),
    Row(route="/v1/facts/query", method="POST", permission="memory:read", body={"limit": 3}, status=200, stranger=200),
    Row(route="/v1/facts/contradictions", method="GET", permission="memory:read", status=200, stranger=200),
    Row(route="/v1/entities", method="GET", permission="memory:read", status=200, stranger=200),
    Row(route="/v1/entities/<int:entity_id>", method="GET", permission="memory:read", status=404, stranger=404),
    Row(
        route="/v1/entities/<int:entity_id>/merge",
        method="POST",
        permission="memory:update",
        body={"with_entity_id": 2**53 - 2},
        status=404,
        stranger=404,
    ),
    Row(
        route="/v1/entities/<int:entity_id>/unmerge",
        method="POST",
        permission="memory:update",
        status=404,
        stranger=404,
    ),
    Row(route="/v1/connectors", method="GET", permission="imports:read", status=200, stranger=200),
    # This server lets no tenant read a folder.
    Row(
        route="/v1/connectors",
        method="POST",
        permission="imports:write",
        body={"kind": "folder", "name": "Docs", "location": "/srv/docs"},
        status=422,
        stranger=422,
    ),
    *(
        Row(
            route=f"/v1/connectors/<int:connector_id>{after}",
            method=method,
            permission=permission,
            body=body,
            status=status,
            stranger=status,
            denied="STEP_UP_REQUIRED" if method == "DELETE" else "INSUFFICIENT_SCOPE",
        )
        for after, method, permission, body, status in (
            ("", "GET", "imports:read", None, 404),
            ("", "PATCH", "imports:write", {"paused": True}, 404),
            ("", "DELETE", "memory:delete", None, 403),
            ("/run", "POST", "imports:write", {"dry_run": True}, 404),
        )
    ),
    Row(route="/v1/objects", method="GET", permission="memory:read", status=200, stranger=200),
    Row(
        route="/v1/objects",
        method="PUT",
        permission="memory:add",
        body={"external_id": "wiki/key", "text": TEXT},
        status=200,
        stranger=200,
    ),
    Row(route="/v1/objects/<int:object_id>", method="GET", permission="memory:read", status=404, stranger=404),
    Row(
        route="/v1/objects/<int:object_id>",
        method="DELETE",
        permission="memory:delete",
        status=403,
        stranger=403,
        denied="STEP_UP_REQUIRED",
    ),
    Row(route="/v1/sessions", method="GET", permission="memory:read", status=200, stranger=200),
    Row(
        route="/v1/sessions/summarize",
        method="POST",
        permission="memory:add",
        body={"session_id": "no such session"},
        status=404,
        stranger=404,
    ),
    Row(
        route="/v1/history/append",
        method="POST",
        permission="history:write",
        body=NAMED | {"session_id": "s1", "turns": [{"role": "user", "content": "I live in Lisbon.", "seq": 0}]},
        status=200,
        stranger=200,
        varying=("items", "request_ids"),
    ),
    Row(
        route="/v1/history/list",
        method="POST",
        permission="history:read",
        body=NAMED | {"session_id": "s1"},
        status=200,
        stranger=200,
    ),
    Row(
        route="/v1/history/delete",
        method="POST",
        permission="history:write",
        body=NAMED | {"session_id": "s1"},
        status=200,
        stranger=200,
    ),
    Row(
        route="/v1/state/put",
        method="POST",
        permission="state:write",
        body=NAMED | {"namespace": ["n"], "key": "k", "value": {"n": 1}},
        status=200,
        stranger=200,
        varying=("item", "created"),
    ),
    Row(
        route="/v1/state/batch",
        method="POST",
        permission="state:write",
        body=NAMED | {"puts": [{"namespace": ["n"], "key": "k", "value": {"n": 1}}]},
        status=200,
        stranger=200,
        varying=("items",),
    ),
    Row(
        route="/v1/state/get",
        method="POST",
        permission="state:read",
        body=NAMED | {"namespace": ["n"], "key": "k"},
        status=200,
        stranger=200,
    ),
    Row(
        route="/v1/state/list",
        method="POST",
        permission="state:read",
        body=NAMED,
        status=200,
        stranger=200,
    ),
    Row(
        route="/v1/state/search",
        method="POST",
        permission="state:read",
        body=NAMED | {"query": TEXT},
        status=200,
        stranger=200,
    ),
    Row(
        route="/v1/state/delete",
        method="POST",
        permission="state:write",
        body=NAMED | {"namespace": ["n"]},
        status=200,
        stranger=200,
    ),
    Row(
        route="/v1/state/namespaces",
        method="POST",
        permission="state:read",
        body=NAMED,
        status=200,
        stranger=200,
    ),
    Row(
        route="/v1/memory/recall",
        method="POST",
        permission="memory:read",
        body=NAMED | {"prompt": TEXT},
        status=200,
        stranger=200,
        varying=("latency_ms",),
    ),
    Row(
        route="/v1/memory/query",
        method="POST",
        permission="memory:read",
        body=NAMED | {"prompt": TEXT},
        status=200,
        stranger=200,
        varying=("latency_ms",),
    ),
    Row(
        route="/org/webhooks",
        method="POST",
        permission="webhooks:write",
        body={"name": "a hook", "url": "https://hooks.example/", "events": ["memory.created"]},
        status=201,
        stranger=403,
    ),
    *(
        Row(route=f"/org/webhooks{route}", method="GET", permission="webhooks:read", status=200, stranger=403)
        for route in ("", "/event-types", "/health", "/deliveries/recent")
    ),
    *(  # of a webhook or delivery that there is not; tests/api/test_webhooks.py has some
        Row(
            route=f"/org/webhooks/{route}",
            method=method,
            permission="webhooks:read" if method == "GET" else "webhooks:write",
            body=body,
            status=404,
            stranger=403,
        )
        for route, method, body in (
            ("<int:endpoint_id>", "GET", None),
            ("<int:endpoint_id>", "PATCH", {"name": "a hook"}),
            ("<int:endpoint_id>", "DELETE", None),
            ("<int:endpoint_id>/pause", "POST", None),
            ("<int:endpoint_id>/resume", "POST", None),
            ("<int:endpoint_id>/rotate-secret", "POST", None),
            ("<int:endpoint_id>/test", "POST", {}),
            ("<int:endpoint_id>/replay", "POST", {}),
            ("<int:endpoint_id>/deliveries", "GET", None),
            ("<int:endpoint_id>/deliveries/latest", "GET", None),
            ("deliveries/<int:delivery_id>", "GET", None),
            ("deliveries/<int:delivery_id>/retry", "POST", None),
        )
    ),
    Row(
        route="/v1/memory/<str:tenant_id>/<path:user_id>/list",
        method="GET",
        permission="memory:read",
        status=200,
        stranger=200,
    ),
    # Profiles: memories by their public ids are tried on strangers in tests/api/test_profiles.py.
    Row(
        route="/v1/memory/<str:ns>",
        method="GET",
        permission="exports:read",
        status=200,
        stranger=403,
    ),
    *(
        Row(
            route=f"/v1/memory/<str:ns>/<str:profile>/{route}",
            method=method,
            permission=permission,
            body=body,
            status=status,
            stranger=stranger,
            denied="STEP_UP_REQUIRED" if permission == "memory:delete" else "INSUFFICIENT_SCOPE",
            varying=("seq",),
        )
        for route, method, permission, body, status, stranger in (
            ("memories", "POST", "memory:add", {"memories": [TYPED]}, 201, 201),
            ("memories/<str:public_id>", "GET", "memory:read", None, 404, 404),
            ("memories/<str:public_id>", "DELETE", "memory:delete", None, 403, 403),
            ("recall", "POST", "memory:read", {"query": TEXT}, 200, 200),
            ("ask", "POST", "memory:read", {"question": TEXT}, 200, 200),
            ("extract", "POST", "memory:add", {"turns": [{"role": "user", "content": "Hello."}]}, 201, 201),
            ("sessions", "GET", "memory:read", None, 200, 200),
            ("sessions/<path:session_id>", "DELETE", "memory:update", None, 204, 204),
            ("sessions/<path:session_id>/turns", "GET", "history:read", None, 200, 200),
            ("sessions/<path:session_id>/turns", "POST", "history:write", {"role": "user", "content": "Hi."}, 201, 201),
            ("branches", "GET", "memory:read", None, 200, 200),
            ("branches", "POST", "memory:update", {"name": "what-if"}, 201, 404),
            ("branches/<str:branch>", "DELETE", "memory:update", None, 404, 404),
            ("checkpoints", "GET", "memory:read", None, 200, 200),
            ("checkpoints", "POST", "memory:update", {"name": "before"}, 201, 404),
            ("rewind", "POST", "memory:update", {"to": "0", "dry_run": True}, 200, 404),
            ("erasures", "GET", "memory:forget_request", None, 200, 200),
            ("erasures", "POST", "memory:forget_request", {"memory_id": "mem_0"}, 404, 404),
            ("erasures/<str:erasure_id>", "GET", "memory:forget_request", None, 404, 404),
            ("erasures/<str:erasure_id>", "DELETE", "memory:forget_request", None, 404, 404),
            ("policy", "GET", "memory:read", None, 200, 404),
            ("policy", "PUT", "retention:write", {"policy": {"memory": {"superseded_max_count": 5}}}, 200, 403),
            ("policy", "DELETE", "retention:write", None, 404, 403),
            ("audit", "GET", "audit:read", None, 200, 403),
            ("tokens", "GET", "tokens:write", None, 200, 403),
            ("tokens", "POST", "tokens:write", {"scope": "read"}, 403, 403),
            ("tokens/<str:token_id>", "DELETE", "tokens:write", None, 404, 403),
        )
    ),
    *(
        Row(
            route=f"/v1/namespaces/<str:ns>/{route}",
            method=method,
            permission=permission,
            body=body,
            status=status,
            stranger=403,
        )
        for route, method, permission, body, status in (
            ("policy", "GET", "retention:read", None, 404),
            ("policy", "PUT", "retention:write", {"policy": {"memory": {"superseded_max_count": 5}}}, 200),
            ("policy", "DELETE", "retention:write", None, 404),
            ("audit", "GET", "audit:read", None, 200),
            ("tokens", "GET", "tokens:write", None, 200),
            # Whose right is beyond the key's: tests/planes/test_profile_tokens.py creates them.
            ("tokens", "POST", "tokens:write", {"scope": "read"}, 403),
            ("tokens/<str:token_id>", "DELETE", "tokens:write", None, 404),
        )
    ),
    *(
        Row(
            route=route,
            method="POST",
            permission="memory:read",
            body={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called},
            status=200,
            stranger=200,
        )
        for route, called in (
            ("/v1/mcp", {"name": "list_memories"}),
            ("/mcp", {"name": "list_memories"}),
            ("/v1/mcp/graph", {"name": "read_graph"}),
            (
                "/v1/mcp/typed",
                {"name": "memory_recall", "arguments": {"namespace": "home", "profile": "new", "query": TEXT}},
            ),
        )
    ),
    # Agent platforms: memories by their ids are tried on strangers in tests/api/test_agent_platform.py.
    *(
        Row(
            route=f"/api/v1/{route}",
            method=method,
            permission=permission,
            body=body,
            status=status,
            stranger=status,
            denied="STEP_UP_REQUIRED" if permission == "memory:delete" else "INSUFFICIENT_SCOPE",
            varying=("data",) if method == "POST" else (),
        )
        for route, method, permission, body, status in (
            ("memories", "POST", "memory:add", {"value": TEXT}, 201),
            ("memories", "GET", "memory:read", None, 200),
            ("memories", "DELETE", "memory:delete", None, 403),
            ("memories/<str:platform_id>", "GET", "memory:read", None, 404),
            ("memories/<str:platform_id>", "PATCH", "memory:update", {"value": TEXT}, 404),
            ("memories/<str:platform_id>", "DELETE", "memory:delete", None, 403),
            ("memory-nodes", "GET", "memory:read", None, 200),
        )
    ),
    # mem0's clients: memories and events by their IDs are tried on strangers in tests/mem0/test_routes.py.
    *(
        Row(
            route=f"/{route}",
            method=method,
            permission=permission,
            body=body,
            status=status,
            stranger=403 if permission == "exports:read" else status,
            denied="STEP_UP_REQUIRED" if permission == "memory:delete" else "INSUFFICIENT_SCOPE",
            varying=("event_id", "results") if permission == "memory:add" else (),
        )
        for route, method, permission, body, status in (
            ("v1/ping/", "GET", "memory:read", None, 200),
            (
                "v3/memories/add/",
                "POST",
                "memory:add",
                {"messages": [{"role": "user", "content": TEXT}], "user_id": CALLER, "infer": False},
                200,
            ),
            ("v3/memories/search/", "POST", "memory:read", {"query": TEXT, "filters": {"user_id": CALLER}}, 200),
            ("v3/memories/", "POST", "memory:read", {"filters": {"user_id": CALLER}}, 200),
            ("v1/event/<str:event_id>/", "GET", "memory:read", None, 404),
            ("v1/events/", "GET", "exports:read", None, 200),
            ("v1/entities/", "GET", "exports:read", None, 200),
            ("v1/memories/", "DELETE", "memory:delete", None, 403),
            ("v1/memories/<str:mem0_id>/", "GET", "memory:read", None, 404),
            ("v1/memories/<str:mem0_id>/", "PUT", "memory:update", {"text": TEXT}, 404),
            ("v1/memories/<str:mem0_id>/", "DELETE", "memory:delete", None, 403),
            ("v1/memories/<str:mem0_id>/history/", "GET", "memory:read", None, 404),
            ("v1/batch/", "PUT", "memory:update", {"memories": [{"memory_id": "mem_0", "text": TEXT}]}, 404),
            ("v1/batch/", "DELETE", "memory:delete", {"memories": [{"memory_id": "mem_0"}]}, 403),
            ("v1/feedback/", "POST", "memory:update", {"memory_id": "mem_0", "feedback": "POSITIVE"}, 404),
            ("v2/entities/<str:entity_type>/<path:name>/", "DELETE", "memory:delete", None, 403),
        )
    ),
)
# One view answers all of these, so tests/api/test_connectors.py tries them in a few tests of their own.
STUBS = tuple(
    Row(route=f"/{route}", method=method, permission=permission, status=status, stranger=status)
    for route, method, permission, status in (
        *((route, "GET", READ, 404 if empty is None else 200) for route, empty in connectors.GETS.items()),
        *((route, method, WRITE, 501) for route, methods in connectors.ACTIONS.items() for method in methods),
    )
)
# What mem0 has and this server does not: tests/mem0/test_routes.py.
UNBUILT = tuple(
    Row(route=f"/{route}", method=method, permission="memory:read", status=501, stranger=501)
    for route in (
        "v2/entities/user/<str:name>/profile/",
        "v2/profiles/<path:rest>",
        "v1/exports/",
        "v1/exports/get/",
        "v1/summary/",
        "api/v1/orgs/organizations/<path:rest>",
        "api/v1/webhooks/<path:rest>",
    )
    for method in UnbuiltView.permissions
)
CLOSED = tuple(row for row in TABLE if row.permission != OPEN)


BY_NAME = {str(row): row for row in TABLE}
# The credential in a header and no end user, one in a header, in the body, in the path; a form; a view with permissions
# of its own; people's as well as programs'; what is read, made, changed and deleted.
KINDS = [
    BY_NAME["POST /memory/add"],
    BY_NAME["POST /memory/upload"],
    BY_NAME["POST /memory/query"],
    BY_NAME["GET /memory/<int:memory_id>"],
    BY_NAME["PATCH /memory/<int:memory_id>"],
    BY_NAME["DELETE /memory/forget"],
    BY_NAME["DELETE /memory/user/purge"],
    BY_NAME["POST /v1/state/put"],
    BY_NAME["GET /v1/memory/<str:tenant_id>/<path:user_id>/list"],
    BY_NAME["POST /v1/memory/<str:ns>/<str:profile>/recall"],
    BY_NAME["DELETE /v1/memory/<str:ns>/<str:profile>/memories/<str:public_id>"],
    BY_NAME["GET /api/v1/memories"],
    BY_NAME["DELETE /api/v1/memories"],
    BY_NAME["DELETE /api/v1/memories/<str:platform_id>"],
    BY_NAME["POST /v3/memories/search/"],
    BY_NAME["GET /v1/memories/<str:mem0_id>/"],
    BY_NAME["DELETE /v1/memories/"],
    BY_NAME["PUT /v1/batch/"],
    BY_NAME["DELETE /v2/entities/<str:entity_type>/<path:name>/"],
    BY_NAME["GET /v1/objects/<int:object_id>"],
    BY_NAME["PATCH /v1/connectors/<int:connector_id>"],
    BY_NAME["PUT /v1/retention"],
    BY_NAME["GET /org/webhooks"],
]


@pytest.fixture(scope="module")
def memory(cast: tuple[OpenedTenant, OpenedTenant]) -> Iterator[Any]:
    """Alice's only one."""
    with once.taken_back():
        yield Caller(cast[0].keys[Environment.PRODUCTION]).add(TEXT)


@pytest.fixture(scope="module")
def shown(cast: tuple[OpenedTenant, OpenedTenant], memory: Any) -> Any:
    """How she sees it."""
    return Caller(cast[0].keys[Environment.PRODUCTION])("GET", f"/memory/{memory['id']}").json()


every_row = pytest.mark.parametrize("row", TABLE, ids=str)
every_closed_row = pytest.mark.parametrize("row", CLOSED, ids=str)
every_kind = pytest.mark.parametrize("row", KINDS, ids=str)
every_kind_and_open = pytest.mark.parametrize("row", [BY_NAME["GET /health"], *KINDS], ids=str)


# -- the table is complete -------------------------------------------------------------------------------------------


def test_every_route_and_method_has_its_row_and_every_row_its_route() -> None:
    routed = {(route, method, name) for route, view, _ in ROUTED for method, name in view.permissions.items()}
    every = (*TABLE, *STUBS, *UNBUILT, *OF_PEOPLE)
    listed = {(row.route, row.method, row.permission) for row in every}

    assert routed - listed == set(), "Routes without a row: add them to TABLE in tests/api/test_access.py"
    assert listed - routed == set(), (
        "Rows without a route: correct apps/api/urls.py, or TABLE in tests/api/test_access.py"
    )
    assert len(listed) == len(every), "Rows that say the same: remove one from TABLE in tests/api/test_access.py"


def test_every_permission_of_the_table_exists() -> None:
    assert {row.permission for row in CLOSED} <= set(PERMISSIONS)


def _routed(patterns: list[URLPattern | URLResolver], prefix: str = "/") -> Iterator[tuple[str, type[ApiView], Any]]:
    """Each route, its view, and what was handed to as_view."""
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if route in ("/admin/", "/app/"):
            continue  # for people; they have tests of their own
        if route == "/oauth/":
            continue  # for clients of people, whose credentials are others: tests/mcp/test_oauth.py
        if isinstance(pattern, URLResolver):
            yield from _routed(pattern.url_patterns, route)
            continue
        view = getattr(pattern.callback, "cls", None)
        assert view is not None, f"{route} is no ApiView: see apps/api/views.py"
        assert view.permissions, f"{route} lists no methods: give its view `permissions`, see apps/api/views.py"
        yield route, view, pattern.callback.initkwargs


ROUTED = list(_routed(get_resolver().url_patterns))

# -- one class lets callers in -----------------------------------------------------------------------------------------

# What a view says about itself.  All else of ApiView is the same for every route.
OF_A_VIEW = {
    *("permissions", "people", "fresh", "destroys", "reads", "meters", "silent_answer", "silent_status"),
    *("headers_read", "parser_classes", "max_body_bytes", "schema", "refusal", "headers_of", "refuses", "query"),
}
OVERRIDES: Mapping[type[ApiView], Collection[str]] = {
    OpenView: {"authentication_classes"},
    PersonView: {"authentication_classes"},
    ForgetView: {"permission_classes"},
    TypedMemoryView: {"permission_classes"},
    PlatformMemoriesView: {"permission_classes"},
    PlatformMemoryView: {"permission_classes"},
    ObjectView: {"permission_classes"},
    DocumentConnectorView: {"permission_classes"},
    PurgeView: {"permission_classes"},
    Mem0MemoryView: {"permission_classes"},
    Mem0MemoriesView: {"permission_classes"},
    Mem0BatchView: {"permission_classes"},
    Mem0EntityView: {"permission_classes"},
    UnbuiltView: {"refuse_what_is_not_taken"},
    ConnectorView: {"refuse_what_is_not_taken"},
    ProfileView: {"confine"},  # tests/planes/test_profile_tokens.py
    MemoryMcpView: {"authentication_classes", "confine", "end_user"},  # tests/mcp/test_oauth.py
}


def _overridden(view: type[ApiView]) -> dict[type[ApiView], set[str]]:
    """Of each class between a view and ApiView, what of ApiView it replaces, save what a view says about itself."""
    between = view.__mro__[: view.__mro__.index(ApiView)]
    found = {one: {name for name in vars(one) if hasattr(ApiView, name) and name[:2] != "__"} for one in between}
    return {one: names - OF_A_VIEW for one, names in found.items() if names - OF_A_VIEW}


def test_no_view_replaces_what_lets_callers_in() -> None:
    found = {one: names for _, view, _ in ROUTED for one, names in _overridden(view).items()}

    assert found == OVERRIDES, "Only ApiView lets callers in: test such a view in KINDS of tests/api/test_access.py"
    assert [route for route, _, given in ROUTED if given] == [], "as_view() was given what the view's class should say"
    of_their_own = {view for view, names in OVERRIDES.items() if "permission_classes" in names}
    assert {row.route for row in KINDS} >= {route for route, view, _ in ROUTED if view in of_their_own}


def test_permission_classes_of_a_view_only_add_to_the_table() -> None:
    asked = {kind for _, view, _ in ROUTED for kind in view.permission_classes}
    assert all(issubclass(kind, HasPermission) for kind in asked)
    assert all(len(view.permission_classes) == 1 for _, view, _ in ROUTED)


def test_only_open_views_ask_for_no_credential_and_only_views_of_people_for_a_person() -> None:
    for route, view, _ in ROUTED:
        needed = set(view.permissions.values())
        assert issubclass(view, OpenView) == (needed == {OPEN}) == (OPEN in needed), route
        assert issubclass(view, PersonView) == (needed == {PERSON}) == (PERSON in needed), route


@pytest.mark.parametrize("name", [
    "authentication_classes", "permission_classes", "throttle_classes", "dispatch", "initial", "check_permissions",
    "perform_authentication", "permission_for", "allowed_methods", "options", "handle_exception"])  # fmt: skip
def test_a_view_that_replaces_it_is_found(name: str) -> None:
    bold = type("BoldView", (ControlView,), {name: ()})
    heir = type("HeirView", (bold,), {"permissions": {"GET": OPEN}})
    assert _overridden(heir) == {bold: {name}}


# -- the right key ---------------------------------------------------------------------------------------------------


@every_row
def test_key_with_only_that_permission_is_served(row: Row, acme: OpenedTenant, memory: Any) -> None:
    """Of what is open, anybody."""
    key = None if row.permission == OPEN else make_api_key(acme.scope, scopes=[row.permission]).text

    response = _ask(row, Caller(key), memory["id"])

    assert response.status_code == row.status, response.content


@every_kind
def test_default_key_is_served(row: Row, acme: OpenedTenant, alice: Caller, memory: Any) -> None:
    response = _ask(row, _right(row, acme, alice), memory["id"])

    assert response.status_code == row.status, response.content


def test_other_methods_are_refused(alice: Caller) -> None:
    listed: dict[str, set[str]] = {}
    for row in (*TABLE, *OF_PEOPLE):
        listed.setdefault(row.route, set()).add(row.method)

    for route, methods in listed.items():
        path = re.sub(r"<\w+:\w+>", "1", route)
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} - methods:
            response = alice(method, path)
            assert response.status_code == 405, f"{method} {route}"
            assert set(response["Allow"].split(", ")) == methods
            assert _code(response) == "METHOD_NOT_ALLOWED"


# -- no key, or a bad one --------------------------------------------------------------------------------------------


def test_without_a_key_nothing_is_served() -> None:
    for row in CLOSED:
        response = _ask(row, Caller(None), 1)

        assert (response.status_code, _message(response)) == (401, "API key missing"), str(row)


@every_kind
def test_unknown_key_is_refused(row: Row) -> None:
    never_issued = tokens.mint(Environment.PRODUCTION)[0]
    for key in ("", "nonsense", never_issued, "ms_live_ключ", "x" * 5000):
        response = _ask(row, Caller(key.encode().decode("latin-1")), 1)

        assert response.status_code == 401, key
        assert _message(response) == ("Invalid API key" if key else "API key missing")


@every_kind
def test_expired_key_is_refused_like_an_unknown_one(row: Row, acme: OpenedTenant) -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    expired = make_api_key(acme.scope, expires_in=timedelta(hours=1), now=yesterday)

    response = _ask(row, Caller(expired.text), 1)
    unknown = _ask(row, Caller(tokens.mint(Environment.PRODUCTION)[0]), 1)

    assert response.status_code == 401
    assert _seen(response) == _seen(unknown)


@every_kind
def test_revoked_key_is_refused(row: Row, acme: OpenedTenant) -> None:
    issued = make_api_key(acme.scope)
    services.revoke(acme.scope, issued.key.pk, now=datetime.now(UTC))

    response = _ask(row, Caller(issued.text), 1)

    assert (response.status_code, _message(response)) == (403, "API key revoked")


@every_kind
def test_key_of_a_closed_tenant_is_refused(row: Row, acme: OpenedTenant, alice: Caller) -> None:
    close_tenant(acme.tenant, actor="test", now=datetime.now(UTC))

    response = _ask(row, alice, 1)

    assert (response.status_code, _code(response)) == (403, "TENANT_CLOSED")


@every_closed_row
def test_key_without_the_permission_is_refused(row: Row, acme: OpenedTenant) -> None:
    others = [name for name in PERMISSIONS if name != row.permission]
    lacking = make_api_key(acme.scope, scopes=others)

    response = _ask(row, Caller(lacking.text), 1)

    assert (response.status_code, _code(response)) == (403, row.denied)
    if row.denied == "INSUFFICIENT_SCOPE":
        assert _message(response) == f"Insufficient scope. Missing: {row.permission}"


# -- people: a browser session is no credential here -------------------------------------------------------------------

PEOPLE: Mapping[str, Callable[[OpenedTenant, OpenedTenant], Any]] = {
    "the operator": lambda acme, globex: _person("ops@host.example", is_staff=True, is_superuser=True),
    "an owner of the tenant": lambda acme, globex: _person("ann@acme.example", of=acme),
    "an owner of another tenant": lambda acme, globex: _person("greg@globex.example", of=globex),
}


def _person(email: str, *, of: OpenedTenant | None = None, **rights: bool) -> Any:
    person = get_user_model().objects.create_user(email=email, password="correct horse", **rights)
    if of:
        give_role(of.tenant, person.pk, "owner", actor="system:0", now=datetime.now(UTC))
    return person


@pytest.fixture(scope="module")
def signed_in(cast: tuple[OpenedTenant, OpenedTenant]) -> Iterator[dict[str, tuple[Caller, Caller]]]:
    """Each person in a browser with a session, and in one that sends alice's key as well."""
    with once.taken_back():
        found = {}
        for who, person_of in PEOPLE.items():
            person = person_of(*cast)
            found[who] = Caller(None), Caller(cast[0].keys[Environment.PRODUCTION])
            for caller in found[who]:
                caller.client.force_login(person)
        yield found


@every_kind
def test_session_is_refused_like_nobody_and_beside_a_key_is_ambiguous(
    row: Row, signed_in: dict[str, tuple[Caller, Caller]], alice: Caller, memory: Any, shown: Any
) -> None:
    for who, (alone, beside) in signed_in.items():
        by_session, by_both = _ask(row, alone, memory["id"]), _ask(row, beside, memory["id"])

        assert alone.client.cookies[settings.SESSION_COOKIE_NAME].value, who
        assert (by_session.status_code, _code(by_session)) == (401, "API_KEY_MISSING"), who
        assert (by_both.status_code, _code(by_both)) == (400, "ambiguous_credentials"), who
    assert alice("GET", f"/memory/{memory['id']}").json() == shown


@every_kind_and_open
def test_head_is_get_without_the_body(
    row: Row, acme: OpenedTenant, globex: OpenedTenant, alice: Caller, memory: Any
) -> None:
    read = next((other for other in TABLE if other.route == row.route and other.method == "GET"), None)
    callers = {
        "nobody": (Caller(None), 401),
        "a stranger": (Caller(globex.keys[Environment.PRODUCTION]), read and read.stranger),
        "the right key": (_right(row, acme, alice), read and read.status),
    }

    for who, (caller, answered) in callers.items():
        response = caller("HEAD", _path(row, memory["id"]))

        expected = 405 if read is None else read.status if read.permission == OPEN else answered
        assert (response.status_code, response.content) == (expected, b""), who


# -- a good key that does not reach ------------------------------------------------------------------------------------

# What a stranger with a profile of that name gets, asking about their own.
IN_THEIR_OWN = {
    "GET /v1/memory/<str:ns>/<str:profile>/policy": 200,
    "POST /v1/memory/<str:ns>/<str:profile>/branches": 201,
    "POST /v1/memory/<str:ns>/<str:profile>/checkpoints": 201,
    "POST /v1/memory/<str:ns>/<str:profile>/rewind": 200,
}

# What a key of several environments reads in all of them; everything else works in one.
SPANNING = {
    "POST /memory/query", "POST /memory/retrieve", "POST /memory/search/routed", "POST /memory/compose",
    "POST /memory/synthesize", "GET /memory/<int:memory_id>", "GET /memory/<int:memory_id>/history",
    "GET /memory/<int:memory_id>/relations", "GET /v1/facts/query", "POST /v1/facts/query", "POST /v1/memory/recall",
    "POST /v1/memory/query", "GET /v1/memory/status/<int:memory_id>",
    "GET /v1/memory/<str:tenant_id>/<path:user_id>/list", "POST /v1/mcp", "POST /mcp",
}  # fmt: skip


@every_closed_row
def test_key_of_several_environments_reads_memories_of_all_and_does_the_rest_at_home(
    row: Row, acme: OpenedTenant, alice: Caller, memory: Any, shown: Any
) -> None:
    """At home in staging, and of production too.  Named, production is where it works, as its own key does."""
    key = make_api_key(
        acme.scope,
        environment=Environment.STAGING,
        other_environments=[Environment.PRODUCTION],
        scopes=[row.permission] if row.permission in PERMISSIONS else DEFAULT,
    )
    several = Caller(key.text)

    unnamed = _ask(row, several, memory["id"])

    if str(row) in SPANNING:
        assert unnamed.status_code == row.status, unnamed.content
    elif row.permission != "memory:add":
        assert TEXT.encode() not in unnamed.content
        if row.permission in DEFAULT and str(row) not in IN_THEIR_OWN:  # a stranger's key is a default one
            assert unnamed.status_code == row.stranger, unnamed.content
    assert alice("GET", f"/memory/{memory['id']}").json() == shown
    assert alice("GET", "/v1/memory/acme/alice/list").json()["total"] == 1
    named = _ask(row, several.with_headers(X_Environment="production"), memory["id"])
    assert named.status_code in (row.status, 200), named.content  # 200: the same person was asked about already


@every_closed_row
def test_environment_that_is_not_the_key_s_is_refused_everywhere(
    row: Row, acme: OpenedTenant, alice: Caller, memory: Any
) -> None:
    one = replace(_right(row, acme, alice), key=acme.keys[Environment.STAGING])
    two = make_api_key(acme.scope, environment=Environment.STAGING, other_environments=[Environment.DEVELOPMENT])

    for caller in (one, Caller(two.text)):
        for named in ("production", "Staging", "qa"):
            response = _ask(row, caller.with_headers(X_Environment=named), memory["id"])
            assert (response.status_code, _code(response)) == (403, "ENVIRONMENT_BEYOND_KEY")
            assert TEXT.encode() not in response.content


@pytest.mark.parametrize("path", ["/memory/{}", "/v1/memory/status/{}"])
@pytest.mark.parametrize("memory_id", [0, 2**31 - 1, 2**31, 2**53, 2**63, 2**64, 10**40])
def test_id_of_any_size_is_not_found(path: str, memory_id: int, alice: Caller) -> None:
    response = alice("GET", path.format(memory_id))

    assert (response.status_code, _code(response)) == (404, "MEMORY_NOT_FOUND")


# -- deletes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [None, {}, {"memory_ids": [1]}, {"filters": {}}, b"{broken", b"[" * 200_000])
def test_delete_with_a_key_needs_a_person_whatever_is_asked(body: object, alice: Caller) -> None:
    response = alice("DELETE", "/memory/forget", body)

    assert response.status_code == 403
    assert response.json()["error"] == {
        "code": "STEP_UP_REQUIRED",
        "message": "Deleting memories needs a signed-in browser session with a fresh step-up.",
        "requires": ["session", "step_up"],
        "alternatives": ["POST /memory/forget-requests"],
    }


def test_delete_is_refused_before_an_end_user_is_asked_for(alice: Caller) -> None:
    response = alice.as_user(None)("DELETE", "/memory/forget", {"memory_ids": [1]})

    assert _code(response) == "STEP_UP_REQUIRED"


def test_policy_that_lets_keys_retire_still_asks_for_the_permission(acme: OpenedTenant, alice: Caller) -> None:
    set_policy(acme.tenant, key_deletes="retire", actor="test", now=datetime.now(UTC))

    response = alice("DELETE", "/memory/forget", {"memory_ids": [1]})

    assert (response.status_code, _code(response)) == (403, "INSUFFICIENT_SCOPE")


# --------------------------------------------------------------------------------------------------------------------


def _right(row: Row, acme: OpenedTenant, alice: Caller) -> Caller:
    """Alice, with a key that may do this where a default one may not."""
    if row.permission in (OPEN, *DEFAULT):
        return alice
    return replace(alice, key=make_api_key(acme.scope, scopes=list(PERMISSIONS)).text)


def _path(row: Row, memory_id: int, end_user: str | None = None) -> str:
    path = re.sub(r"<int:\w+>", str(memory_id), row.route)
    path = path.replace("<str:tenant_id>/<path:user_id>", f"acme/{end_user}")
    path = path.replace("<str:ns>/<str:profile>", f"acme/{end_user or 'nobody'}")
    path = path.replace("namespaces/<str:ns>", "namespaces/home").replace("<str:ns>", "acme")
    path = path.replace("<str:entity_type>/<path:name>", "user/nobody")
    return re.sub(r"<(?:str|path):\w+_id>", "mem_0", path)


def _ask(row: Row, caller: Caller, memory_id: int) -> HttpResponse:
    if row.form:
        content, content_type = row.form
        return caller(row.method, _path(row, memory_id, caller.end_user), content, Content_Type=content_type)
    meant = {MEMORY_ID: memory_id, CALLER: caller.end_user}
    said = json.dumps(row.body)
    for name, value in meant.items():
        said = said.replace(json.dumps(name), json.dumps(value))
    body = json.loads(said)
    return caller(row.method, _path(row, memory_id, caller.end_user), body)


def _code(response: Any) -> str:
    body = response.json()
    if "reason" in body:
        return str(body["reason"])
    if "error" not in body:  # of mem0's clients
        return str(body["code"])
    return str(body["error"].get("reason", body["error"]["code"]))


def _message(response: Any) -> str:
    body = response.json()
    if "error" in body:
        assert body["detail"] == (body["error"] if "reason" in body else body["error"]["message"])
    return str(body["detail"])


def _seen(response: Any, varying: tuple[str, ...] = ()) -> bytes:
    """The body, byte for byte, save what differs between any two answers."""
    if response.headers.get("Content-Type") == "text/event-stream":
        return re.sub(rb"(?m)^id: [0-9]+$", b"", response.content)
    seen: bytes = response.content
    body: Any = response.json() if seen else {}
    for one in body if isinstance(body, list) else [body]:
        for name in one.keys() & {"request_id", *varying}:
            seen = seen.replace(f'"{name}":'.encode() + orjson.dumps(one[name]), b"")
    return seen
