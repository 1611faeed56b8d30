"""GET /v1/quota: the tenant's quota usage of this month."""

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.operations import operation
from apps.api.views import ApiView
from apps.apikeys.quota import quota_mode, standings


class MeterOutput(serializers.Serializer[Any]):
    meter = serializers.CharField()
    used = serializers.IntegerField()
    limit = serializers.IntegerField(allow_null=True)
    remaining = serializers.IntegerField(allow_null=True)


class QuotaOutput(serializers.Serializer[Any]):
    mode = serializers.CharField(help_text="off, strict or silent.")
    month = serializers.CharField()
    meters = MeterOutput(many=True)


class QuotaView(ApiView):
    permissions: ClassVar = {"GET": "memory:read"}

    @operation("quota", responses=QuotaOutput)
    def get(self, request: Request) -> Response:
        """Usage of this month's quota (UTC).  While the quota is off nothing is counted."""
        scope, now = self.scope(), self.now()
        meters = [
            {
                "meter": one.meter,
                "used": one.used,
                "limit": one.limit,
                "remaining": None if one.limit is None else max(0, one.limit - one.used),
            }
            for one in standings(scope, now=now)
        ]
        return Response({"mode": quota_mode(scope), "month": f"{now:%Y-%m}", "meters": meters})
