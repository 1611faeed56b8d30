"""POST /memory/bulk-add: store up to fifty memories, for one end user or several."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.errors import invalid
from apps.api.fields import Flag
from apps.api.input_serializers import OWNERS, Input
from apps.api.memory.add import RememberInput, proposal
from apps.api.memory.memory_output import DecisionOutput, decisions_body
from apps.api.operations import operation
from apps.api.views import ApiView, EndUserMissing
from apps.core.errors import DomainError
from apps.ingest.candidates import Outcome, Proposal
from apps.ingest.services import remember_each

MAX_ITEMS: Final = 50

Result = Outcome | DomainError


class Items(serializers.ListField):
    """Up to fifty objects.  Each is validated later on its own, so that an invalid one does not reject the others."""

    default_error_messages: ClassVar = {
        "required": "field required",
        "not_a_list": "must be a list",
        "empty": "must hold at least one item",
        "max_length": "must hold at most {max_length} items",
    }

    def run_child_validation(self, data: Any) -> Any:
        return list(data)

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        return {"items": {"anyOf": [mapped["items"], {}]}}


class BulkInput(Input):
    """Up to fifty things to remember, for one end user or several."""

    passed_over = OWNERS

    items = Items(child=RememberInput(), allow_empty=False, max_length=MAX_ITEMS)
    deduplicate = Flag(default=True)


class BulkResultOutput(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    status = serializers.ChoiceField(choices=["created", "skipped", "rejected"])
    memory_ids = serializers.ListField(child=serializers.IntegerField())
    reason = serializers.CharField(allow_null=True)
    decisions = DecisionOutput(many=True)


class BulkOutput(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    created = serializers.IntegerField()
    skipped = serializers.IntegerField()
    rejected = serializers.IntegerField()
    results = BulkResultOutput(many=True)


class BulkAddView(ApiView):
    permissions: ClassVar = {"POST": "memory:add"}
    meters: ClassVar = {"POST": "adds"}

    @operation(
        "bulk_add",
        request=BulkInput,
        examples=[
            OpenApiExample(
                "two facts",
                {"items": [{"text": "I live in Lisbon."}, {"text": "My dog is called Rex.", "end_user_id": "bob"}]},
                request_only=True,
            )
        ],
        responses={207: BulkOutput},
    )
    def post(self, request: Request) -> Response:
        """Store up to fifty memories.

        Each item may name its own end user.  An invalid item is rejected and the others are stored; results are in the
        order of the items.
        """
        fields, now = self.read(BulkInput), self.now()
        base = self.scope(writes=True)
        results: dict[int, Result] = {}
        by_person: dict[str, dict[int, Proposal]] = {}
        for index, item in enumerate(fields["items"]):
            try:
                checked = _checked(item)
                person = self.end_user(checked.get("end_user_id"))
            except DomainError as refusal:
                results[index] = refusal
            else:
                proposals = by_person.setdefault(person, {})
                proposals[index] = proposal(checked, deduplicate=fields["deduplicate"])
        if all(isinstance(results.get(index), EndUserMissing) for index in range(len(fields["items"]))):
            raise EndUserMissing
        for person, proposals in by_person.items():
            results |= remember_each(base, person, proposals, now=now)
        return Response(_body([results[index] for index in sorted(results)]), status=207)


def _checked(item: object) -> Mapping[str, Any]:
    """The fields of an item.  Raises Invalid, whose message names the field but not the item: the result has its
    index."""
    try:
        return dict(RememberInput.check(item))
    except serializers.ValidationError as found:
        raise invalid(found) from found


def _body(results: Sequence[Result]) -> dict[str, Any]:
    reported = [_result(index, result) for index, result in enumerate(results)]
    counts = Counter(entry["status"] for entry in reported)
    return {
        "total": len(reported),
        "created": counts["created"],
        "skipped": counts["skipped"],
        "rejected": counts["rejected"],
        "results": reported,
    }


def _result(index: int, result: Result) -> dict[str, Any]:
    if isinstance(result, DomainError):
        return {"index": index, "status": "rejected", "memory_ids": [], "reason": result.message, "decisions": []}
    return {
        "index": index,
        "status": "created" if result.is_stored else "skipped",
        "memory_ids": result.memory_ids,
        "reason": None if result.is_stored else result.reason,
        "decisions": decisions_body(result.decisions),
    }
