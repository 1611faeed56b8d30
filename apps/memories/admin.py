"""Memory metadata for operators: ids, states, scores and times.  Memory text cannot be decrypted here.

Labels that callers write themselves (source, event type) are also left out.
"""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.admin import OPERATOR, Answer, OperatorAdmin, action, actor, display, link, mono, sealed_fields
from apps.core.scoping import tenant_transaction
from apps.memories.models import Memory, MemoryTransition, MemoryVector, QuarantinedRow
from apps.outbox.services import enqueue
from apps.projects.system import system_scope

STATES = {
    "current": "success",
    "superseded": "info",
    "disputed": "warning",
    "archived": None,
    "soft_deleted": "danger",
    "hard_delete_pending": "danger",
    "purged": "danger",
}
OTHER = {"created": "in place of", "superseded": "replaced by"}


@admin.register(Memory)
class MemoryAdmin(OperatorAdmin):
    heading = "Memories"
    list_display = ("number", "tenant", "environment", "type", "state", "tier", "searchable", "created_at")
    list_filter = ("environment", "validity", "retention_status", "type", "tier", "tenant")
    list_select_related = ("tenant",)
    search_fields = ("=id", "public_id__exact")
    search_help_text = "A memory's number or public ID. Memory text cannot be searched here."
    fieldsets = (
        (None, {"fields": ("sealed", "public", ("tenant", "environment"), ("space_number", "project_name"))}),
        (
            "State",
            {"fields": (("state", "marks"), ("replaced_by", "superseded_reason"), ("validity", "retention_status"))},
        ),
        ("Classification", {"fields": (("type", "source_kind"), ("searchable", "embedder"))}),
        (
            "Weight",
            {
                "fields": (
                    ("tier", "importance"),
                    ("confidence", "repetition_count"),
                    ("access_count", "last_accessed_at", "last_used_at"),
                )
            },
        ),
        (
            "Times",
            {
                "fields": (
                    ("created_at", "updated_at"),
                    ("event_at", "event_precision"),
                    ("expires_at", "deleted_at"),
                    "hard_delete_at",
                )
            },
        ),
        ("History", {"fields": ("story",)}),
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

    @display(description="Marks")
    def marks(self, memory: Memory) -> str:
        marks = {
            "pinned": memory.pinned,
            "legal hold": memory.legal_hold,
            "a summary": memory.is_summary,
            "said by the assistant": memory.from_assistant,
        }
        return ", ".join(name for name, is_set in marks.items() if is_set) or "none"

    @display(description="Indexed by", label={"keywords and vector": "success", "keywords only": "warning"})
    def searchable(self, memory: Memory) -> str:
        return "keywords and vector" if hasattr(memory, "vector") else "keywords only"

    @display(description="Embedder")
    def embedder(self, memory: Memory) -> str | None:
        return memory.vector.embedder if hasattr(memory, "vector") else None

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

    @display(description="Text")
    def sealed(self, memory: Memory) -> str:
        return f"Encrypted under version {memory.key_version} of the tenant's key; readable through the API only."

    @display(description="Story")
    def story(self, memory: Memory) -> str:
        rows = (
            MemoryTransition._default_manager.using(OPERATOR)
            .filter(tenant_id=memory.tenant_id, memory_id=memory.pk)
            .defer(*sealed_fields(MemoryTransition))
            .order_by("id")[:100]
        )
        told = format_html_join("", "<li>{} &ensp; <b>{}</b> &ensp; by {} &ensp; {} {}</li>", map(_line, rows))
        return format_html("<ol>{}</ol>", told) if told else "No history."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        # A join instead of EXISTS, for which the planner would read every vector for a page of fifty rows.
        rows = super().get_queryset(request).select_related("tenant", "space", "project", "vector")
        return rows.defer(*(f"vector__{name}" for name in sealed_fields(MemoryVector)))


@admin.register(QuarantinedRow)
class QuarantinedRowAdmin(OperatorAdmin):
    """Rows that failed decryption (tampering or a disk error) and are left out of every response."""

    heading = "Quarantine"
    list_display = ("row", "tenant", "reason", "times", "created_at", "last_seen_at")
    list_filter = ("table", "reason", "tenant")
    list_select_related = ("tenant",)
    search_fields = ("=record_id",)
    search_help_text = "The number of a memory."
    ordering = ("-last_seen_at", "-id")
    fields = ("row", "tenant", "space_id", "reason", "times", "created_at", "last_seen_at")
    actions_detail = ("look_again",)

    @display(description="Row", ordering="record_id")
    def row(self, listed: QuarantinedRow) -> str:
        name = f"{listed.table} #{listed.record_id}"
        if listed.table == "end_user":
            return name
        return link(name, reverse("admin:memories_memory_change", args=[listed.record_id]))

    @action(description="Retry decryption", url_path="look-again", icon="refresh", permissions=["operate"])
    def look_again(self, request: HttpRequest, object_id: str) -> Answer:
        """Queue a retry: the worker decrypts the row and releases it if that succeeds."""
        listed = self.found(request, object_id)
        back = self.row_url(listed.pk)
        if request.method == "POST":
            scope = system_scope(listed.tenant)
            target = f"{listed.table}:{listed.record_id}"
            with tenant_transaction(scope):
                record(
                    scope,
                    actor=actor(request),
                    action=AuditAction.INTEGRITY_LOOK_AGAIN,
                    target=target,
                    now=timezone.now(),
                )
                enqueue(scope, "look_again", [listed.pk], now=timezone.now())
            self.message_user(request, "It leaves this list shortly if it can be decrypted.", messages.SUCCESS)
            return HttpResponseRedirect(self.list_url())
        return self.form_page(
            request,
            forms.Form(),
            title=f"Retry decryption of {listed.table} #{listed.record_id}",
            explanation="A row restored from a backup can be decrypted again and leaves this list.",
            submit="Retry decryption",
            back=back,
        )


def _line(row: MemoryTransition) -> tuple[str, str, str, str, str]:
    other = _link_to(row.other_id)
    relation = OTHER.get(row.event, "with") if other else ""
    return f"{row.created_at:%Y-%m-%d %H:%M:%S}", row.event, row.actor, relation, other or ""


def _link_to(memory_id: int | None) -> str | None:
    return link(f"#{memory_id}", reverse("admin:memories_memory_change", args=[memory_id])) if memory_id else None
