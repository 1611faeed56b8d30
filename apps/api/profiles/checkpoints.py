"""/v1/memory/{ns}/{profile}/checkpoints and /rewind: names for moments of a profile, and the way back to them."""

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Flag, Label
from apps.api.input_serializers import Input
from apps.api.operations import operation
from apps.api.profiles.base import ProfileView
from apps.api.profiles.output import milliseconds
from apps.memories.rewinding import NamedMoment, create_checkpoint, list_checkpoints, rewind
from apps.memories.typed_selectors import public_ids


class CheckpointInput(Input):
    name = Label(help_text="Stored unencrypted; not of digits only.")


class RewindInput(Input):
    """Where to."""

    to = Label(help_text="The name of a checkpoint, or the number of a change (`Memoturn-Txid`).")
    dry_run = Flag(default=False, help_text="Change nothing.")


class CheckpointOutput(serializers.Serializer[Any]):
    name = serializers.CharField()
    txid = serializers.IntegerField(help_text="Number of the latest change at that moment.")
    created_at = serializers.IntegerField(help_text="Milliseconds since 1970.")


class CheckpointsOutput(serializers.Serializer[Any]):
    checkpoints = CheckpointOutput(many=True)


class RewindOutput(serializers.Serializer[Any]):
    restored = serializers.ListField(child=serializers.CharField(), help_text="Memories that are current again.")
    ended = serializers.ListField(child=serializers.CharField(), help_text="Memories that are not any more.")
    before = serializers.IntegerField(help_text="Number of the change before: rewind to it to undo this.")
    txid = serializers.IntegerField()


class CheckpointsView(ProfileView):
    permissions: ClassVar = {"GET": "memory:read", "POST": "memory:update"}

    @operation("profile_checkpoints", responses=CheckpointsOutput)
    def get(self, request: Request, ns: str, profile: str) -> Response:
        """List checkpoints, the newest first."""
        found = list_checkpoints(self.found(ns, profile))
        return Response({"checkpoints": [_body(one) for one in found]})

    @operation(
        "profile_checkpoint",
        request=CheckpointInput,
        examples=[OpenApiExample("a name", {"name": "before-import"}, request_only=True)],
        responses={201: CheckpointOutput},
    )
    def post(self, request: Request, ns: str, profile: str) -> Response:
        """Name the present state of the profile's memories."""
        name, scope = self.read(CheckpointInput)["name"], self.known(ns, profile, writes=True)
        return Response(_body(create_checkpoint(scope, name, now=self.now())), status=201)


class RewindView(ProfileView):
    permissions: ClassVar = {"POST": "memory:update"}

    @operation(
        "profile_rewind",
        request=RewindInput,
        examples=[OpenApiExample("to a checkpoint", {"to": "before-import", "dry_run": True}, request_only=True)],
        responses=RewindOutput,
    )
    def post(self, request: Request, ns: str, profile: str) -> Response:
        """Make the profile's memories hold as they did at a checkpoint, or after a change.

        Memories stored since are superseded, and replaced ones are current again.  What was deleted or has expired
        stays so.
        """
        fields, now = self.read(RewindInput), self.now()
        scope = self.known(ns, profile, writes=True)
        done = rewind(scope, fields["to"], dry_run=fields["dry_run"], now=now)
        ids = public_ids(scope, [*done.restored, *done.ended])
        body = {
            "restored": [ids[one] for one in done.restored if one in ids],
            "ended": [ids[one] for one in done.ended if one in ids],
            "before": done.before,
            "txid": done.txid,
        }
        return Response(body)


def _body(one: NamedMoment) -> dict[str, Any]:
    return {"name": one.name, "txid": one.txid, "created_at": milliseconds(one.created_at)}
