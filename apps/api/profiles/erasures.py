"""/v1/memory/{ns}/{profile}/erasures: a program asks for an erasure, which a person confirms in the browser."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Choice, Flag, Label, WholeInQuery
from apps.api.input_serializers import Input, Parameters
from apps.api.operations import operation
from apps.api.profiles.base import ProfileView, txid_of
from apps.api.profiles.output import milliseconds
from apps.api.v1.receipts import ReceiptOutput
from apps.core.errors import Invalid
from apps.erasure.receipt_log import erasure_id, receipts_of_erasures, uid_of
from apps.erasure.targets import MOST_MEMORIES
from apps.ingest.sessions import memories_of_session
from apps.memories.branches import with_branches
from apps.memories.selectors import MemoryNotFound
from apps.memories.typed import KEYED
from apps.memories.typed_selectors import describe_typed, ids_under, public_ids
from apps.projects.scope import Scope
from apps.retention.memory_selection import MemorySelection
from apps.retention.requests import (
    ForgetRequestNotFound,
    OpenedRequest,
    ask,
    cancel,
    get_erasing,
    list_requests,
)
from apps.retention.states import RequestState

MOST: Final = 1_000
PREFIX: Final = "ers_"
STATES: Final = ("pending", "grace", "blocked", "completed", "refused", "expired", "cancelled")
TARGETS: Final = ("memory_id", "topic_key", "session_id")


class TooManyToErase(Invalid):
    """This names more than ten thousand memories: name fewer, or have a person erase the profile."""

    code = "TOO_MANY_TO_ERASE"


class ErasureInput(Input):
    """Exactly one of a memory, a topic with its type, and a session."""

    one_of = TARGETS

    memory_id = Label(required=False)
    topic_key = Label(required=False, max_length=256, help_text="Every memory under it, current or replaced.")
    type = Choice(choices=KEYED, required=False, help_text="Of the topic key.")
    session_id = Label(required=False, max_length=256, help_text="Every memory of it.")
    turns = Flag(required=False, help_text="Of a session: also its turns.")

    def to_internal_value(self, data: Any) -> Any:
        fields = super().to_internal_value(data)
        if len(fields.keys() & set(self.one_of)) != 1:
            raise _refusal("give exactly one of memory_id, topic_key and session_id")
        if ("topic_key" in fields) != ("type" in fields):
            raise _refusal("a topic_key needs its type, and only a topic_key has one")
        if "turns" in fields and "session_id" not in fields:
            raise _refusal("only a session has turns")
        return fields


class ErasurePageInput(Parameters):
    """How many."""

    limit = WholeInQuery(default=100, min_value=1, max_value=MOST)


class BlockersOutput(serializers.Serializer[Any]):
    legal_holds = serializers.ListField(child=serializers.CharField(), help_text="Their cases.")


class ErasureOutput(serializers.Serializer[Any]):
    erasure_id = serializers.CharField(help_text="`ers_` and 32 hex digits: also the receipt's `erasure`.")
    status = serializers.ChoiceField(
        choices=STATES,
        help_text="`pending`: a person has to confirm it. `grace`: confirmed and hidden, erased at `grace_until`. "
        "`blocked`: by a legal hold; it goes on when the hold is lifted.",
    )
    target = serializers.DictField(help_text="As it was named.")
    memory_ids = serializers.ListField(child=serializers.CharField(), help_text="Those that it was about.")
    requested_at = serializers.IntegerField(help_text="Milliseconds since 1970.")
    grace_until = serializers.IntegerField(
        allow_null=True,
        help_text="Until then it can be confirmed; once it is, until then it can be undone. null: blocked.",
    )
    blocked_by = BlockersOutput(allow_null=True)
    completed_at = serializers.IntegerField(allow_null=True)
    receipt = ReceiptOutput(allow_null=True, help_text="The newest: `memsync receipt verify` verifies it offline.")


class AskedErasureOutput(ErasureOutput):
    txid = serializers.IntegerField(help_text="The profile's latest change.")


class ErasuresOutput(serializers.Serializer[Any]):
    erasures = ErasureOutput(many=True)


class ErasuresView(ProfileView):
    permissions: ClassVar = {"GET": "memory:forget_request", "POST": "memory:forget_request"}

    @operation("profile_erasures", parameters=[ErasurePageInput], responses=ErasuresOutput)
    def get(self, request: Request, ns: str, profile: str) -> Response:
        """List the erasures that were asked for, the newest first."""
        asked, scope = self.read_parameters(ErasurePageInput), self.found(ns, profile)
        page = list_requests(scope, erasing=True, limit=asked["limit"], now=self.now())
        return Response({"erasures": _bodies(scope, page.requests)})

    @operation(
        "profile_erase",
        request=ErasureInput,
        examples=[OpenApiExample("a topic", {"topic_key": "user.diet", "type": "fact"}, request_only=True)],
        responses={202: AskedErasureOutput},
    )
    def post(self, request: Request, ns: str, profile: str) -> Response:
        """Ask for an erasure.  Nothing changes until a person confirms it in the browser, with a fresh step-up.

        The same memories asked for again are the same request while it is pending.
        """
        fields, now = self.read(ErasureInput), self.now()
        scope = self.known(ns, profile)
        parts = with_branches(scope)
        if "memory_id" in fields:
            ids = [describe_typed(scope, fields["memory_id"], now=now).memory.id]
        elif "topic_key" in fields:
            ids = [one for part in parts for one in ids_under(part, fields["type"], fields["topic_key"], now=now)]
        else:
            ids = [one for part in parts for one in memories_of_session(part, fields["session_id"], now=now)]
        if not ids and not fields.get("turns"):
            raise MemoryNotFound
        if len(ids) > MOST_MEMORIES:
            raise TooManyToErase
        # Kept with the request: once erased, the memories name themselves no longer.
        target = {**fields, "memory_ids": sorted({one for part in parts for one in public_ids(part, ids).values()})}
        made, _ = ask(scope, MemorySelection(memory_ids=tuple(ids)), erases=target, now=now)
        self.reached(txid := txid_of(scope))
        return Response(_bodies(scope, [made])[0] | {"txid": txid}, status=202)


class ErasureView(ProfileView):
    permissions: ClassVar = {"GET": "memory:forget_request", "DELETE": "memory:forget_request"}

    @operation("profile_erasure", responses=ErasureOutput)
    def get(self, request: Request, ns: str, profile: str, erasure_id: str) -> Response:
        """One erasure that was asked for, with its newest receipt."""
        scope = self.known(ns, profile)
        return Response(_bodies(scope, [get_erasing(scope, _uid(erasure_id), now=self.now())])[0])

    @operation("profile_erasure_cancel", request=None, responses=ErasureOutput)
    def delete(self, request: Request, ns: str, profile: str, erasure_id: str) -> Response:
        """Cancel an erasure that no person has confirmed.  Once confirmed, a person can undo it until `grace_until`."""
        scope, now = self.known(ns, profile), self.now()
        one = get_erasing(scope, _uid(erasure_id), now=now)
        return Response(_bodies(scope, [cancel(scope, one.id, now=now)])[0])


def _uid(erasure_id: str) -> uuid.UUID:
    uid = uid_of(erasure_id, PREFIX)
    if uid is None:
        raise ForgetRequestNotFound
    return uid


def _bodies(scope: Scope, asked: Sequence[OpenedRequest]) -> list[dict[str, Any]]:
    uids = [one.erasure_uid for one in asked if one.erased_at and one.erasure_uid]
    receipts = receipts_of_erasures(scope, uids) if uids else {}
    return [_body(one, receipts.get(one.erasure_uid or uuid.UUID(int=0), ())) for one in asked]


def _body(one: OpenedRequest, receipts: Sequence[Any]) -> dict[str, Any]:
    target: Mapping[str, Any] = one.target
    return {
        "erasure_id": erasure_id(one.erasure_uid or uuid.UUID(int=0)),
        "status": _status(one),
        "target": {name: value for name, value in target.items() if name != "memory_ids"},
        "memory_ids": target.get("memory_ids", []),
        "requested_at": milliseconds(one.created_at),
        "grace_until": milliseconds(one.erase_at if one.state is RequestState.CONFIRMED else one.expires_at),
        "blocked_by": {"legal_holds": list(one.blocked_by)} if one.blocked_by else None,
        "completed_at": milliseconds(one.erased_at),
        "receipt": receipts[-1].file if receipts else None,
    }


def _status(one: OpenedRequest) -> str:
    if one.state is not RequestState.CONFIRMED:
        return one.state.value
    if one.erased_at is not None:
        return "completed"
    return "blocked" if one.blocked_by else "grace"


def _refusal(message: str) -> serializers.ValidationError:
    return serializers.ValidationError({"non_field_errors": [ErrorDetail(message, "one_selector")]})
