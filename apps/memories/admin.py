"""Memories as metadata: ids, states, scores and times.  What they say is sealed, and nothing here can open it.

Labels that callers write in their own words (source, event type) are left out too.
"""

from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from apps.core.admin import OPERATOR, OperatorAdmin, display, link, mono
from apps.memories.models import Memory, MemoryTransition, MemoryVector

STATES = {
    "current": "success",
    "superseded": "info",
    "disputed": "warning",
    "archived": None,
    "soft_deleted": "danger",
    "hard_delete_pending": "danger",
    "purged": "danger",
}


@admin.register(Memory)
class MemoryAdmin(OperatorAdmin):
    list_display = (
        "number",
        "tenant",
        "environment",
        "type",
        "state",
        "tier",
        "importance",
        "searchable",
        "key_version",
        "created_at",
    )
    list_filter = ("environment", "validity", "retention_status", "type", "tier", "tenant")
    list_select_related = ("tenant",)
    search_fields = ("=id", "public_id")
    search_help_text = "A memory's number or public id. What memories say cannot be searched here."
    fieldsets = (
        (None, {"fields": ("number", "public", "tenant", "environment", "space_number", "project_name", "sealed")}),
        (
            "State",
            {
                "fields": (
                    "state",
                    "validity",
                    "retention_status",
                    "replaced_by",
                    "superseded_reason",
                    "tier",
                    "pinned",
                    "legal_hold",
                )
            },
        ),
        (
            "What kind of thing",
            {
                "fields": (
                    "type",
                    "source_kind",
                    "is_summary",
                    "from_assistant",
                    "searchable",
                    "embedder",
                )
            },
        ),
        ("Weight", {"fields": ("importance", "platform_importance", "confidence", "repetition_count", "access_count")}),
        (
            "Times",
            {
                "fields": (
                    "created_at",
                    "updated_at",
                    "event_at",
                    "event_precision",
                    "expires_at",
                    "last_accessed_at",
                    "deleted_at",
                    "hard_delete_at",
                )
            },
        ),
        ("What happened to it", {"fields": ("story",)}),
    )

    @display(description="Memory", ordering="id")
    def number(self, memory: Memory) -> str:
        return f"#{memory.pk}"

    @display(description="Public id")
    def public(self, memory: Memory) -> str:
        return mono(memory.public_id)

    @display(description="State", label=STATES)
    def state(self, memory: Memory) -> str:
        return memory.validity if memory.retention_status == "active" else memory.retention_status

    @display(description="Found by", label={"words and meaning": "success", "words so far": "warning"})
    def searchable(self, memory: Memory) -> str:
        return "words and meaning" if memory.has_vector else "words so far"  # type: ignore[attr-defined]  # annotated

    @display(description="Embedder")
    def embedder(self, memory: Memory) -> str | None:
        rows = MemoryVector._default_manager.using(OPERATOR).filter(memory_id=memory.pk)
        return rows.values_list("embedder", flat=True).first()

    @display(description="Space")
    def space_number(self, memory: Memory) -> str:
        space = memory.space
        return link(f"{space.kind} {space.owner_id}", reverse("admin:projects_space_change", args=[space.pk]))

    @display(description="Project")
    def project_name(self, memory: Memory) -> str | None:
        return memory.project.name if memory.project else None

    @display(description="Replaced by")
    def replaced_by(self, memory: Memory) -> str | None:
        return _link_to(memory.superseded_by_id)

    @display(description="What it says")
    def sealed(self, memory: Memory) -> str:
        return f"Sealed under version {memory.key_version} of the tenant's key. It can be read through the API only."

    @display(description="Story")
    def story(self, memory: Memory) -> str:
        rows = (
            MemoryTransition._default_manager.using(OPERATOR)
            .filter(tenant_id=memory.tenant_id, memory_id=memory.pk)
            .order_by("id")[:100]
        )
        lines = [
            (f"{row.created_at:%Y-%m-%d %H:%M:%S}", row.event, row.actor, _link_to(row.other_id) or "") for row in rows
        ]
        told = format_html_join("", "<li>{} &nbsp; <b>{}</b> &nbsp; by {} &nbsp; {}</li>", lines)
        return format_html("<ol>{}</ol>", told) if lines else "Nothing is recorded."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        has_vector = Exists(MemoryVector._default_manager.using(OPERATOR).filter(memory_id=OuterRef("pk")))
        rows = super().get_queryset(request).select_related("tenant", "space", "project")
        annotated: QuerySet[Any] = rows.annotate(has_vector=has_vector)
        return annotated


def _link_to(memory_id: int | None) -> str | None:
    return link(f"#{memory_id}", reverse("admin:memories_memory_change", args=[memory_id])) if memory_id else None
