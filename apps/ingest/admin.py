"""Admin pages for ingest decisions and the review queue.  They show decisions and reasons, never the input."""

from django.contrib import admin
from django.urls import reverse

from apps.core.admin import OperatorAdmin, display, link
from apps.ingest.models import Candidate, ReviewItem

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
    list_display = ("number", "verdict", "reason", "type", "extractor", "memory", "tenant", "environment", "created_at")
    list_filter = ("decision", "type", "extractor", "fallback", "tenant")
    list_select_related = ("tenant", "space")
    search_fields = ("=id", "=memory_id")
    fields = ("number", "verdict", "reason", "type", "extractor", "fallback", "tokens_in", "tokens_out", "cost_micros",
              "memory", "tenant", "environment", "created_at")  # fmt: skip

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


STATES = {"pending": "warning", "accepted": "success", "rejected": "danger", "expired": "info"}


@admin.register(ReviewItem)
class ReviewItemAdmin(OperatorAdmin):
    """Review queue: type and reason of each candidate, never its text."""

    heading = "Review queue"
    list_display = ("number", "standing", "reason", "type", "extractor", "memory", "tenant", "created_at", "expires_at")
    list_filter = ("state", "reason", "type", "extractor", "tenant")
    list_select_related = ("tenant",)
    search_fields = ("=id", "=memory_id")
    fields = ("number", "standing", "reason", "type", "confidence", "extractor", "outcome", "memory", "tenant",
              "created_at", "expires_at", "decided_at", "decided_by")  # fmt: skip

    @display(description="Candidate", ordering="id")
    def number(self, item: ReviewItem) -> str:
        return f"#{item.pk}"

    @display(description="State", ordering="state", label=STATES)
    def standing(self, item: ReviewItem) -> str:
        return item.state

    @display(description="Memory")
    def memory(self, item: ReviewItem) -> str | None:
        if item.memory_id is None:
            return None
        return link(f"#{item.memory_id}", reverse("admin:memories_memory_change", args=[item.memory_id]))
