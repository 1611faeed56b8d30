"""What became of each piece of input: the decision and its reason, never the input."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from apps.core.admin import OperatorAdmin, display, link
from apps.ingest.models import Candidate

COLOURS = {
    "created": "success",
    "revived": "success",
    "superseding": "info",
    "merged": "info",
    "duplicate": "warning",
    "pending": "warning",
}


@admin.register(Candidate)
class CandidateAdmin(OperatorAdmin):
    heading = "Decisions"
    list_display = ("number", "verdict", "reason", "type", "memory", "tenant", "environment", "created_at")
    list_filter = ("decision", "type", "tenant")
    list_select_related = ("tenant",)
    search_fields = ("=id", "=memory_id")
    fields = ("number", "verdict", "reason", "type", "memory", "tenant", "environment", "created_at")

    @display(description="Decision", ordering="id")
    def number(self, candidate: Candidate) -> str:
        return f"#{candidate.pk}"

    @display(description="Outcome", ordering="decision", label=COLOURS)
    def verdict(self, candidate: Candidate) -> str:
        return candidate.decision.replace("_", " ")

    @display(description="Memory")
    def memory(self, candidate: Candidate) -> str | None:
        if candidate.memory_id is None:
            return None
        return link(f"#{candidate.memory_id}", reverse("admin:memories_memory_change", args=[candidate.memory_id]))

    @display(description="Environment")
    def environment(self, candidate: Candidate) -> str:
        return candidate.space.environment

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("tenant", "space")
