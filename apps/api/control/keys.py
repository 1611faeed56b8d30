"""API keys of the tenant, managed by users: create, rotate and revoke.  A key's text is returned once."""

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final

from django.conf import settings
from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.collection_fields import Ids, Labels
from apps.api.fields import Choice, Label, Moment, Whole
from apps.api.input_serializers import Input
from apps.api.operations import operation
from apps.api.views import ControlView
from apps.apikeys import services
from apps.apikeys.permissions import DEFAULT
from apps.apikeys.selectors import get_key, list_keys, state_of
from apps.projects.scope import Environment
from apps.projects.selectors import get_project

if TYPE_CHECKING:  # views import no models
    from apps.apikeys.models import ApiKey

ENVIRONMENTS: Final = [environment.value for environment in Environment]
OUTCOMES: Final = ("revoked", "already_revoked", "not_found")


class KeyInput(Input):
    name = Label(max_length=128)
    environment = Choice(choices=ENVIRONMENTS, default="production", help_text="Where the key writes.")
    other_environments = Labels(
        required=False,
        choices=ENVIRONMENTS,
        help_text="Others that the key reads too, and that a request may name in X-Environment.  They cannot be "
        "changed later.",
    )
    scopes = Labels(required=False, max_items=64, help_text="By default those marked in docs/permissions.md.")
    project_id = Label(required=False, help_text="Pins the key to this project.")
    expires_at = Moment(required=False, help_text="By default in 90 days; at most 365.")


class RotateInput(Input):
    grace_seconds = Whole(
        default=86_400, min_value=0, max_value=30 * 86_400, help_text="How long the old key stays valid; 0: it leaked."
    )


class BulkRevokeInput(Input):
    key_ids = Ids(max_items=100)


class ApiKeyOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    prefix = serializers.CharField(help_text="Enough to recognise the key, but not to use it.")
    name = serializers.CharField()
    environment = serializers.CharField()
    other_environments = serializers.ListField(child=serializers.CharField())
    scopes = serializers.ListField(child=serializers.CharField())
    project_id = serializers.CharField(allow_null=True)
    status = serializers.CharField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)


class IssuedKeyOutput(ApiKeyOutput):
    key = serializers.CharField(help_text="Shown only once.")


class TestedKeyOutput(serializers.Serializer[Any]):
    key_id = serializers.IntegerField()
    valid = serializers.BooleanField()
    status = serializers.CharField()
    environment = serializers.CharField()
    other_environments = serializers.ListField(child=serializers.CharField())
    rate_limit_tier = serializers.CharField()
    scopes = serializers.ListField(child=serializers.CharField())
    project_id = serializers.CharField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)
    expired = serializers.BooleanField()
    server_time = serializers.DateTimeField()


class RevokedOutput(serializers.Serializer[Any]):
    key_id = serializers.IntegerField()
    status = serializers.CharField()


class BulkRevokeOutput(serializers.Serializer[Any]):
    revoked = serializers.IntegerField()
    already_revoked = serializers.IntegerField()
    not_found = serializers.IntegerField()
    results = RevokedOutput(many=True)


class KeysView(ControlView):
    permissions: ClassVar = {"GET": "api_keys:read", "POST": "api_keys:write"}
    fresh: ClassVar = frozenset({"POST"})

    @operation("list_api_keys", responses=ApiKeyOutput(many=True))
    def get(self, request: Request) -> Response:
        """All keys of the tenant in all environments, including revoked and expired ones, newest first."""
        return Response([_body(one, self) for one in list_keys(self.caller)])

    @operation(
        "create_api_key",
        request=KeyInput,
        examples=[OpenApiExample("a key", {"name": "assistant", "environment": "staging"}, request_only=True)],
        responses={201: IssuedKeyOutput},
    )
    def post(self, request: Request) -> Response:
        """Create a key, by default with the default scopes.

        Scopes beyond the default set and your own require `api_keys:any_scope`.
        """
        fields, scope = self.read(KeyInput), self.caller
        named = fields.get("project_id")
        issued = services.issue(
            scope,
            name=fields["name"],
            environment=Environment(fields["environment"]),
            other_environments=[Environment(one) for one in fields.get("other_environments", ())],
            scopes=services.may_give(scope, fields.get("scopes") or DEFAULT),
            project_id=get_project(scope, named).pk if named else None,
            expires_at=fields.get("expires_at"),
            now=self.now(),
        )
        return Response(_body(issued.key, self) | {"key": issued.text}, status=201)


class KeyView(ControlView):
    permissions: ClassVar = {"DELETE": "api_keys:write"}

    @operation("revoke_api_key", request=None, responses={204: None})
    def delete(self, request: Request, key_id: int) -> Response:
        """Refused from the next request on."""
        services.revoke(self.caller, key_id, now=self.now())
        return Response(status=204)


class RotateKeyView(ControlView):
    permissions: ClassVar = {"POST": "api_keys:write"}
    fresh: ClassVar = frozenset({"POST"})

    @operation("rotate_api_key", request=RotateInput, responses={201: IssuedKeyOutput})
    def post(self, request: Request, key_id: int) -> Response:
        """Create a key with the same permissions; the old key stays valid for a grace period."""
        seconds = self.read(RotateInput)["grace_seconds"]
        services.may_give(self.caller, get_key(self.caller, key_id).scopes)
        issued = services.rotate(self.caller, key_id, grace=timedelta(seconds=seconds), now=self.now())
        return Response(_body(issued.key, self) | {"key": issued.text}, status=201)


class TestKeyView(ControlView):
    permissions: ClassVar = {"POST": "api_keys:read"}

    @operation("test_api_key", request=None, responses=TestedKeyOutput)
    def post(self, request: Request, key_id: int) -> Response:
        """Whether a key is accepted now, and its permissions."""
        key, now = get_key(self.caller, key_id), self.now()
        state = state_of(key, now=now)
        return Response(
            {
                "key_id": key.pk,
                "valid": state == "active",
                "status": state,
                "environment": key.environment,
                "other_environments": key.other_environments,
                "rate_limit_tier": settings.RATE_LIMIT_TIER,
                "scopes": key.scopes,
                "project_id": key.project.public_id if key.project else None,
                "last_used_at": key.last_used_at,
                "expires_at": key.expires_at,
                "expired": state == "expired",
                "server_time": now,
            }
        )


class BulkRevokeView(ControlView):
    permissions: ClassVar = {"POST": "api_keys:write"}

    @operation(
        "bulk_revoke_api_keys",
        request=BulkRevokeInput,
        examples=[OpenApiExample("two", {"key_ids": [1, 2]}, request_only=True)],
        responses=BulkRevokeOutput,
    )
    def post(self, request: Request) -> Response:
        """Revoke several keys; absent keys and those of another tenant are reported as not found."""
        ids = self.read(BulkRevokeInput)["key_ids"]
        outcomes = services.revoke_all(self.caller, ids, now=self.now())
        counts = Counter(outcome for _, outcome in outcomes)
        results = [{"key_id": key_id, "status": outcome} for key_id, outcome in outcomes]
        return Response({name: counts[name] for name in OUTCOMES} | {"results": results})


def _body(key: "ApiKey", view: ControlView) -> dict[str, Any]:
    return {
        "id": key.pk,
        "prefix": key.prefix,
        "name": key.name,
        "environment": key.environment,
        "other_environments": key.other_environments,
        "scopes": key.scopes,
        "project_id": key.project.public_id if key.project else None,
        "status": state_of(key, now=view.now()),
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "last_used_at": key.last_used_at,
    }
