"""/v1/connectors: places from which documents are read on a schedule."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Choice, Flag, Label, Text, Whole, Word
from apps.api.input_serializers import Input, WriteInput
from apps.api.operations import operation
from apps.api.permissions import KeyMayRetire
from apps.api.views import ApiView
from apps.connectors import runs, services
from apps.connectors.buckets import BucketSettings
from apps.connectors.services import ConnectorSettings, OpenedConnector
from apps.connectors.tasks import run as run_task
from apps.core.broker import notify

KINDS: Final = ("folder", "feed", "s3")
STATUSES: Final = ("never", "waiting", "running", "done", "partial", "failed")
MOST_OBJECTS: Final = 2_000
MOST_BYTES: Final = 1_000_000_000
HOUR: Final = 3_600
FEED: Final = {"kind": "feed", "name": "News", "location": "https://example.com/feed.xml", "every_seconds": 21_600}
BUCKET: Final = {
    "kind": "s3",
    "name": "Manuals",
    "location": "https://s3.eu-west-1.amazonaws.com",
    "bucket": {
        "name": "manuals",
        "region": "eu-west-1",
        "access_key_id": "AKIAIOSFODNN7EXAMPLE",
        "secret_access_key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    },
}
LOCATION: Final = "The folder's path, the URL of the feed or page, or the endpoint of the bucket's server."


_VISIBLE: Final = "[!-~]+"
_BUCKET_NAME: Final = "[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"


class BucketFieldsInput(WriteInput):
    """Settings of a bucket."""

    name = Word(required=False, max_length=63, pattern=_BUCKET_NAME)
    prefix = Text(required=False, max_length=1_024, allow_blank=True, help_text="Only keys that begin with it.")
    region = Word(required=False, max_length=32, pattern="[a-z0-9-]+")
    access_key_id = Word(required=False, max_length=128, pattern="[A-Za-z0-9_.-]+")
    secret_access_key = Word(
        required=False, max_length=256, pattern=_VISIBLE, write_only=True, help_text="Never returned."
    )
    path_style = Flag(required=False, help_text="Whether the name is in the URL's path; if not, it is in its host.")


class CreateBucketInput(BucketFieldsInput):
    """The bucket to read."""

    name = Word(max_length=63, pattern=_BUCKET_NAME)
    prefix = Text(default="", max_length=1_024, allow_blank=True, help_text="Only keys that begin with it.")
    region = Word(default="us-east-1", max_length=32, pattern="[a-z0-9-]+")
    access_key_id = Word(max_length=128, pattern="[A-Za-z0-9_.-]+")
    secret_access_key = Word(max_length=256, pattern=_VISIBLE, write_only=True, help_text="Never returned.")
    path_style = Flag(default=True, help_text="Whether the name is in the URL's path; if not, it is in its host.")


class ConnectorFieldsInput(WriteInput):
    """Settings of a connector."""

    name = Label(required=False, max_length=128)
    location = Label(required=False, max_length=2_048, help_text=LOCATION)
    every_seconds = Whole(required=False, min_value=300, max_value=30 * 24 * HOUR, help_text="Between two runs.")
    max_objects = Whole(required=False, min_value=1, max_value=MOST_OBJECTS, help_text="Of one run.")
    max_bytes = Whole(required=False, min_value=1, max_value=MOST_BYTES, help_text="Of one run.")


class CreateConnectorInput(ConnectorFieldsInput):
    """A new connector."""

    bucket = CreateBucketInput(required=False, help_text="Of the kind `s3`.")
    kind = Choice(choices=KINDS)  # type: ignore[assignment]  # the wire's name, not Input's
    name = Label(max_length=128)
    location = Label(max_length=2_048, help_text=LOCATION)


class UpdateConnectorInput(ConnectorFieldsInput):
    """The changes."""

    bucket = BucketFieldsInput(required=False, help_text="Of the kind `s3`; what is omitted stays.")
    paused = Flag(required=False, help_text="A paused connector runs only on request.")


class RunConnectorInput(Input):
    """How to run."""

    dry_run = Flag(default=False, help_text="Only count what a run would do.")


class BucketOutput(serializers.Serializer[Any]):
    name = serializers.CharField()
    prefix = serializers.CharField()
    region = serializers.CharField()
    access_key_id = serializers.CharField()
    path_style = serializers.BooleanField()


class ConnectorOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=KINDS)
    name = serializers.CharField()
    location = serializers.CharField()
    bucket = BucketOutput(allow_null=True, help_text="Of the kind `s3`.")
    every_seconds = serializers.IntegerField()
    max_objects = serializers.IntegerField()
    max_bytes = serializers.IntegerField()
    paused = serializers.BooleanField()
    status = serializers.ChoiceField(choices=STATUSES, help_text="Of the last run; `partial`: a limit ended it.")
    error = serializers.CharField(allow_null=True, help_text="What ended the last run.")
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="Of the last or current run, by result.")
    next_run_at = serializers.DateTimeField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class ConnectorsOutput(serializers.Serializer[Any]):
    connectors = ConnectorOutput(many=True)


class RunOutput(ConnectorOutput):
    would = serializers.DictField(
        child=serializers.IntegerField(), allow_null=True, help_text="With `dry_run`: objects by what would happen."
    )


class DeletedConnectorOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()


class DocumentConnectorsView(ApiView):
    permissions: ClassVar = {"GET": "imports:read", "POST": "imports:write"}

    @operation("list_document_connectors", responses=ConnectorsOutput)
    def get(self, request: Request) -> Response:
        """The end user's connectors, newest first."""
        return Response({"connectors": [_body(one) for one in services.list_connectors(self.reader(), now=self.now())]})

    @operation(
        "create_document_connector",
        request=CreateConnectorInput,
        examples=[
            OpenApiExample("a feed", FEED, request_only=True),
            OpenApiExample("a bucket", BUCKET, request_only=True),
        ],
        responses={201: ConnectorOutput},
    )
    def post(self, request: Request) -> Response:
        """Create a connector; it runs as soon as a worker is free."""
        fields, now = self.read(CreateConnectorInput), self.now()
        defaults: dict[str, Any] = {"every": timedelta(hours=6), "most_objects": 500, "most_bytes": 100_000_000}
        changed = _changed(fields)
        if "bucket" in changed:
            changed["bucket"] = BucketSettings(**changed["bucket"])
        chosen = ConnectorSettings(**(defaults | changed))
        made = services.create_connector(self.scope(writes=True), self.end_user(None), fields["kind"], chosen, now=now)
        return Response(_body(made), status=201)


class DocumentConnectorView(ApiView):
    permissions: ClassVar = {"GET": "imports:read", "PATCH": "imports:write", "DELETE": "memory:delete"}
    permission_classes = (KeyMayRetire,)

    @operation("get_document_connector", responses=ConnectorOutput)
    def get(self, request: Request, connector_id: int) -> Response:
        """One connector, with the result of its last run and the progress of the current one."""
        return Response(_body(services.get_connector(self.reader(), connector_id)))

    @operation(
        "update_document_connector",
        request=UpdateConnectorInput,
        examples=[OpenApiExample("pause", {"paused": True}, request_only=True)],
        responses=ConnectorOutput,
    )
    def patch(self, request: Request, connector_id: int) -> Response:
        """Change a connector's settings, or pause or resume it."""
        fields = self.read(UpdateConnectorInput)
        changed = services.update_connector(
            self.reader(writes=True), connector_id, _changed(fields), is_paused=fields.get("paused"), now=self.now()
        )
        return Response(_body(changed))

    @operation("delete_document_connector", request=None, responses={200: DeletedConnectorOutput})
    def delete(self, request: Request, connector_id: int) -> Response:
        """Delete a connector; its objects and their memories stay.

        Refused for every API key (403 `STEP_UP_REQUIRED`) unless the tenant's owner has set `key_deletes=retire`.
        """
        services.delete_connector(self.reader(), connector_id, now=self.now())
        return Response({"id": connector_id})


class RunConnectorView(ApiView):
    permissions: ClassVar = {"POST": "imports:write"}

    @operation(
        "run_document_connector",
        request=RunConnectorInput,
        examples=[OpenApiExample("only count", {"dry_run": True}, request_only=True)],
        responses=RunOutput,
    )
    def post(self, request: Request, connector_id: int) -> Response:
        """Run a connector as soon as a worker is free, or only count what a run would do."""
        fields, scope, now = self.read(RunConnectorInput), self.reader(writes=True), self.now()
        if fields["dry_run"]:
            would = dict(runs.preview(scope, connector_id))
            return Response(_body(services.get_connector(scope, connector_id)) | {"would": would})
        asked = services.request_run(scope, connector_id, now=now)
        notify(run_task, tenant_id=scope.tenant_id, connector_id=connector_id)
        return Response(_body(asked) | {"would": None})


_NAMES: Final = {"name": "name", "location": "place", "max_objects": "most_objects", "max_bytes": "most_bytes"}


def _changed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The given settings, by the names of ``ConnectorSettings``; ``bucket`` by those of ``BucketSettings``."""
    changed = {_NAMES[name]: value for name, value in fields.items() if name in _NAMES}
    if "bucket" in fields:
        bucket = dict(fields["bucket"])
        if secret := bucket.pop("secret_access_key", None):
            changed["secret"] = secret
        if "path_style" in bucket:
            bucket["is_path_style"] = bucket.pop("path_style")
        changed["bucket"] = bucket
    return changed | ({"every": timedelta(seconds=fields["every_seconds"])} if "every_seconds" in fields else {})


def _body(one: OpenedConnector) -> dict[str, Any]:
    return {
        "id": one.id,
        "kind": one.kind,
        "name": one.name.reveal(),
        "location": one.place.reveal(),
        "bucket": _bucket_body(one.bucket) if one.bucket else None,
        "every_seconds": round(one.every.total_seconds()),
        "max_objects": one.most_objects,
        "max_bytes": one.most_bytes,
        "paused": one.is_paused,
        "status": one.status,
        "error": one.error or None,
        "counts": dict(one.counts),
        "next_run_at": None if one.is_paused else one.next_run_at,
        "started_at": one.started_at,
        "finished_at": one.finished_at,
        "created_at": one.created_at,
    }


def _bucket_body(one: BucketSettings) -> dict[str, Any]:
    return {
        "name": one.name,
        "prefix": one.prefix,
        "region": one.region,
        "access_key_id": one.access_key_id,
        "path_style": one.is_path_style,
    }
