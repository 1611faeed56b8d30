"""POST /v1/memory/{ns}/{profile}/extract: typed memories from a transcript."""

from typing import Any, ClassVar

import orjson
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
from apps.ingest.typed import write_owned
from apps.ingest.typed_extraction import MOST_TURNS, SaidTurn, propose_typed
from apps.memories.typed import TypedMemory


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


class ExtractOutput(serializers.Serializer[Any]):
    proposed = ProposedOutput(many=True)
    results = TypedResultOutput(many=True, required=False, help_text="One for each; not of a dry run.")
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

        The same transcript again makes duplicates.
        """
        fields, now = self.read(ExtractInput), self.now()
        known = self.found(ns, profile)
        scope = self.scope(writes=not fields["dry_run"])
        turns = [SaidTurn(role=one["role"], content=Plaintext(one["content"])) for one in fields["turns"]]
        proposed = propose_typed(
            scope, turns, session_id=fields.get("session_id"), source=fields.get("source", ""), now=now
        )
        body = {"proposed": [_proposed(one) for one in proposed]}
        if fields["dry_run"]:
            return Response(body)
        if not proposed:
            txid = txid_of(known)
            self.reached(txid)
            return Response({**body, "results": [], "txid": txid}, status=201)
        outcome = write_owned(scope, self.owner(ns, profile), proposed, now=now)
        self.reached(outcome.txid)
        return Response(body | outcome_body(outcome), status=201)


def _proposed(one: TypedMemory) -> dict[str, Any]:
    return {
        "type": one.type,
        "topic_key": one.topic_key,
        "summary": one.summary.reveal(),
        "content": orjson.loads(one.content.reveal()),
        "keywords": "",
    }
