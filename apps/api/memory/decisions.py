"""GET /memory/decisions and POST /memory/decision/resolve: contradicting memories, and which of them is current."""

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Choice, ClampedInQuery, Label, Text, Whole
from apps.api.input_serializers import Input, Parameters
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.edges.decisions import ContradictionDecision, ContradictionVerdict, list_decisions, resolve
from apps.recall import read_log


class DecisionsInput(Parameters):
    """Which of them."""

    limit = ClampedInQuery(lowest=1, highest=200, default=50)
    status = Choice(choices=("open", "resolved"), required=False)


class ResolveInput(Input):
    """The decision.  Without a winner the memory that recall already prefers stays current."""

    some_of = ("decision_id", "winning_memory_id")

    decision_id = Label(required=False, help_text="Optional if the winner is in only one open decision.")
    winning_memory_id = Whole(required=False, min_value=1, max_value=2**63 - 1)
    resolution = Text(required=False, max_length=256, help_text="Free-form label; stored encrypted.")
    note = Text(required=False, max_length=4_096, help_text="Reason; stored encrypted.")


class ContradictionOutput(serializers.Serializer[Any]):
    decision_id = serializers.CharField()
    status = serializers.ChoiceField(choices=["open", "resolved"])
    kind = serializers.ChoiceField(choices=["contradiction", "conflict"])
    memory_ids = serializers.ListField(child=serializers.IntegerField(), help_text="The newer first.")
    automatic = serializers.BooleanField(help_text="Detected at a write, not stated.")
    detected_at = serializers.DateTimeField()
    winning_memory_id = serializers.IntegerField(allow_null=True)
    resolution = serializers.CharField(allow_null=True)
    note = serializers.CharField(allow_null=True)
    resolved_at = serializers.DateTimeField(allow_null=True)


class DecisionsOutput(serializers.Serializer[Any]):
    decisions = ContradictionOutput(many=True)
    total = serializers.IntegerField()


class DecisionsView(ApiView):
    permissions: ClassVar = {"GET": "memory:read"}

    @operation("decisions", parameters=[DecisionsInput], responses=DecisionsOutput)
    def get(self, request: Request) -> Response:
        """Pairs of memories that contradict each other, or a claim and the constraint it violates, newest first."""
        asked, scope = self.read_parameters(DecisionsInput), self.reader()
        is_open = {"open": True, "resolved": False}.get(asked.get("status", ""))
        found, total = list_decisions(scope, limit=asked["limit"], is_open=is_open, now=self.now())
        read_log.record_read(scope)
        return Response({"decisions": [_body(one) for one in found], "total": total})


class ResolveView(ApiView):
    permissions: ClassVar = {"POST": "memory:update"}

    @operation(
        "resolve_decision",
        request=ResolveInput,
        examples=[
            OpenApiExample("the newer holds", {"decision_id": "dec_7", "winning_memory_id": 42}, request_only=True)
        ],
        responses=ContradictionOutput,
    )
    def post(self, request: Request) -> Response:
        """Decide which of two contradicting memories is current; it supersedes the other.  Idempotent."""
        fields = self.read(ResolveInput)
        verdict = ContradictionVerdict(
            decision_id=fields.get("decision_id"),
            winner_id=fields.get("winning_memory_id"),
            resolution=fields.get("resolution"),
            note=fields.get("note"),
        )
        return Response(_body(resolve(self.reader(writes=True), verdict, now=self.now())))


def _body(decision: ContradictionDecision) -> dict[str, Any]:
    return {
        "decision_id": decision.id,
        "status": "resolved" if decision.resolved_at else "open",
        "kind": decision.kind,
        "memory_ids": list(decision.memory_ids),
        "automatic": decision.is_automatic,
        "detected_at": decision.detected_at,
        "winning_memory_id": decision.winner_id,
        "resolution": decision.resolution.reveal() if decision.resolution else None,
        "note": decision.note.reveal() if decision.note else None,
        "resolved_at": decision.resolved_at,
    }
