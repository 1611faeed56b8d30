"""/v1/memory/{ns}/{profile}/branches: temporary copies of a profile."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Label, Whole
from apps.api.input_serializers import Input
from apps.api.operations import operation
from apps.api.profiles.base import ProfileView, is_name
from apps.api.profiles.output import milliseconds
from apps.memories.branches import LONGEST, SHORTEST, USUAL, Branch, create_branch, end_branch, list_branches
from apps.memories.spaces import BranchNotFound

_SECONDS: Final = {"least": int(SHORTEST.total_seconds()), "most": int(LONGEST.total_seconds())}


class BranchInput(Input):
    """A new branch."""

    name = Label(help_text="1 to 64 characters: a-z, 0-9, _ and single hyphens.  Stored unencrypted.")
    ttl = Whole(
        required=False,
        default=int(USUAL.total_seconds()),
        min_value=_SECONDS["least"],
        max_value=_SECONDS["most"],
        help_text="Seconds until it ends: 7 days by default, at most 30.",
    )

    def get_fields(self) -> dict[str, Any]:
        at = Label(required=False, help_text="The name of a checkpoint, or the number of a change; else now.")
        return super().get_fields() | {"from": at}  # "from" is a keyword

    def validate_name(self, name: str) -> str:
        if not is_name(name):
            raise serializers.ValidationError([ErrorDetail("a-z, 0-9, _ and single hyphens", "invalid")])
        return name


class BranchOutput(serializers.Serializer[Any]):
    name = serializers.CharField()
    txid = serializers.IntegerField(help_text="Number of its latest change.")
    created_at = serializers.IntegerField(help_text="Milliseconds since 1970.")
    expires_at = serializers.IntegerField(allow_null=True, help_text="`null` of `main`.")


class BranchesOutput(serializers.Serializer[Any]):
    branches = BranchOutput(many=True)


class BranchesView(ProfileView):
    in_branches: ClassVar = False
    permissions: ClassVar = {"GET": "memory:read", "POST": "memory:update"}

    @operation("profile_branches", responses=BranchesOutput)
    def get(self, request: Request, ns: str, profile: str) -> Response:
        """List the branches of a profile: `main` first."""
        found = list_branches(self.found(ns, profile), now=self.now())
        return Response({"branches": [_body(one) for one in found]})

    @operation(
        "profile_branch",
        request=BranchInput,
        examples=[OpenApiExample("for a day", {"name": "what-if", "ttl": 86_400}, request_only=True)],
        responses={201: BranchOutput},
    )
    def post(self, request: Request, ns: str, profile: str) -> Response:
        """Copy the profile's memories into a temporary branch, as they are or as they were after a change.

        Requests address the branch with the header `Memoturn-Branch` or the parameter `branch`.
        """
        fields, scope = self.read(BranchInput), self.known(ns, profile, writes=True)
        made = create_branch(
            scope, fields["name"], at=fields.get("from"), lasts=timedelta(seconds=fields["ttl"]), now=self.now()
        )
        return Response(_body(made), status=201)


class BranchView(ProfileView):
    in_branches: ClassVar = False
    permissions: ClassVar = {"DELETE": "memory:update"}

    @operation("profile_end_branch", request=None, responses={204: None})
    def delete(self, request: Request, ns: str, profile: str, branch: str) -> Response:
        """End a branch now instead of at its end.  The profile itself does not change."""
        scope = self.known(ns, profile, writes=True)
        if not is_name(branch):
            raise BranchNotFound
        end_branch(scope, branch, now=self.now())
        return Response(None, status=204)


def _body(one: Branch) -> Mapping[str, Any]:
    return {
        "name": one.name,
        "txid": one.txid,
        "created_at": milliseconds(one.created_at),
        "expires_at": milliseconds(one.expires_at),
    }
