"""/v1/candidates: memories that wait for review, and decisions on them."""

from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.collection_fields import Ids
from apps.api.fields import Choice, Flag, Label, Text, WholeInQuery
from apps.api.input_serializers import Input, Parameters
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.core.errors import DomainError
from apps.core.plaintext import Plaintext
from apps.ingest.review import (
    REASONS,
    STATES,
    CandidateNotFound,
    ReviewFilter,
    ReviewVerdict,
    Waiting,
    decide,
    decide_all,
    get_candidate,
    list_candidates,
)
from apps.memories.spaces import find_end_user
from apps.projects.scope import Scope

MOST: Final = 200
MOST_AT_ONCE: Final = 100
MAX_WORDING: Final = 65_536  # characters


class CandidatesInput(Parameters):
    """Which candidates."""

    status = Choice(choices=STATES, required=False)
    reason = Choice(choices=REASONS, required=False)
    end_user_id = Label(required=False, max_length=256, help_text="Overrides the X-End-User-ID header.")
    limit = WholeInQuery(default=50, min_value=1, max_value=MOST)
    cursor = WholeInQuery(required=False, min_value=1, help_text="`next_cursor` of the previous response.")


class AcceptInput(Input):
    """How to store it."""

    text = Text(required=False, max_length=MAX_WORDING, help_text="Edited text; by default the candidate's own.")
    pinned = Flag(default=False)


class BulkDecideInput(Input):
    """One verdict on many candidates."""

    action = Choice(choices=("accept", "reject"))
    candidate_ids = Ids(max_items=MOST_AT_ONCE)
    pinned = Flag(default=False, help_text="Applies to accepted candidates.")


class CandidateOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    status = serializers.ChoiceField(choices=STATES)
    reason = serializers.ChoiceField(choices=REASONS)
    extracted_type = serializers.CharField()
    extracted_key = serializers.CharField(allow_null=True)
    text = serializers.CharField(allow_null=True, help_text="Null once it is decided: the text is then deleted.")
    source = serializers.CharField(allow_null=True)  # type: ignore[assignment]  # the wire's name, not DRF's
    confidence = serializers.FloatField()
    extractor = serializers.ChoiceField(choices=["rules", "model"])
    user_id = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    decided_at = serializers.DateTimeField(allow_null=True)
    decided_by = serializers.CharField(allow_null=True)
    decision = serializers.CharField(allow_null=True, help_text="The decision when it was accepted.")
    memory_id = serializers.IntegerField(allow_null=True)


class CandidatesOutput(serializers.Serializer[Any]):
    candidates = CandidateOutput(many=True)
    next_cursor = serializers.IntegerField(allow_null=True)


class BulkDecidedOutput(serializers.Serializer[Any]):
    candidate_id = serializers.IntegerField()
    status = serializers.ChoiceField(choices=["accepted", "rejected", "refused"])
    memory_id = serializers.IntegerField(allow_null=True)
    code = serializers.CharField(allow_null=True, help_text="Error code if it was not decided: `ALREADY_DECIDED`, …")


class BulkDecidedOutputs(serializers.Serializer[Any]):
    decided = serializers.IntegerField()
    refused = serializers.IntegerField()
    results = BulkDecidedOutput(many=True)


class ReviewView(ApiView):
    """What the routes of the queue have in common: whose candidates are meant."""

    def queue(self, end_user_id: str | None = None, *, writes: bool = False) -> Scope | None:
        """Of everybody in the key's environment, or of the end user who is named; None for a stranger."""
        scope, named = self.scope(writes=writes), self.end_user_or_none(end_user_id)
        if named is None:
            return scope
        space = find_end_user(scope, named)
        return scope.in_spaces(space) if space else None

    def decided(self, candidate_id: int, verdict: ReviewVerdict) -> Response:
        scope = self.queue(writes=True)
        if scope is None:
            raise CandidateNotFound
        return Response(_body(decide(scope, candidate_id, verdict, now=self.now())))


class CandidatesView(ReviewView):
    permissions: ClassVar = {"GET": "candidates:review"}

    @operation("list_candidates", parameters=[CandidatesInput], responses=CandidatesOutput)
    def get(self, request: Request) -> Response:
        """Review candidates, newest first; of all end users, unless one is named."""
        fields, now = self.read_parameters(CandidatesInput), self.now()
        scope, limit = self.queue(fields.get("end_user_id")), fields["limit"]
        if scope is None:
            return Response({"candidates": [], "next_cursor": None})
        wanted = ReviewFilter.of(status=fields.get("status"), reason=fields.get("reason"))
        page = list_candidates(scope, wanted, before=fields.get("cursor"), limit=limit, now=now)
        return Response({"candidates": [_body(one) for one in page.candidates], "next_cursor": page.next_before})


class CandidateView(ReviewView):
    permissions: ClassVar = {"GET": "candidates:review"}

    @operation("get_candidate", responses=CandidateOutput)
    def get(self, request: Request, candidate_id: int) -> Response:
        """One candidate, with its text while it is pending."""
        scope = self.queue()
        if scope is None:
            raise CandidateNotFound
        return Response(_body(get_candidate(scope, candidate_id, now=self.now())))


class AcceptView(ReviewView):
    permissions: ClassVar = {"POST": "candidates:review"}

    @operation(
        "accept_candidate",
        request=AcceptInput,
        examples=[OpenApiExample("as it was said", {"pinned": False}, request_only=True)],
        responses=CandidateOutput,
    )
    def post(self, request: Request, candidate_id: int) -> Response:
        """Accept a candidate, unchanged or edited.

        It passes through the normal pipeline: `decision` says whether it was created, replaced a memory or was a
        duplicate.  A decision is final: another reviewer gets 409 `ALREADY_DECIDED`.
        """
        fields = self.read(AcceptInput)
        text = Plaintext(fields["text"]) if "text" in fields else None
        return self.decided(candidate_id, ReviewVerdict(accept=True, text=text, pinned=fields["pinned"]))


class RejectView(ReviewView):
    permissions: ClassVar = {"POST": "candidates:review"}

    @operation("reject_candidate", request=None, responses=CandidateOutput)
    def post(self, request: Request, candidate_id: int) -> Response:
        """Reject a candidate.  Its text is deleted at once, and the same text does not return to the queue."""
        return self.decided(candidate_id, ReviewVerdict(accept=False))


class BulkDecideView(ReviewView):
    permissions: ClassVar = {"POST": "candidates:review"}

    @operation(
        "decide_candidates",
        request=BulkDecideInput,
        examples=[OpenApiExample("reject two", {"action": "reject", "candidate_ids": [3, 4]}, request_only=True)],
        responses={207: BulkDecidedOutputs},
    )
    def post(self, request: Request) -> Response:
        """Decide up to a hundred candidates, each independently; results are in the order of the IDs."""
        fields, scope = self.read(BulkDecideInput), self.queue(writes=True)
        verdict = ReviewVerdict(accept=fields["action"] == "accept", pinned=fields["pinned"])
        ids: list[int] = fields["candidate_ids"]
        results: list[tuple[int, Waiting | DomainError]] = (
            decide_all(scope, ids, verdict, now=self.now()) if scope else [(one, CandidateNotFound()) for one in ids]
        )
        refused = sum(isinstance(result, DomainError) for _, result in results)
        body = {"decided": len(results) - refused, "refused": refused, "results": [_result(*one) for one in results]}
        return Response(body, status=207)


def _result(candidate_id: int, result: Waiting | DomainError) -> dict[str, Any]:
    if isinstance(result, DomainError):
        return {"candidate_id": candidate_id, "status": "refused", "memory_id": None, "code": result.code}
    return {
        "candidate_id": candidate_id,
        "status": result.state.value,
        "memory_id": result.memory_id,
        "code": None,
    }


def _body(one: Waiting) -> dict[str, Any]:
    return {
        "id": one.id,
        "status": one.state.value,
        "reason": one.reason,
        "extracted_type": one.type,
        "extracted_key": one.key,
        "text": one.text.reveal() if one.text else None,
        "source": one.source,
        "confidence": round(one.confidence, 4),
        "extractor": one.extractor,
        "user_id": one.user_id,
        "created_at": one.created_at,
        "expires_at": one.expires_at,
        "decided_at": one.decided_at,
        "decided_by": one.decided_by or None,
        "decision": one.outcome or None,
        "memory_id": one.memory_id,
    }
