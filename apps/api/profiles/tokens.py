"""Tokens of a namespace and of a profile: keys that reach nothing else."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api_sessions import SignedIn
from apps.api.fields import Choice, Whole
from apps.api.input_serializers import Input
from apps.api.operations import operation
from apps.api.profiles.base import ProfileView
from apps.api.profiles.output import milliseconds
from apps.apikeys import services
from apps.apikeys.selectors import ApiKeyNotFound, Authenticated, get_token, list_tokens, state_of
from apps.apikeys.services import LONGEST_LIFETIME, Confinement
from apps.core.errors import Forbidden
from apps.memories.spaces import (
    find_namespace,
    find_person,
    get_or_create_namespace,
    get_or_create_person,
)

if TYPE_CHECKING:  # views import no models
    from apps.apikeys.models import ApiKey

MOST: Final = 1_000
LIFETIME: Final = 3_600  # seconds
SHORTEST: Final = 60
READ: Final = ("memory:read", "history:read")
WRITE: Final = (*READ, "memory:add", "memory:update", "memory:forget_request", "history:write")
ADMIN: Final = (*WRITE, "audit:read", "retention:read", "retention:write", "exports:read", "tokens:write")
RIGHTS: Final[Mapping[str, tuple[str, ...]]] = {"read": READ, "write": WRITE, "admin": ADMIN}
NAMES: Final = tuple(RIGHTS)
STATES: Final = ("active", "expired", "revoked")


class RightBeyondKey(Forbidden):
    """This key lacks permissions of that right: it creates no tokens that may do more than itself."""

    code = "RIGHT_BEYOND_KEY"


class ConfinedTokenInput(Input):
    scope = Choice(choices=NAMES, help_text="`read` < `write` < `admin`.")
    expires_in = Whole(
        default=LIFETIME,
        min_value=SHORTEST,
        max_value=int(LONGEST_LIFETIME.total_seconds()),
        help_text="Seconds; never beyond the key that creates it.",
    )


class ConfinedTokenOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField(help_text="Of the token in the audit trail: `api_key:7`.")
    scope = serializers.ChoiceField(choices=NAMES)
    status = serializers.ChoiceField(choices=STATES)
    created_at = serializers.IntegerField(help_text="Milliseconds since 1970.")
    expires_at = serializers.IntegerField()
    last_used_at = serializers.IntegerField(allow_null=True)


class IssuedConfinedTokenOutput(ConfinedTokenOutput):
    token = serializers.CharField(help_text="Shown once: send it as X-API-Key.")


class ConfinedTokensOutput(serializers.Serializer[Any]):
    tokens = ConfinedTokenOutput(many=True)


class TokensView(ProfileView):
    """The common part: GET and POST of tokens.  A person may do it with the permission for API keys."""

    in_branches: ClassVar = False
    permissions: ClassVar = {"GET": "tokens:write", "POST": "tokens:write"}
    people: ClassVar = {"GET": "api_keys:read", "POST": "api_keys:write"}
    fresh: ClassVar = frozenset({"POST"})

    def _list(self, found: Confinement | None) -> Response:
        if found is None:
            return Response({"tokens": []})
        tokens = list_tokens(self.scope(), namespace_id=found.namespace_id, profile_id=found.profile_id, most=MOST)
        return Response({"tokens": [_body(one, now=self.now()) for one in tokens]})

    def _create(self, asked: Mapping[str, Any], confined: Confinement) -> Response:
        scope, now, permissions = self.scope(), self.now(), RIGHTS[asked["scope"]]
        expires_at = now + timedelta(seconds=asked["expires_in"])
        key = self.request.auth
        if isinstance(key, Authenticated):
            if not scope.permissions.issuperset(permissions):
                raise RightBeyondKey
            expires_at = min(expires_at, key.expires_at or expires_at)
        else:
            services.may_give(scope, permissions)
        issued = services.issue(
            scope,
            name=f"{asked['scope']} token",
            environment=scope.environment,
            scopes=permissions,
            project_id=self.caller.project_id,
            expires_at=expires_at,
            confined=confined,
            now=now,
        )
        return Response(_body(issued.key, now=now) | {"token": issued.text}, status=201)

    def _issuer(self) -> int | None:
        return None if isinstance(self.request.auth, SignedIn) else self.caller.principal.id


class TokenView(ProfileView):
    """The common part: DELETE of a token."""

    in_branches: ClassVar = False
    permissions: ClassVar = {"DELETE": "tokens:write"}
    people: ClassVar = {"DELETE": "api_keys:write"}

    def _revoke(self, token_id: str, found: Confinement | None) -> Response:
        """Raises ApiKeyNotFound for a key that is not of this namespace or profile."""
        number = int(token_id) if token_id.isascii() and token_id.isdecimal() else 0
        if found is None or not 0 < number < 2**63:
            raise ApiKeyNotFound
        of = {"namespace_id": found.namespace_id, "profile_id": found.profile_id}
        services.revoke(self.scope(), get_token(self.scope(), number, **of).pk, now=self.now())
        return Response(None, status=204)


class NamespaceTokensView(TokensView):
    @operation("namespace_tokens", responses=ConfinedTokensOutput)
    def get(self, request: Request, ns: str) -> Response:
        """The newest 1,000 tokens of a namespace in the key's environment, revoked and expired ones included."""
        return self._list(_of_namespace(self, ns))

    @operation(
        "create_namespace_token",
        request=ConfinedTokenInput,
        examples=[OpenApiExample("an hour", {"scope": "read"}, request_only=True)],
        responses={201: IssuedConfinedTokenOutput},
    )
    def post(self, request: Request, ns: str) -> Response:
        """Create a token that reaches every profile of a namespace and nothing else, in the key's environment and
        project.  It may do no more than the key that creates it, and ends with it."""
        asked = self.read(ConfinedTokenInput)
        self.owner(ns)
        namespace_id = get_or_create_namespace(self.scope(), ns, now=self.now())
        return self._create(asked, Confinement(namespace_id=namespace_id, issued_by_id=self._issuer()))


class NamespaceTokenView(TokenView):
    @operation("revoke_namespace_token", request=None, responses={204: None})
    def delete(self, request: Request, ns: str, token_id: str) -> Response:
        """Revoke a token of a namespace, and the tokens that it created."""
        return self._revoke(token_id, _of_namespace(self, ns))


class ProfileTokensView(TokensView):
    @operation("profile_tokens", responses=ConfinedTokensOutput)
    def get(self, request: Request, ns: str, profile: str) -> Response:
        """The newest 1,000 tokens of a profile in the key's environment, revoked and expired ones included."""
        return self._list(_of_profile(self, ns, profile))

    @operation(
        "create_profile_token",
        request=ConfinedTokenInput,
        examples=[OpenApiExample("an hour", {"scope": "write", "expires_in": 3600}, request_only=True)],
        responses={201: IssuedConfinedTokenOutput},
    )
    def post(self, request: Request, ns: str, profile: str) -> Response:
        """Create a token that reaches one profile and nothing else, before or after its first memory.  Once the profile
        is erased, the token reaches no later profile of that name."""
        asked, now = self.read(ConfinedTokenInput), self.now()
        owner, scope = self.owner(ns, profile), self.scope()
        is_plain = ns == scope.tenant.name
        confined = Confinement(
            namespace_id=None if is_plain else get_or_create_namespace(scope, ns, now=now),
            profile_id=get_or_create_person(scope, owner.name, now=now),
            issued_by_id=self._issuer(),
        )
        return self._create(asked, confined)


class ProfileTokenView(TokenView):
    @operation("revoke_profile_token", request=None, responses={204: None})
    def delete(self, request: Request, ns: str, profile: str, token_id: str) -> Response:
        """Revoke a token of a profile, and the tokens that it created."""
        return self._revoke(token_id, _of_profile(self, ns, profile))


def _of_namespace(view: ProfileView, ns: str) -> Confinement | None:
    view.owner(ns)
    found = find_namespace(view.scope(), ns)
    return None if found is None else Confinement(namespace_id=found)


def _of_profile(view: ProfileView, ns: str, profile: str) -> Confinement | None:
    scope = view.scope()
    found = find_person(scope, view.owner(ns, profile).name)
    return None if found is None else Confinement(namespace_id=None, profile_id=found)


def _body(key: "ApiKey", *, now: datetime) -> dict[str, Any]:
    return {
        "id": key.pk,
        "scope": next(right for right, permissions in RIGHTS.items() if set(permissions) == set(key.scopes)),
        "status": state_of(key, now=now),
        "created_at": milliseconds(key.created_at),
        "expires_at": milliseconds(key.expires_at),
        "last_used_at": milliseconds(key.last_used_at),
    }
