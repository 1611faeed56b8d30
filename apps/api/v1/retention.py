"""/v1/retention: what is kept for how long and by whose word, changed, and what goes next."""

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
from apps.projects.policies import BOUNDS, KEEP, MEANINGS, RULES, WORDS, InForce, Level, in_force, set_policy
from apps.projects.scope import Environment, Scope
from apps.projects.selectors import SpaceNotFound
from apps.retention.previewing import Leaving, preview, preview_change

LOOSEN: Final = "retention:loosen"  # what people's roles grant, and no key carries


class PolicyBeyondKey(Forbidden):
    """A policy of the tenant or of a project holds in every environment: it takes a key of production, and for the
    tenant one that is pinned to no project."""

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
    """Rules to change; what is not named stays as it is.  `keep` is no limit."""

    some_of = RULES

    level = Choice(
        choices=("tenant", "project", "space"),
        help_text="Of the whole tenant, of the project of the request, or of its end user's space.",
    )
    active_days = Limit(**_within("active_days"))
    active_from = Choice(choices=tuple(WORDS), required=False, help_text=f"{MEANINGS['active_from'].capitalize()}.")
    archive_days = Whole(**_within("archive_days"))
    grace_days = Whole(**_within("grace_days"))
    task_ttl_seconds = Limit(**_within("task_ttl_seconds"))
    event_max_age_seconds = Limit(**_within("event_max_age_seconds"))
    superseded_max_age_seconds = Limit(**_within("superseded_max_age_seconds"))
    superseded_max_count = Limit(**_within("superseded_max_count"))
    dry_run = Flag(default=False, help_text="Answer what would hold and what would go, and change nothing.")


class PreviewInput(Parameters):
    """How far ahead."""

    days = WholeInQuery(default=30, min_value=0, max_value=3_660)


class RuleOutput(serializers.Serializer[Any]):
    rule = serializers.CharField()
    value = serializers.IntegerField(allow_null=True, help_text="null: no limit, or no number")
    said = serializers.JSONField(allow_null=True, help_text="As PUT takes it: a number or a word. null: nobody does.")
    level = serializers.CharField(help_text="Whose word it is: default, tenant, project or space.")
    limits = serializers.CharField()


class GoingOutput(serializers.Serializer[Any]):
    days = serializers.IntegerField(help_text="Within so many; 0 is with the next run.")
    before = serializers.DictField(child=serializers.IntegerField(), help_text="Memories by step, as policies are.")
    after = serializers.DictField(child=serializers.IntegerField(), help_text="The same, as they would be.")


class RetentionOutput(serializers.Serializer[Any]):
    rules = RuleOutput(many=True)
    going = GoingOutput(many=True, required=False, help_text="Of a dry run.")


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
    destroys: ClassVar = frozenset({"PUT"})

    @operation("get_retention", responses=RetentionOutput)
    def get(self, request: Request) -> Response:
        """The policy in force for the project, and for the end user if one is named, and whose word each rule is."""
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

        Of anybody else a rule that would keep more than what holds is refused with 409, as is one that a wider level
        makes void.
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
