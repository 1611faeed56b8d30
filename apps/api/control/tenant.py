"""The tenant: its policies, its quota usage of this month, and its audit trail."""

from typing import Any, ClassVar, Final

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.request_tenant import tenant_of
from apps.api.fields import Choice, Label, Moment, WholeInQuery
from apps.api.input_serializers import Parameters
from apps.api.operations import operation
from apps.api.v1.quota import QuotaOutput, QuotaView
from apps.api.views import ControlView
from apps.audit.selectors import AuditFilter, list_events
from apps.tenants.services import POLICIES

MOST: Final = 200


class PoliciesOutput(serializers.Serializer[Any]):
    key_deletes = serializers.CharField()
    new_spaces = serializers.CharField()
    changes = serializers.CharField()
    instructions = serializers.CharField()
    session_summaries = serializers.CharField()
    ai_extract = serializers.CharField()
    ai_rerank = serializers.CharField()
    break_glass = serializers.CharField()
    require_second_factor = serializers.CharField()


class OrganizationOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    domain = serializers.CharField()


class SettingsOutput(serializers.Serializer[Any]):
    tenant_id = serializers.CharField(help_text="Its name, for X-Tenant-ID.")
    organization = OrganizationOutput()
    policies = PoliciesOutput()
    created_at = serializers.DateTimeField()


class TrailInput(Parameters):
    """Which rows."""

    limit = WholeInQuery(default=50, min_value=1, max_value=MOST)
    cursor = WholeInQuery(required=False, min_value=1, help_text="`next_cursor` of the previous response.")
    actor = Label(required=False, help_text="For example `account:3` or `api_key:7`.")
    action = Label(required=False, help_text="An exact action, or a prefix that ends with a dot: `api_key.`")
    success = Choice(choices=("true", "false"), required=False)
    start = Moment(required=False)
    end = Moment(required=False, is_end=True)


class ActorOutput(serializers.Serializer[Any]):
    type = serializers.CharField()
    id = serializers.CharField()


class AuditLogOutput(serializers.Serializer[Any]):
    event_id = serializers.IntegerField()
    timestamp = serializers.DateTimeField()
    actor = ActorOutput()
    action = serializers.CharField()
    category = serializers.CharField()
    resource_type = serializers.CharField()
    resource_id = serializers.CharField()
    success = serializers.BooleanField()
    reason = serializers.CharField()
    network = serializers.CharField()
    request_id = serializers.CharField()
    hash = serializers.CharField()


class TrailOutput(serializers.Serializer[Any]):
    logs = AuditLogOutput(many=True)
    next_cursor = serializers.IntegerField(allow_null=True)
    stats = serializers.DictField(allow_null=True)
    sort = serializers.CharField()


class SettingsView(ControlView):
    permissions: ClassVar = {"GET": "settings:read"}

    @operation("get_tenant_settings", responses=SettingsOutput)
    def get(self, request: Request) -> Response:
        """The tenant's policies; `memsync tenant policy` sets them."""
        tenant = tenant_of(self.caller)
        organization = tenant.organization
        return Response(
            {
                "tenant_id": tenant.name,
                "organization": {
                    "id": organization.pk,
                    "name": organization.name,
                    "domain": organization.domain,
                },
                "policies": {name: getattr(tenant, name) for name in POLICIES},
                "created_at": tenant.created_at,
            }
        )


class UsageView(QuotaView):
    permissions: ClassVar = {"GET": "usage:read"}

    @operation("get_usage", responses=QuotaOutput)
    def get(self, request: Request) -> Response:
        """The tenant's usage of this month's quota (UTC).  While the quota is off nothing is counted."""
        return super().get(request)


class TrailView(ControlView):
    permissions: ClassVar = {"GET": "audit:read"}

    @operation("list_audit_logs", parameters=[TrailInput], responses=TrailOutput)
    def get(self, request: Request) -> Response:
        """The tenant's audit trail, newest first, in the format of the control-plane client; `GET /v1/audit/events`
        returns complete rows, as they are chained."""
        fields = self.read_parameters(TrailInput)
        wanted = AuditFilter(
            action=fields.get("action"),
            actor=fields.get("actor"),
            outcome=OUTCOMES[fields["success"]] if "success" in fields else None,
            since=fields.get("start"),
            until=fields.get("end"),
        )
        found = list_events(self.caller, wanted, before=fields.get("cursor"), limit=fields["limit"] + 1)
        shown = found[: fields["limit"]]
        return Response(
            {
                "logs": [_log(one) for one in shown],
                "next_cursor": shown[-1].seq if len(found) > fields["limit"] else None,
                "stats": None,
                "sort": "desc",
            }
        )


OUTCOMES: Final = {"true": "ok", "false": "denied"}


def _log(entry: Any) -> dict[str, Any]:
    actor, _, actor_id = entry.actor.partition(":")
    resource, _, resource_id = entry.target.partition(":")
    return {
        "event_id": entry.seq,
        "timestamp": entry.created_at,
        "actor": {"type": actor, "id": actor_id},
        "action": entry.action,
        "category": entry.action.partition(".")[0],
        "resource_type": resource,
        "resource_id": resource_id,
        "success": entry.outcome == "ok",
        "reason": entry.reason,
        "network": entry.network,
        "request_id": entry.request_id,
        "hash": entry.hash,
    }
