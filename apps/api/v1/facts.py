"""/v1/facts: state a fact, list facts valid at a time, and list contradictions."""

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample, OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Clamped, ClampedInQuery, Label, Moment
from apps.api.input_serializers import Input, Parameters, WriteInput
from apps.api.memory.memory_output import DecisionOutput, RetainedOutput, decisions_body
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.ingest.candidates import StatedFact
from apps.ingest.facts import contradictions, query_facts, record_fact
from apps.memories.claims import Fact
from apps.recall import read_log
from text.predicates import PredicateClaim

SUBJECT, PREDICATE, OBJECT = 256, 64, 1_024  # characters


class FactInput(WriteInput):
    """Subject, predicate, object and period of validity."""

    subject = Label(max_length=SUBJECT, help_text="`user`, `me` and `I` are the end user; `user.sister` is theirs.")
    predicate = Label(max_length=PREDICATE, help_text="Such as `works_at` or `lives in`; case and spacing are ignored.")
    object = Label(max_length=OBJECT)
    valid_from = Moment(required=False, help_text="Start; by default now.")
    valid_to = Moment(required=False, help_text="End; by default when another value follows.")
    source = Label(  # type: ignore[assignment]  # the wire's name, not DRF's
        required=False, help_text="Source label, stored unencrypted."
    )
    client_ref = Label(required=False, max_length=128, help_text="Your own ID: the same ID is stored once.")
    end_user_id = Label(required=False, max_length=256, help_text="Overrides the X-End-User-ID header.")


class FactOutput(RetainedOutput):
    memory_id = serializers.IntegerField()
    environment = serializers.CharField()
    subject = serializers.CharField()
    predicate = serializers.CharField()
    object = serializers.CharField()
    text = serializers.CharField(help_text="As the memory has it.")
    valid_from = serializers.DateTimeField(help_text="Start of its latest period of validity.")
    valid_to = serializers.DateTimeField(allow_null=True)
    validity = serializers.ChoiceField(choices=["current", "superseded", "disputed"], help_text="As of now.")
    superseded_by = serializers.IntegerField(allow_null=True)
    confidence = serializers.FloatField()
    source = serializers.CharField(allow_null=True)  # type: ignore[assignment]  # the wire's name, not DRF's
    recorded_at = serializers.DateTimeField()


class RecordedOutput(serializers.Serializer[Any]):
    """status: `recorded`; `known`, if it existed already; `pending` review; or `refused`, such as a secret."""

    status = serializers.ChoiceField(choices=["recorded", "known", "pending", "refused"])
    memory_id = serializers.IntegerField(allow_null=True)
    decisions = DecisionOutput(many=True)


class FactsOutput(serializers.Serializer[Any]):
    facts = FactOutput(many=True)


class ContradictingOutput(serializers.Serializer[Any]):
    decision_id = serializers.CharField(help_text="For POST /memory/decision/resolve.")
    kind = serializers.ChoiceField(choices=["contradiction", "conflict"])
    detected_at = serializers.DateTimeField()
    facts = FactOutput(many=True, help_text="The newer first.")


class ContradictionsOutput(serializers.Serializer[Any]):
    contradictions = ContradictingOutput(many=True)


class FactsView(ApiView):
    permissions: ClassVar = {"POST": "memory:add"}
    meters: ClassVar = {"POST": "adds"}

    @operation(
        "record_fact",
        request=FactInput,
        examples=[
            OpenApiExample("a fact", {"subject": "user", "predicate": "works_at", "object": "Acme"}, request_only=True)
        ],
        responses={
            201: OpenApiResponse(RecordedOutput, "Stored."),
            200: OpenApiResponse(RecordedOutput, "Not stored."),
        },
    )
    def post(self, request: Request) -> Response:
        """State a fact.  Nothing is extracted; from its start on it replaces the previous value."""
        fields, now = self.read(FactInput), self.now()
        scope, end_user = self.scope(writes=True), self.end_user(fields.get("end_user_id"))
        stated = StatedFact(
            claim=PredicateClaim.stated(fields["subject"], fields["predicate"], fields["object"]),
            valid_from=fields.get("valid_from"),
            valid_to=fields.get("valid_to"),
        )
        _, outcome = record_fact(
            scope, end_user, stated, source=fields.get("source", ""), client_ref=fields.get("client_ref"), now=now
        )
        (made,) = outcome.decisions
        status = "recorded" if outcome.is_stored else "known" if made.memory_id else "refused"
        body = {
            "status": "pending" if made.decision == "pending" else status,
            "memory_id": made.memory_id,
            "decisions": decisions_body(outcome.decisions),
        }
        return Response(body, status=201 if outcome.is_stored else 200)


class FactsInQuery(Parameters):
    """Of what, and of when."""

    subject = Label(required=False, max_length=SUBJECT)
    predicate = Label(required=False, max_length=PREDICATE)
    at = Moment(required=False, is_end=True, help_text="Facts valid at this time; by default now.")
    known_at = Moment(required=False, is_end=True, help_text="As recorded at this time.")
    limit = ClampedInQuery(lowest=1, highest=200, default=50)


class FactsQueryInput(Input):
    """Of what, and of when."""

    subject = Label(required=False, max_length=SUBJECT)
    predicate = Label(required=False, max_length=PREDICATE)
    at = Moment(required=False, is_end=True, help_text="Facts valid at this time; by default now.")
    known_at = Moment(required=False, is_end=True, help_text="As recorded at this time.")
    limit = Clamped(lowest=1, highest=200, default=50)
    end_user_id = Label(required=False, max_length=256, help_text="Overrides the X-End-User-ID header.")


class FactsQueryView(ApiView):
    permissions: ClassVar = {"GET": "memory:read", "POST": "memory:read"}

    @operation("query_facts", parameters=[FactsInQuery], responses=FactsOutput)
    def get(self, request: Request) -> Response:
        """List facts that were valid at a time, latest start first."""
        return self._answer(self.read_parameters(FactsInQuery), None)

    @operation(
        "search_facts",
        request=FactsQueryInput,
        examples=[OpenApiExample("a time", {"subject": "user", "at": "2026-03-01"}, request_only=True)],
        responses=FactsOutput,
    )
    def post(self, request: Request) -> Response:
        """The same, with the query in the body."""
        fields = self.read(FactsQueryInput)
        return self._answer(fields, fields.get("end_user_id"))

    def _answer(self, asked: Mapping[str, Any], end_user: str | None) -> Response:
        scope = self.reader(end_user, spans=True)
        found = query_facts(
            scope,
            subject=asked.get("subject"),
            predicate=asked.get("predicate"),
            at=asked.get("at"),
            known_at=asked.get("known_at"),
            limit=asked["limit"],
            now=self.now(),
        )
        read_log.record_read(scope)
        return Response({"facts": [_body(fact) for fact in found]})


class LimitInQuery(Parameters):
    """How many."""

    limit = ClampedInQuery(lowest=1, highest=200, default=50)


class ContradictionsView(ApiView):
    permissions: ClassVar = {"GET": "memory:read"}

    @operation("fact_contradictions", parameters=[LimitInQuery], responses=ContradictionsOutput)
    def get(self, request: Request) -> Response:
        """Pairs of current facts that contradict each other, newest first."""
        asked, scope = self.read_parameters(LimitInQuery), self.reader()
        found = contradictions(scope, limit=asked["limit"], now=self.now())
        read_log.record_read(scope)
        return Response(
            {
                "contradictions": [
                    {
                        "decision_id": one.decision.id,
                        "kind": one.decision.kind,
                        "detected_at": one.decision.detected_at,
                        "facts": [_body(fact) for fact in one.facts],
                    }
                    for one in found
                ]
            }
        )


def _body(fact: Fact) -> dict[str, Any]:
    memory, claim = fact.memory, fact.claim
    return {
        "memory_id": memory.id,
        "environment": memory.environment,
        "subject": claim.subject,
        "predicate": claim.predicate,
        "object": claim.object,
        "text": memory.text.reveal(),
        "valid_from": memory.valid_from,
        "valid_to": memory.valid_to,
        "validity": memory.validity,
        "superseded_by": memory.superseded_by,
        "confidence": memory.confidence,
        "source": memory.source or None,
        "recorded_at": memory.created_at,
        "retention_expires_at": memory.kept_until,
    }
