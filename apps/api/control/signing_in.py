"""Signing in through the API, and API sessions; the client is ``memorysync.ControlPlaneClient``."""

from typing import TYPE_CHECKING, Any, ClassVar, Final

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts import api_sessions, second_factors
from apps.accounts.api_sessions import SessionTokens, SignInRefused
from apps.accounts.services import person_of_id
from apps.api.fields import Label, Text
from apps.api.input_serializers import Input
from apps.api.operations import operation
from apps.api.permissions import OPEN, PERSON
from apps.api.views import OpenView, PersonView
from apps.apikeys import login_throttle
from apps.apikeys.onboarding import sign_up
from apps.audit.actions import AuditAction
from apps.tenants.members import find_reach

if TYPE_CHECKING:  # views import no models
    from apps.accounts.models import User

SESSION_TYPE: Final = "api"
WELCOME: Final = (
    "Sign in with this address and password. If the address was known already, nothing has changed. Keep"
    " enrolment_code: it is asked for once, when you add a passkey or an authenticator at /app/."
)


class LoginInput(Input):
    email = Label(max_length=254)
    password = Text(max_length=1024)


class SignUpInput(Input):
    email = Label(max_length=254)
    password = Text(max_length=1024, help_text="At least 12 characters, not a common password.")
    organization_name = Label(max_length=100)
    full_name = Label(max_length=200, required=False)


class SignUpOutput(serializers.Serializer[Any]):
    message = serializers.CharField()
    email = serializers.CharField()
    requires_verification = serializers.BooleanField()
    enrolment_code = serializers.CharField(
        help_text="Shown only once: needed with the password to add your first passkey or authenticator at /app/."
    )


class SecondStepInput(Input):
    mfa_token = Label(max_length=512, help_text="From the response to POST /auth/login, valid for five minutes.")
    code = Label(max_length=32, help_text="Of the authenticator, or a recovery code.")


class RefreshInput(Input):
    refresh_token = Label(max_length=128)


class StepUpInput(Input):
    """One of the two."""

    one_of = ("code", "password")

    code = Label(max_length=32, required=False, help_text="Of the authenticator.")
    password = Text(
        max_length=1024,
        required=False,
        help_text="Your own password again, if you have no second factor. Not accepted for destructive actions.",
    )

    def validate(self, attrs: Any) -> Any:
        if ("code" in attrs) == ("password" in attrs):
            raise serializers.ValidationError(ErrorDetail("give one of code and password", "one_selector"))
        return attrs


class TokensOutput(serializers.Serializer[Any]):
    access_token = serializers.CharField(help_text="For the header Authorization: Bearer …, for 15 minutes.")
    refresh_token = serializers.CharField(help_text="For the next pair of tokens, once, within 30 days of signing in.")
    token_type = serializers.CharField()


class SessionOutput(serializers.Serializer[Any]):
    user_id = serializers.IntegerField()
    organization_id = serializers.IntegerField(allow_null=True)
    role = serializers.CharField(allow_null=True)


class LoginOutput(serializers.Serializer[Any]):
    tokens = TokensOutput(required=False)
    session = SessionOutput(required=False)
    mfa_required = serializers.BooleanField(help_text="No tokens yet: send a code to POST /auth/mfa/complete.")
    mfa_setup_required = serializers.BooleanField(
        help_text="The tenant requires a second factor: revealing actions are refused until one is added at /app/."
    )
    mfa_token = serializers.CharField(required=False)
    mfa_methods = serializers.ListField(child=serializers.CharField(), required=False)


class MeOutput(serializers.Serializer[Any]):
    user_id = serializers.CharField()
    email = serializers.CharField()
    full_name = serializers.CharField()
    role = serializers.CharField(allow_null=True)
    org = serializers.DictField(allow_null=True, help_text="id, name and the requested tenant.")
    sid = serializers.IntegerField()
    oauth_scopes = serializers.ListField(child=serializers.CharField())
    oauth_app_id = serializers.CharField(allow_null=True)


class ShownOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    is_current = serializers.BooleanField()
    session_type = serializers.CharField()
    session_name = serializers.CharField(help_text="Authentication methods used, such as password or totp.")
    user_agent = serializers.CharField()
    ip = serializers.CharField(help_text="The network only, such as 203.0.113.0/24.")
    location = serializers.CharField(allow_null=True)
    geo = serializers.DictField(allow_null=True)
    created_at = serializers.DateTimeField()
    last_activity_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()


class SessionsOutput(serializers.Serializer[Any]):
    sessions = ShownOutput(many=True)
    current_session_id = serializers.IntegerField()


class SignUpView(OpenView):
    permissions: ClassVar = {"POST": OPEN}

    @operation("signup", request=SignUpInput, responses={201: SignUpOutput})
    def post(self, request: Request) -> Response:
        """Create your account, an organization and a tenant that you own, if the operator allows sign-up.

        If the address has an account already the response is the same, and nothing is created.
        """
        fields, now = self.read(SignUpInput), self.now()
        login_throttle.count_sign_up(request.META.get("REMOTE_ADDR", ""), now=now)
        code = sign_up(
            fields["email"],
            fields["password"],
            organization=fields["organization_name"],
            full_name=fields.get("full_name", ""),
            now=now,
        )
        body = {"message": WELCOME, "email": fields["email"], "requires_verification": False}
        return Response(body | {"enrolment_code": code}, status=201)


class LoginView(OpenView):
    permissions: ClassVar = {"POST": OPEN}

    @operation("login", request=LoginInput, responses=LoginOutput)
    def post(self, request: Request) -> Response:
        """Sign in with a password; a user with a second factor is asked for it next.

        An unknown address, a wrong password and a disabled account get the same response.
        """
        fields, now = self.read(LoginInput), self.now()
        attempt = login_throttle.count_password(request.META.get("REMOTE_ADDR", ""), fields["email"], now=now)
        person = api_sessions.find_by_password(fields["email"], fields["password"])
        if person is None:
            login_throttle.note(None, AuditAction.SESSION_REFUSED, reason="bearer", now=now)
            raise SignInRefused
        login_throttle.forgive(attempt)
        types = second_factors.types_of(person.pk)
        if types & second_factors.SECOND:
            return Response(
                {
                    "mfa_required": True,
                    "mfa_setup_required": False,
                    "mfa_token": api_sessions.second_step(person),
                    "mfa_methods": sorted(types),
                }
            )
        return Response(_opened(self, person, method="password"))


class SecondStepView(OpenView):
    permissions: ClassVar = {"POST": OPEN}

    @operation("complete_mfa", request=SecondStepInput, responses=LoginOutput)
    def post(self, request: Request) -> Response:
        """Second step of signing in: an authenticator code or a recovery code.

        A recovery code does not permit actions that require a second factor.  Passkeys work in the browser only.
        """
        fields, now = self.read(SecondStepInput), self.now()
        person = api_sessions.find_by_second_step(fields["mfa_token"])
        if person is None:
            login_throttle.note_refused_token(now=now)
            raise SignInRefused
        method = _shown_by(person.pk, fields["code"], types=(second_factors.CODE, second_factors.RECOVERY), view=self)
        return Response(_opened(self, person, method=method))


class RefreshTokensView(OpenView):
    permissions: ClassVar = {"POST": OPEN}

    @operation("refresh_tokens", request=RefreshInput, responses=TokensOutput)
    def post(self, request: Request) -> Response:
        """The next pair of tokens.  Each refresh token works once: reuse ends the whole session."""
        tokens = api_sessions.refresh_tokens(self.read(RefreshInput)["refresh_token"], now=self.now())
        return Response(_tokens(tokens))


class LogoutView(OpenView):
    permissions: ClassVar = {"POST": OPEN}

    @operation("logout", request=RefreshInput, responses={204: None})
    def post(self, request: Request) -> Response:
        """End the session of this refresh token, if there is one."""
        api_sessions.end_by_refresh_token(self.read(RefreshInput)["refresh_token"], now=self.now())
        return Response(status=204)


class LogoutAllView(PersonView):
    permissions: ClassVar = {"POST": PERSON}

    @operation("logout_all", request=None, responses={204: None})
    def post(self, request: Request) -> Response:
        """End all your API sessions, including this one; browser sessions are ended in the browser."""
        api_sessions.end_all(self.person.person_id, now=self.now())
        return Response(status=204)


class MeView(PersonView):
    permissions: ClassVar = {"GET": PERSON}

    @operation("me", responses=MeOutput)
    def get(self, request: Request) -> Response:
        """Your account and your role in the tenant in ``X-Tenant-ID``, by default your first tenant."""
        person = person_of_id(self.person.person_id)
        reach = find_reach(person.pk, request.headers.get("X-Tenant-ID"))
        organization = reach and {
            "id": reach.tenant.organization_id,
            "name": reach.tenant.organization.name,
            "tenant": reach.tenant.name,
        }
        return Response(
            {
                "user_id": f"usr_{person.pk}",
                "email": person.email,
                "full_name": person.full_name,
                "role": reach and reach.role,
                "org": organization,
                "sid": self.person.session_id,
                "oauth_scopes": [],
                "oauth_app_id": None,
            }
        )


class SessionsView(PersonView):
    permissions: ClassVar = {"GET": PERSON}

    @operation("list_sessions", responses=SessionsOutput)
    def get(self, request: Request) -> Response:
        """Your active API sessions, newest first."""
        found = api_sessions.list_sessions(self.person.person_id, now=self.now())
        sessions = [
            {
                "id": one.id,
                "is_current": one.id == self.person.session_id,
                "session_type": SESSION_TYPE,
                "session_name": one.method,
                "user_agent": one.client,
                "ip": one.network,
                "location": None,
                "geo": None,
                "created_at": one.created_at,
                "last_activity_at": one.last_used_at,
                "expires_at": one.expires_at,
            }
            for one in found
        ]
        return Response({"sessions": sessions, "current_session_id": self.person.session_id})


class RevokeSessionView(PersonView):
    permissions: ClassVar = {"POST": PERSON}

    @operation("revoke_session", request=None, responses={204: None})
    def post(self, request: Request, session_id: int) -> Response:
        """End one of your sessions; it is refused from the next request on."""
        api_sessions.end_session(self.person.person_id, session_id, now=self.now())
        return Response(status=204)


class StepUpView(PersonView):
    permissions: ClassVar = {"POST": PERSON}

    @operation("step_up", request=StepUpInput, responses={204: None})
    def post(self, request: Request) -> Response:
        """Confirm your identity for actions that require it within ten minutes: with an authenticator code or, if you
        have no second factor, with the password."""
        fields, now = self.read(StepUpInput), self.now()
        if "code" in fields:
            method = _shown_by(self.person.person_id, fields["code"], types=(second_factors.CODE,), view=self)
            api_sessions.step_up(self.person, method=method, now=now)
            return Response(status=204)
        login_throttle.count_code(self.person.person_id, now=now)
        try:
            api_sessions.show_password(self.person, fields["password"], now=now)
        except SignInRefused:
            login_throttle.note(None, AuditAction.SESSION_REFUSED, reason="bearer password", now=now)
            raise
        return Response(status=204)


def _shown_by(person_id: int, code: str, *, types: tuple[str, ...], view: OpenView | PersonView) -> str:
    """The type of the factor that accepted the code.  Raises TooManyAttempts, SignInRefused."""
    now, code = view.now(), "".join(code.split())
    login_throttle.count_code(person_id, now=now)
    is_new = login_throttle.is_first_use(person_id, code, now=now)
    method = second_factors.shown_by_code(person_id, code, types=types) if is_new else None
    if method is None:
        login_throttle.note(None, AuditAction.SESSION_REFUSED, reason="bearer second factor", now=now)
        raise SignInRefused
    return method


def _opened(view: OpenView, person: "User", *, method: str) -> dict[str, Any]:
    client = view.request.headers.get("User-Agent", "")
    tokens = api_sessions.open_session(person, method=method, client=client, now=view.now())
    reach = find_reach(person.pk, None)
    return {
        "tokens": _tokens(tokens),
        "session": {
            "user_id": person.pk,
            "organization_id": reach and reach.tenant.organization_id,
            "role": reach and reach.role,
        },
        "mfa_required": False,
        "mfa_setup_required": reach is not None
        and reach.needs_second_factor
        and not second_factors.has_second_factor(person.pk),
    }


def _tokens(tokens: SessionTokens) -> dict[str, str]:
    return {"access_token": tokens.access, "refresh_token": tokens.refresh, "token_type": "bearer"}
