"""POST /v1/memory/{ns}/{profile}/extract: typed memories from a transcript."""

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Flag, Label, Text
from apps.api.input_serializers import Input
from apps.api.operations import operation
from apps.api.profiles.base import ProfileView, txid_of
from apps.api.profiles.memories import TypedResultOutput, outcome_body
from apps.api.v1.history_fields import Entries
from apps.core.plaintext import Plaintext
from apps.ingest.candidates import MemoryCandidate
from apps.ingest.review import REASONS
from apps.ingest.typed import write_candidates
from apps.ingest.typed_extraction import MOST_TURNS, SaidTurn, propose_typed


class SaidTurnInput(Input):
    """One turn."""

    role = Label()
    content = Text()


class ExtractInput(Input):
    """A transcript."""

    turns = Entries(child=SaidTurnInput(), allow_empty=False, max_length=MOST_TURNS)
    session_id = Label(required=False, max_length=256)
    source = Label(required=False)  # type: ignore[assignment]  # the wire's name, not DRF's
    dry_run = Flag(default=False, help_text="Store nothing; the profile is not created.")


class ProposedOutput(serializers.Serializer[Any]):
    type = serializers.CharField()
    topic_key = serializers.CharField(allow_null=True)
    summary = serializers.CharField()
    content = serializers.JSONField()
    keywords = serializers.CharField(allow_blank=True)


class WaitingOutput(ProposedOutput):
    candidate_id = serializers.IntegerField(help_text="A reviewer accepts or rejects it.")
    reason = serializers.ChoiceField(choices=REASONS)


class ExtractOutput(serializers.Serializer[Any]):
    proposed = ProposedOutput(many=True)
    results = TypedResultOutput(many=True, required=False, help_text="One for each; not of a dry run.")
    pending = WaitingOutput(many=True, required=False, help_text="What waits for review; not of a dry run.")
    txid = serializers.IntegerField(required=False)


class ExtractView(ProfileView):
    permissions: ClassVar = {"POST": "memory:add"}
    meters: ClassVar = {"POST": "adds"}

    @operation(
        "profile_extract",
        request=ExtractInput,
        examples=[
            OpenApiExample(
                "what would be stored",
                {"turns": [{"role": "user", "content": "I am vegan now."}], "dry_run": True},
                request_only=True,
            )
        ],
        responses={200: ExtractOutput, 201: ExtractOutput},
    )
    def post(self, request: Request, ns: str, profile: str) -> Response:
        """Extract memories from the user's turns, and store them as typed memories.

        The same transcript again makes duplicates.  As of every other text, instructions and what would replace a
        memory that is trusted more wait for review, and what was erased is not stored again.
        """
        fields, now = self.read(ExtractInput), self.now()
        known = self.found(ns, profile)
        scope = self.scope(writes=not fields["dry_run"])
        turns = [SaidTurn(role=one["role"], content=Plaintext(one["content"])) for one in fields["turns"]]
        proposed = propose_typed(
            scope, turns, session_id=fields.get("session_id"), source=fields.get("source", ""), now=now
        )
        if fields["dry_run"]:
            return Response({"proposed": [_proposed(one) for one in proposed]})
        if not proposed:
            txid = txid_of(known)
            self.reached(txid)
            return Response({"proposed": [], "results": [], "pending": [], "txid": txid}, status=201)
        outcome = write_candidates(scope, self.owner(ns, profile), proposed, now=now)
        self.reached(outcome.txid)
        results = list(zip(proposed, outcome.results, strict=True))
        body = {
            "proposed": [_proposed(one) for one, result in results if result.is_stored],
            "pending": [
                _proposed(one) | {"candidate_id": result.review_id, "reason": result.reason}
                for one, result in results
                if result.review_id is not None
            ],
        }
        return Response(body | outcome_body(outcome), status=201)


def _proposed(one: MemoryCandidate) -> dict[str, Any]:
    return {
        "type": one.type,
        "topic_key": one.key,
        "summary": one.text.reveal(),
        "content": {"text": one.text.reveal()},
        "keywords": "",
    }
