"""/v1/retention: read and change retention policies, and preview what they will remove."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Choice, Flag, Whole, WholeInQuery
from apps.api.input_serializers import Input, Parameters
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.core.errors import Forbidden
from apps.policies.retention import BOUNDS, KEEP, MEANINGS, RULES, WORDS, InForce, Level, in_force, set_policy
from apps.projects.scope import Environment, Scope
from apps.projects.selectors import SpaceNotFound
from apps.retention.previewing import Leaving, preview, preview_change

LOOSEN: Final = "retention:loosen"  # granted by users' roles; no key has it


class PolicyBeyondKey(Forbidden):
    """A tenant or project policy applies in all environments: it needs a production key, unpinned for the tenant."""

    code = "POLICY_BEYOND_KEY"


class Limit(Whole):
    """An integer, or the word ``keep``: no limit."""

    default_error_messages: ClassVar = Whole.default_error_messages | {"integer": "must be an integer, or keep"}

    def run_validation(self, data: Any = serializers.empty) -> Any:
        return KEEP if data == "keep" else super().run_validation(data)

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        number = {"type": "integer", **super().published(mapped)}
        return dict.fromkeys(number) | {"oneOf": [number, {"type": "string", "enum": ["keep"]}]}


def _within(rule: str) -> dict[str, Any]:
    least, most = BOUNDS[rule]
    return {"required": False, "min_value": least, "max_value": most, "help_text": f"{MEANINGS[rule].capitalize()}."}


class RetentionInput(Input):
    """Rules to change; omitted rules do not change.  `keep` means no limit."""

    some_of = RULES

    level = Choice(
        choices=("tenant", "project", "space"),
        help_text="Applies to the whole tenant, the request's project or its end user's space.",
    )
    active_days = Limit(**_within("active_days"))
    active_from = Choice(choices=tuple(WORDS), required=False, help_text=f"{MEANINGS['active_from'].capitalize()}.")
    archive_days = Whole(**_within("archive_days"))
    grace_days = Whole(**_within("grace_days"))
    task_ttl_seconds = Limit(**_within("task_ttl_seconds"))
    event_max_age_seconds = Limit(**_within("event_max_age_seconds"))
    superseded_max_age_seconds = Limit(**_within("superseded_max_age_seconds"))
    superseded_max_count = Limit(**_within("superseded_max_count"))
    dry_run = Flag(default=False, help_text="Return the resulting policy and removals, and change nothing.")


class PreviewInput(Parameters):
    """How far ahead."""

    days = WholeInQuery(default=30, min_value=0, max_value=3_660)


class RuleOutput(serializers.Serializer[Any]):
    rule = serializers.CharField()
    value = serializers.IntegerField(allow_null=True, help_text="null: no limit, or not a number")
    said = serializers.JSONField(allow_null=True, help_text="As PUT accepts it: a number or a word. null: not set.")
    level = serializers.CharField(help_text="The level that set it: default, tenant, project or space.")
    limits = serializers.CharField()


class GoingOutput(serializers.Serializer[Any]):
    days = serializers.IntegerField(help_text="Within this many days; 0: by the next run.")
    before = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Memories by step, current policies; a memory counts at each of its steps.",
    )
    after = serializers.DictField(child=serializers.IntegerField(), help_text="The same, changed policies.")


class RetentionOutput(serializers.Serializer[Any]):
    rules = RuleOutput(many=True)
    going = GoingOutput(many=True, required=False, help_text="Of a dry run.")


class LeavingOutput(serializers.Serializer[Any]):
    day = serializers.DateField(help_text="UTC; before today for memories under a legal hold.")
    step = serializers.CharField(help_text="archived, soft_deleted or purged.")
    rule = serializers.CharField()
    value = serializers.IntegerField(allow_null=True)
    level = serializers.CharField()
    is_held = serializers.BooleanField(help_text="Protected by a legal hold until it is lifted.")
    count = serializers.IntegerField()
    memory_ids = serializers.ListField(child=serializers.IntegerField(), help_text="The first hundred.")


class PreviewOutput(serializers.Serializer[Any]):
    leaving = LeavingOutput(many=True)


class RetentionView(ApiView):
    permissions: ClassVar = {"GET": "retention:read", "PUT": "retention:write"}
    fresh: ClassVar = frozenset({"PUT"})  # of a user: expired memories are deleted
    destroys: ClassVar = frozenset({"PUT"})

    @operation("get_retention", responses=RetentionOutput)
    def get(self, request: Request) -> Response:
        """The policy in force for the project, and for the end user if one is named, with the level of each rule."""
        return Response(_policy(self._concerned(self.scope())))

    @operation(
        "tighten_retention",
        request=RetentionInput,
        examples=[
            OpenApiExample("a month", {"level": "project", "active_days": 30}, request_only=True),
            OpenApiExample("for good", {"level": "tenant", "active_days": "keep"}, request_only=True),
        ],
        responses=RetentionOutput,
    )
    def put(self, request: Request) -> Response:
        """Change the policy: stricter, or, for an owner in person, looser.

        From anyone else, a rule that would keep more than the policy in force is refused with 409, as is one that a
        stricter wider level overrides.
        """
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
        said = {name: WORDS.get(rules[name], rules[name]) for name in RULES if rules.get(name) is not None}
        may: dict[str, Any] = {"loosens": LOOSEN in scope.permissions, "now": self.now()}
        if rules["dry_run"]:
            change = preview_change(scope, level, target_id, said, **may)
            return Response(_policy(change.after) | {"going": [asdict(one) for one in change.going]})
        set_policy(scope, level, target_id, said, **may)
        return Response(_policy(self._concerned(scope)))

    def _concerned(self, scope: Scope) -> dict[str, InForce]:
        named = self.end_user_or_none(None)
        if named is not None and not scope.spaces:
            scope = self.reader()
        return in_force(scope, project_id=scope.project_id, space_ids=[space.id for space in scope.spaces])


class RetentionPreviewView(ApiView):
    permissions: ClassVar = {"GET": "retention:read"}

    @operation("preview_retention", parameters=[PreviewInput], responses=PreviewOutput)
    def get(self, request: Request) -> Response:
        """Upcoming removals by day and rule: the next step of each memory of all end users, in the environment of the
        key and, if it is pinned, in its project."""
        now = self.now()
        until = now + timedelta(days=self.read_parameters(PreviewInput)["days"])
        self.scope()  # an unknown project is refused, although the response covers all that the key reaches
        scope = _key(request)
        found = preview(scope, until=until, environment=scope.environment, project_id=scope.project_id, now=now)
        return Response({"leaving": [_leaving(one) for one in found]})


def _key(request: Request) -> Scope:
    """The key's own reach, whatever project the request names."""
    scope = request.user
    assert isinstance(scope, Scope)  # noqa: S101  (every route that is not open has a key)
    return scope


def _policy(rules: Mapping[str, InForce]) -> dict[str, Any]:
    return {
        "rules": [
            {
                "rule": one.rule,
                "value": one.limit,
                "said": one.word,
                "level": one.level,
                "limits": MEANINGS[one.rule],
            }
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
