"""The audit trail of a namespace and of a profile: who did what and when, without content."""

import math
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Choice, Label, WholeInQuery
from apps.api.input_serializers import Parameters
from apps.api.operations import operation
from apps.api.profiles.base import ProfileNotFound, ProfileView
from apps.apikeys.selectors import list_tokens
from apps.audit.selectors import AuditFilter
from apps.memories.spaces import find_namespace
from apps.memories.typed_selectors import MOST_READ, list_profiles
from apps.projects.scope import Scope
from apps.retention.profile_events import ProfileEvent, list_profile_events

MOST: Final = 1_000
MOST_TOKENS: Final = 10_000  # of a namespace, the newest
LATEST: Final = 253_402_300_799_999  # milliseconds: the last of the year 9999
FAILED: Final = "failed"  # an audit row's outcome that the contract calls an error
OUTCOMES: Final = ("ok", "denied", "error")


class AuditInput(Parameters):
    """Which events."""

    def get_fields(self) -> dict[str, Any]:
        # ``from`` is no name of a class attribute.
        moment: dict[str, Any] = {"required": False, "min_value": 0, "max_value": LATEST}
        return {
            "from": WholeInQuery(**moment, help_text="Milliseconds since 1970, inclusive."),
            "to": WholeInQuery(**moment, help_text="Milliseconds since 1970, exclusive."),
            "action": Label(required=False, help_text="Exact, or a prefix that ends with a dot: `memory.`"),
            "outcome": Choice(choices=OUTCOMES, required=False),
            "limit": WholeInQuery(default=100, min_value=1, max_value=MOST),
            "cursor": WholeInQuery(required=False, min_value=1, help_text="`next_cursor` of the previous response."),
        }


class NamespaceAuditInput(AuditInput):
    """Which events."""

    def get_fields(self) -> dict[str, Any]:
        return super().get_fields() | {"profile": Label(required=False, help_text="Only those of this profile.")}


class ProfileEventOutput(serializers.Serializer[Any]):
    seq = serializers.IntegerField(help_text="In the tenant's trail.")
    at = serializers.IntegerField(help_text="Milliseconds since 1970.")
    actor = serializers.CharField(help_text="`api_key:7`, `account:3` or `system:0`.")
    action = serializers.CharField()
    outcome = serializers.ChoiceField(choices=OUTCOMES)
    profile = serializers.CharField(allow_null=True, help_text="null: of the namespace itself.")
    target = serializers.CharField()
    reason = serializers.CharField(allow_blank=True)
    count = serializers.IntegerField()


class ProfileEventsOutput(serializers.Serializer[Any]):
    events = ProfileEventOutput(many=True)
    next_cursor = serializers.IntegerField(allow_null=True)
    complete = serializers.BooleanField(help_text="Whether this page reaches the end of the trail.")


class NamespaceAuditView(ProfileView):
    in_branches: ClassVar = False
    permissions: ClassVar = {"GET": "audit:read"}

    @operation("namespace_audit", parameters=[NamespaceAuditInput], responses=ProfileEventsOutput)
    def get(self, request: Request, ns: str) -> Response:
        """What was done in a namespace, in the key's environment, the oldest first.

        A page may be short or empty although more follow: `complete` says so.
        """
        fields = self.read_parameters(NamespaceAuditInput)
        self.owner(ns)
        scope = self.scope()
        profiles = list_profiles(scope, ns, limit=MOST_READ, now=self.now())
        if (wanted := fields.get("profile")) is not None:
            if wanted not in profiles:
                raise ProfileNotFound
            profiles, others = {wanted: profiles[wanted]}, []
        else:
            others = _targets_of_namespace(scope, ns)
        return Response(_page(scope, profiles, others, fields))


class ProfileAuditView(ProfileView):
    in_branches: ClassVar = False
    permissions: ClassVar = {"GET": "audit:read"}

    @operation("profile_audit", parameters=[AuditInput], responses=ProfileEventsOutput)
    def get(self, request: Request, ns: str, profile: str) -> Response:
        """What was done to a profile, the oldest first."""
        fields, scope = self.read_parameters(AuditInput), self.known(ns, profile)
        return Response(_page(scope, {profile: scope.space.id}, [], fields))


def _targets_of_namespace(scope: Scope, ns: str) -> list[str]:
    found = None if ns == scope.tenant.name else find_namespace(scope, ns)
    if found is None:
        return []
    tokens = list_tokens(scope, namespace_id=found, profile_id=None, most=MOST_TOKENS)
    return [f"namespace:{found}", *(f"api_key:{one.pk}" for one in tokens)]


def _page(
    scope: Scope, profiles: Mapping[str, int], others: Collection[str], fields: Mapping[str, Any]
) -> dict[str, Any]:
    outcome = fields.get("outcome")
    wanted = AuditFilter(
        action=fields.get("action"),
        outcome=FAILED if outcome == "error" else outcome,
        since=_moment(fields.get("from")),
        until=_moment(fields.get("to")),
    )
    page = list_profile_events(
        scope,
        list(profiles.values()),
        wanted,
        others=others,
        after=fields.get("cursor", 0),
        limit=fields["limit"],
    )
    names = {space_id: name for name, space_id in profiles.items()}
    return {
        "events": [_body(one, names) for one in page.events],
        "next_cursor": page.next_after,
        "complete": page.next_after is None,
    }


def _moment(since_1970: int | None) -> datetime | None:
    return None if since_1970 is None else datetime.fromtimestamp(since_1970 / 1000, UTC)


def _body(one: ProfileEvent, names: Mapping[int, str]) -> dict[str, Any]:
    return {
        "seq": one.seq,
        "at": math.floor(one.at.timestamp() * 1000),  # so that ``from`` with it finds the event
        "actor": one.actor,
        "action": one.action,
        "outcome": "error" if one.outcome == FAILED else one.outcome,
        "profile": None if one.space_id is None else names[one.space_id],
        "target": one.target,
        "reason": one.reason,
        "count": one.count,
    }
