"""/v1/retention: what is kept for how long and by whose word, made stricter, and what goes next."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Choice, Input, Parameters, Whole, WholeInQuery
from apps.api.views import ApiView
from apps.core.errors import Forbidden
from apps.projects.policies import BOUNDS, MEANINGS, InForce, Level, in_force, set_policy
from apps.projects.scope import Environment, Scope
from apps.projects.selectors import SpaceNotFound
from apps.retention.previewing import Leaving, preview


class PolicyBeyondKey(Forbidden):
    """A policy of the tenant or of a project holds in every environment: it takes a key of production, and for the
    tenant one that is pinned to no project."""

    code = "POLICY_BEYOND_KEY"


class RetentionInput(Input):
    """Rules to make stricter; what is not named stays as it is."""

    some_of = tuple(BOUNDS)

    level = Choice(
        choices=("tenant", "project", "space"),
        help_text="Of the whole tenant, of the project of the request, or of its end user's space.",
    )
    active_days = Whole(required=False, min_value=1, max_value=36_500)
    archive_days = Whole(required=False, min_value=0, max_value=36_500)
    grace_days = Whole(required=False, min_value=0, max_value=7)
    task_ttl_seconds = Whole(required=False, min_value=60, max_value=3_153_600_000)
    event_max_age_seconds = Whole(required=False, min_value=60, max_value=3_153_600_000)
    superseded_max_age_seconds = Whole(required=False, min_value=60, max_value=3_153_600_000)
    superseded_max_count = Whole(required=False, min_value=1, max_value=1_000_000)


class PreviewInput(Parameters):
    """How far ahead."""

    days = WholeInQuery(default=30, min_value=0, max_value=3_660)


class RuleOutput(serializers.Serializer[Any]):
    rule = serializers.CharField()
    value = serializers.IntegerField(allow_null=True, help_text="null: no limit")
    level = serializers.CharField(help_text="Whose word it is: default, tenant, project or space.")
    limits = serializers.CharField()


class RetentionOutput(serializers.Serializer[Any]):
    rules = RuleOutput(many=True)


class LeavingOutput(serializers.Serializer[Any]):
    day = serializers.DateField(help_text="UTC; before today for what a legal hold keeps.")
    step = serializers.CharField(help_text="archived, soft_deleted or purged.")
    rule = serializers.CharField()
    value = serializers.IntegerField(allow_null=True)
    level = serializers.CharField()
    is_held = serializers.BooleanField(help_text="A legal hold keeps them until it is lifted.")
    count = serializers.IntegerField()
    memory_ids = serializers.ListField(child=serializers.IntegerField(), help_text="The first hundred.")


class PreviewOutput(serializers.Serializer[Any]):
    leaving = LeavingOutput(many=True)


class RetentionView(ApiView):
    permissions: ClassVar = {"GET": "retention:read", "PUT": "retention:write"}
    fresh: ClassVar = frozenset({"PUT"})  # of a person: what is past its time is deleted

    @extend_schema(operation_id="get_retention", responses=RetentionOutput)
    def get(self, request: Request) -> Response:
        """The policy in force for the project, and for the end user if one is named, and whose word each rule is."""
        return Response(_policy(self._concerned(self.scope())))

    @extend_schema(
        operation_id="tighten_retention",
        request=RetentionInput,
        examples=[OpenApiExample("a month", {"level": "project", "active_days": 30}, request_only=True)],
        responses=RetentionOutput,
    )
    def put(self, request: Request) -> Response:
        """Make the policy stricter; a rule that would keep more than what holds is refused with 409."""
        rules: Mapping[str, Any] = dict(self.read(RetentionInput))
        level = Level(rules["level"])
        scope = self.scope(writes=True)
        if level == Level.SPACE:
            scope = self.reader(writes=True)
            if not scope.spaces:
                raise SpaceNotFound
        elif scope.environment != Environment.PRODUCTION or (level == Level.TENANT and _key(request).project_id):
            raise PolicyBeyondKey
        target = {Level.TENANT: 0, Level.PROJECT: scope.project_id or 0}
        target_id = scope.space.id if level == Level.SPACE else target[level]
        said = {name: rules[name] for name in BOUNDS if rules.get(name) is not None}
        set_policy(scope, level, target_id, said, now=self.now())
        return Response(_policy(self._concerned(scope)))

    def _concerned(self, scope: Scope) -> dict[str, InForce]:
        named = self.end_user_or_none(None)
        if named is not None and not scope.spaces:
            scope = self.reader()
        return in_force(scope, project_id=scope.project_id, space_ids=[space.id for space in scope.spaces])


class RetentionPreviewView(ApiView):
    permissions: ClassVar = {"GET": "retention:read"}

    @extend_schema(operation_id="preview_retention", parameters=[PreviewInput], responses=PreviewOutput)
    def get(self, request: Request) -> Response:
        """What goes until then, by day and rule: the next step of each memory of every end user, in the environment of
        the key and, where it is pinned to one, in its project."""
        now = self.now()
        until = now + timedelta(days=self.read_parameters(PreviewInput)["days"])
        self.scope()  # a project that is named must be there, although the answer is of all that the key reaches
        scope = _key(request)
        found = preview(scope, until=until, environment=scope.environment, project_id=scope.project_id, now=now)
        return Response({"leaving": [_leaving(one) for one in found]})


def _key(request: Request) -> Scope:
    """What the key itself reaches, whatever the request names."""
    scope = request.user
    assert isinstance(scope, Scope)  # noqa: S101  (every route that is not open has a key)
    return scope


def _policy(rules: Mapping[str, InForce]) -> dict[str, Any]:
    return {
        "rules": [
            {"rule": one.rule, "value": one.value, "level": one.level, "limits": MEANINGS[one.rule]}
            for one in rules.values()
        ]
    }


def _leaving(one: Leaving) -> dict[str, Any]:
    return {
        "day": one.day,
        "step": one.step,
        "rule": one.rule,
        "value": one.value,
        "level": one.level,
        "is_held": one.is_held,
        "count": one.count,
        "memory_ids": one.ids,
    }
