"""Policies of a namespace and of a profile: fields of the published contract, for rules of retention."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Whole
from apps.api.input_serializers import Input
from apps.api.operations import operation
from apps.api.profiles.base import ProfileView
from apps.api.v1.retention import LOOSEN, PolicyBeyondKey
from apps.core.errors import NotFound
from apps.core.scoping import tenant_transaction
from apps.memories.spaces import find_namespace, get_or_create_namespace, get_or_create_owned
from apps.policies.retention import (
    BOUNDS,
    KEEP,
    OF_NAMESPACE,
    InForce,
    Level,
    Policy,
    PolicyLoosened,
    StricterAbove,
    StricterThanKeysMay,
    concerned_by,
    set_policy,
    strictest,
)
from apps.projects.scope import Environment

DAY: Final = 86_400
# Rule: section and field of the contract.
FIELDS: Final[Mapping[str, tuple[str, str]]] = {
    "task_ttl_seconds": ("memory", "task_ttl_max_secs"),
    "event_max_age_seconds": ("memory", "event_max_age_secs"),
    "superseded_max_age_seconds": ("memory", "superseded_max_age_secs"),
    "superseded_max_count": ("memory", "superseded_max_count"),
    "grace_days": ("erasure", "grace_secs"),
}


class PolicyNotSet(NotFound):
    """This namespace has no policy of its own."""

    code = "POLICY_NOT_SET"


def _within(rule: str) -> dict[str, Any]:
    least, most = BOUNDS[rule]
    return {"required": False, "min_value": least, "max_value": most}


class WholeDays(Whole):
    """Seconds of whole days."""

    default_error_messages: ClassVar = Whole.default_error_messages | {"days": "must be whole days: multiples of 86400"}

    def to_internal_value(self, data: Any) -> int:
        seconds = int(super().to_internal_value(data))
        if seconds % DAY:
            self.fail("days")
        return seconds


class MemoryRulesInput(Input):
    task_ttl_max_secs = Whole(**_within("task_ttl_seconds"), help_text="Maximum lifetime of a task.")
    event_max_age_secs = Whole(**_within("event_max_age_seconds"), help_text="Maximum age of an event.")
    superseded_max_age_secs = Whole(
        **_within("superseded_max_age_seconds"), help_text="How long a memory is kept after it was replaced."
    )
    superseded_max_count = Whole(
        **_within("superseded_max_count"), help_text="How many replaced memories of one topic are kept."
    )


class ErasureRulesInput(Input):
    grace_secs = WholeDays(
        required=False,
        min_value=0,
        max_value=BOUNDS["grace_days"][1] * DAY,
        help_text="From a deletion until its memories are gone for good, in whole days; keys may not shorten it.",
    )


class PolicyFieldsInput(Input):
    """The whole policy: a rule that is left out is not set."""

    memory = MemoryRulesInput(required=False)
    erasure = ErasureRulesInput(required=False)


class PolicyInput(Input):
    one_of = ("policy",)  # required, although it may be null

    policy = PolicyFieldsInput(required=False, allow_null=True, help_text="null clears it.")

    def to_internal_value(self, data: Any) -> Any:
        # Not the same as absent, as elsewhere: the contract clears a policy with it.
        clears = isinstance(data, dict) and set(data) == {"policy"} and data["policy"] is None
        fields = {} if clears else super().to_internal_value(data)
        if not clears and "policy" not in fields:
            raise serializers.ValidationError({"policy": ErrorDetail("is required", "required")})
        return fields


class PolicyRulesOutput(serializers.Serializer[Any]):
    memory = serializers.DictField(child=serializers.IntegerField(), required=False)
    erasure = serializers.DictField(child=serializers.IntegerField(), required=False)


class PolicyOutput(serializers.Serializer[Any]):
    override = PolicyRulesOutput(allow_null=True, help_text="What is set here. null: nothing.")
    effective = PolicyRulesOutput(
        help_text="The strictest of tenant, project, namespace and profile. No field: no limit."
    )
    revision = serializers.IntegerField(help_text="Counts changes of what is set here; 0: never set.")


class PolicyView(ProfileView):
    """The common part: GET, PUT and DELETE of the policy at one level."""

    in_branches: ClassVar = False
    permissions: ClassVar = {"GET": "retention:read", "PUT": "retention:write", "DELETE": "retention:write"}
    fresh: ClassVar = frozenset({"PUT", "DELETE"})  # of a person: what has expired is deleted
    destroys: ClassVar = frozenset({"PUT", "DELETE"})
    level: ClassVar[Level]

    def _put(self, target_id: int, policy: Mapping[str, Any] | None) -> Response:
        """Set this policy, and no other rule than its own."""
        asked = {rule: (policy or {}).get(section, {}).get(name) for rule, (section, name) in FIELDS.items()}
        if asked["grace_days"] is not None:
            asked["grace_days"] //= DAY
        before, _ = self._policy(target_id)
        changed = {
            rule: value for rule, value in asked.items() if value != (before.rules.get(rule) if before else None)
        }
        if changed:
            may = LOOSEN in self.caller.permissions
            try:
                set_policy(self.caller, self.level, target_id, changed, loosens=may, now=self.now())
            except (PolicyLoosened, StricterAbove, StricterThanKeysMay) as refused:
                raise type(refused)(details=[_as_asked(one) for one in refused.details]) from None
        return Response(self._body(target_id))

    def _body(self, target_id: int | None) -> dict[str, Any]:
        return policy_body(*self._policy(target_id))

    def _policy(self, target_id: int | None) -> tuple[Policy | None, dict[str, InForce]]:
        """The policy set here, if any, and the rules in force."""
        scope = self.caller
        with tenant_transaction(scope):
            concerned = concerned_by(scope, self.level, target_id or 0)
        mine = (one for one in concerned if (one.level, one.target_id) == (self.level, target_id))
        return next(mine, None), strictest(concerned)


class NamespacePolicyView(PolicyView):
    level: ClassVar = Level.NAMESPACE

    @operation("namespace_policy", responses=PolicyOutput)
    def get(self, request: Request, ns: str) -> Response:
        """The policy of a namespace, and the rules in force in it.  404 if it has none of its own."""
        self.owner(ns)
        body = self._body(find_namespace(self.scope(), ns))
        if body["override"] is None:
            raise PolicyNotSet
        return Response(body)

    @operation(
        "set_namespace_policy",
        request=PolicyInput,
        examples=[
            OpenApiExample("tasks of a day", {"policy": {"memory": {"task_ttl_max_secs": 86400}}}, request_only=True)
        ],
        responses=PolicyOutput,
    )
    def put(self, request: Request, ns: str) -> Response:
        """Set the policy of a namespace, before or after its first profile.  409 if it would keep more than before, or
        than the tenant's policy does; only an owner in person may loosen it."""
        policy = self.read(PolicyInput).get("policy")
        self._check_reach(ns)
        if policy is None and find_namespace(self.scope(), ns) is None:
            raise PolicyNotSet
        return self._put(get_or_create_namespace(self.scope(), ns, now=self.now()), policy)

    @operation("clear_namespace_policy", request=None, responses={204: None})
    def delete(self, request: Request, ns: str) -> Response:
        """Clear the policy of a namespace.  409 if it limits anything, as for PUT."""
        self._check_reach(ns)
        found = find_namespace(self.scope(), ns)
        if found is None or self._body(found)["override"] is None:
            raise PolicyNotSet
        self._put(found, None)
        return Response(None, status=204)

    def _check_reach(self, ns: str) -> None:
        """Raises PolicyBeyondKey: the policy applies in every environment and project."""
        self.owner(ns)
        if self.caller.environment != Environment.PRODUCTION or self.caller.project_id is not None:
            raise PolicyBeyondKey


class ProfilePolicyView(PolicyView):
    permissions: ClassVar = PolicyView.permissions | {"GET": "memory:read"}
    level: ClassVar = Level.SPACE

    @operation("profile_policy", responses=PolicyOutput)
    def get(self, request: Request, ns: str, profile: str) -> Response:
        """The policy of a profile, and the rules in force for it."""
        return Response(self._body(self.known(ns, profile).space.id))

    @operation(
        "set_profile_policy",
        request=PolicyInput,
        examples=[OpenApiExample("a day to undo", {"policy": {"erasure": {"grace_secs": 604800}}}, request_only=True)],
        responses=PolicyOutput,
    )
    def put(self, request: Request, ns: str, profile: str) -> Response:
        """Set the policy of a profile, which is created if it has no memories yet.  409 if it would keep more than
        before, or than the policy of its tenant or namespace does."""
        policy, now = self.read(PolicyInput).get("policy"), self.now()
        owner, scope = self.owner(ns, profile), self.scope(writes=True)
        if policy is None:
            self.known(ns, profile)
        else:
            self.found(ns, profile)
        space = get_or_create_owned(scope, owner, now=now)
        return self._put(space.id, policy)

    @operation("clear_profile_policy", request=None, responses={204: None})
    def delete(self, request: Request, ns: str, profile: str) -> Response:
        """Clear the policy of a profile.  409 if it limits anything, as for PUT."""
        scope = self.known(ns, profile, writes=True)
        if self._body(scope.space.id)["override"] is None:
            raise PolicyNotSet("This profile has no policy of its own.")
        self._put(scope.space.id, None)
        return Response(None, status=204)


def policy_body(mine: Policy | None, holds: Mapping[str, InForce]) -> dict[str, Any]:
    said = {rule: mine.rules.get(rule) for rule in OF_NAMESPACE} if mine else {}
    return {
        "override": _sections(said) or None,
        "effective": _sections({rule: holds[rule].value for rule in OF_NAMESPACE}),
        "revision": mine.revision if mine else 0,
    }


def _as_asked(detail: Mapping[str, Any]) -> dict[str, Any]:
    """A detail of a refusal, with the field and the unit of the request."""
    rule = detail["field"]
    numbers = {name: detail[name] for name in ("holds", "least") if isinstance(detail.get(name), int)}
    if rule == "grace_days":
        numbers = {name: number * DAY for name, number in numbers.items()}
    return dict(detail) | numbers | {"field": ".".join(FIELDS[rule])}


def _sections(values: Mapping[str, int | None]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for rule, (section, name) in FIELDS.items():
        value = values.get(rule)
        if value is not None and value != KEEP:
            found.setdefault(section, {})[name] = value * DAY if rule == "grace_days" else value
    return found
