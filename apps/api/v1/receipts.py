"""GET /v1/receipts: signed receipts of the tenant's erasures; GET /v1/receipt-keys: the keys that verify them."""

from typing import Any, ClassVar, Final

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import WholeInQuery
from apps.api.input_serializers import Parameters
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.erasure.receipt_log import get_receipt, public_keys, receipts_of

MOST: Final = 200


class ReceiptsInput(Parameters):
    """Which."""

    limit = WholeInQuery(default=50, min_value=1, max_value=MOST)
    cursor = WholeInQuery(required=False, min_value=0, help_text="`next_cursor` of the previous response.")


class ReceiptInput(Parameters):
    since = WholeInQuery(
        required=False,
        min_value=1,
        help_text="Size of a checkpoint of yours: proves that the log only grew.",
    )


class ReceiptLine(serializers.Serializer[Any]):
    id = serializers.CharField()
    erasure_id = serializers.CharField()
    phase = serializers.CharField()
    kind = serializers.CharField()
    issued_at = serializers.DateTimeField()
    counts = serializers.DictField(child=serializers.IntegerField())


class ReceiptsOutput(serializers.Serializer[Any]):
    receipts = ReceiptLine(many=True)
    next_cursor = serializers.IntegerField(allow_null=True)


class LogOutput(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    path = serializers.ListField(child=serializers.CharField())
    checkpoint = serializers.CharField()


class DisclosureOutput(serializers.Serializer[Any]):
    nonce = serializers.CharField()
    target = serializers.DictField()


class GrowthOutput(serializers.Serializer[Any]):
    since = serializers.IntegerField()
    path = serializers.ListField(child=serializers.CharField())


class ReceiptOutput(serializers.Serializer[Any]):
    """A receipt's file, self-contained: docs/erasure.md."""

    format = serializers.CharField()
    receipt = serializers.DictField()
    log = LogOutput()
    disclosure = DisclosureOutput()
    growth = GrowthOutput(required=False)


class KeyOutput(serializers.Serializer[Any]):
    key_id = serializers.CharField()
    algorithm = serializers.CharField()
    public_key = serializers.CharField()
    not_before = serializers.DateTimeField()
    not_after = serializers.DateTimeField(allow_null=True)


class KeysOutput(serializers.Serializer[Any]):
    format = serializers.CharField()
    deployment = serializers.CharField()
    keys = KeyOutput(many=True)


class ReceiptsView(ApiView):
    permissions: ClassVar = {"GET": "receipts:read"}

    @operation("list_receipts", parameters=[ReceiptsInput], responses=ReceiptsOutput)
    def get(self, request: Request) -> Response:
        """Receipts of erasures in all environments and projects of the tenant, newest first."""
        fields = self.read_parameters(ReceiptsInput)
        limit = fields["limit"]
        found = receipts_of(self.scope(), limit=limit + 1, before=fields.get("cursor"))
        shown = found[:limit]
        return Response(
            {
                "receipts": ReceiptLine(shown, many=True).data,
                "next_cursor": shown[-1].index if len(found) > limit else None,
            }
        )


class ReceiptView(ApiView):
    permissions: ClassVar = {"GET": "receipts:read"}

    @operation("get_receipt", parameters=[ReceiptInput], responses=ReceiptOutput)
    def get(self, request: Request, receipt_id: str) -> Response:
        """A receipt's file: `memsync receipt verify` verifies it with only the public keys, anywhere."""
        since = self.read_parameters(ReceiptInput).get("since")
        return Response(get_receipt(self.scope(), receipt_id, since=since).file)


class ReceiptKeysView(ApiView):
    permissions: ClassVar = {"GET": "receipts:read"}

    @operation("list_receipt_keys", responses=KeysOutput)
    def get(self, request: Request) -> Response:
        """The public keys of this deployment's receipts: store them where you verify receipts."""
        self.scope()  # refuse an unknown project here too, as on every route
        return Response(public_keys().to_json())
