"""Signing in, step-up, and managing passkeys, authenticators and recovery codes.

django-allauth does the work; these views add access levels, rate limits and templates.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from allauth.account.internal.flows.reauthentication import reauthenticate_by_password
from allauth.account.views import LoginView, LogoutView, PasswordChangeView
from allauth.mfa.base.views import AuthenticateView
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView, ViewRecoveryCodesView
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.mfa.webauthn.forms import ReauthenticateWebAuthnForm
from allauth.mfa.webauthn.internal.auth import begin_authentication
from allauth.mfa.webauthn.views import AddWebAuthnView, LoginWebAuthnView, RemoveWebAuthnView
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse, reverse_lazy
from django.utils import timezone

from apps.accounts import devices, enrolment, second_factors, sessions
from apps.accounts.services import EmailAddressRefused, person_of
from apps.apikeys import login_throttle, onboarding
from apps.audit.actions import AuditAction
from apps.tenants.members import reach_of
from apps.tenants.services import OrganizationNameRefused
from apps.web.adapters import is_own_page
from apps.web.confirmation import Confirmation, Paragraph
from apps.web.forms import SEED, FirstFactorForm, NewPasswordForm, SignInCodeForm, SignUpForm, StepUpCodeForm
from apps.web.pages import POLICY, AccessLevel, needs, show

if TYPE_CHECKING:  # views import no models
    from apps.accounts.models import User


class ThrottledSignIn:
    """A sign-in method whose attempts are counted; a successful attempt is not counted."""

    attempt: login_throttle.Attempt

    def form_valid(self, form: Any) -> HttpResponse:
        login_throttle.forgive(self.attempt)
        response: HttpResponse = super().form_valid(form)  # type: ignore[misc]
        return response


class SignIn(ThrottledSignIn, LoginView):  # type: ignore[misc]  # allauth ships no types
    template_name = "web/sign_in.html"

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        named = request.POST.get("login", "")
        self.attempt = _count_sign_in(request, named, devices.known_device(request, named))
        response: HttpResponseBase = super().post(request, *args, **kwargs)
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        login_throttle.note(None, AuditAction.SESSION_REFUSED, now=timezone.now())
        response: HttpResponse = super().form_invalid(form)
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        return context | {"may_sign_up": settings.SIGNUP}


@needs(AccessLevel.NOBODY, methods="GET POST")
def sign_up(request: HttpRequest) -> HttpResponseBase:
    """Sign up as through the API: the response is the same if the address already exists, and nothing is created
    then."""
    if not settings.SIGNUP:
        raise onboarding.SignUpClosed
    if request.user.is_authenticated:
        return HttpResponseRedirect(reverse("web_home"))
    form = SignUpForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        now = timezone.now()
        login_throttle.count_sign_up(request.META.get("REMOTE_ADDR", ""), now=now)
        try:
            code = onboarding.sign_up(**form.cleaned_data, now=now)
        except EmailAddressRefused as error:
            form.add_error("email", error.message)
        except onboarding.PasswordRefused as error:
            form.add_error("password", error.message)
        except OrganizationNameRefused as error:
            form.add_error("organization", error.message)
        else:
            enrolment.remember_code(request, code)
            return show(request, "signed_up", status=201, code=code, days=enrolment.LIFETIME.days)
    return show(request, "sign_up", status=422 if form.is_bound else 200, form=form)


class SignInWithPasskey(ThrottledSignIn, LoginWebAuthnView):  # type: ignore[misc]  # allauth ships no types
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        self.attempt = _count_sign_in(request, "", devices.any_known_device(request))
        response: HttpResponseBase = super().post(request, *args, **kwargs)
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        login_throttle.note(None, AuditAction.SESSION_REFUSED, reason="passkey", now=timezone.now())
        messages.error(self.request, "This passkey was not accepted.")
        return HttpResponseRedirect(reverse("account_login"))


class SignInWithCode(AuthenticateView):  # type: ignore[misc]  # allauth ships no types
    """Second step after the password: a passkey, an authenticator's code, or a recovery code."""

    template_name = "web/sign_in_code.html"
    form_class = SignInCodeForm

    def _build_forms(self) -> Any:
        """Rate-limits before the posted code is checked."""
        if self.request.method == "POST":
            _limit_codes(self.request, self.stage.login.user)
        return super()._build_forms()

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        types = second_factors.types_of(self.stage.login.user.pk)
        context: dict[str, Any] = super().get_context_data(**kwargs)
        return context | {"has_passkey": second_factors.PASSKEY in types}

    def form_invalid(self, form: Any) -> HttpResponse:
        login_throttle.note(None, AuditAction.SESSION_REFUSED, reason="second factor", now=timezone.now())
        response: HttpResponse = super().form_invalid(form)
        return response


@needs(AccessLevel.PERSON, methods="GET POST")
def step_up(request: HttpRequest) -> HttpResponseBase:
    """Confirm the user's identity with a passkey or an authenticator; without either, to add the first one, with the
    password and the account's one-time code."""
    person = person_of(request)
    types = second_factors.types_of(person.pk)
    data = request.POST if request.method == "POST" else None
    form: Any = None
    if not types & second_factors.SECOND:
        form, kind = FirstFactorForm(user=person, data=data, request=request), "password"
    elif data is not None and "credential" in data:
        form, kind = ReauthenticateWebAuthnForm(user=person, data=data), second_factors.PASSKEY
    else:
        form, kind = StepUpCodeForm(user=person, data=data), second_factors.CODE
    if data is not None and kind != second_factors.PASSKEY:  # signatures cannot be guessed; some users confirm often
        _limit_codes(request, person)
    if data is not None and form.is_valid():
        if kind == "password":
            reauthenticate_by_password(request)
        else:
            form.save()
        sessions.renew(request)
        login_throttle.note(person.pk, AuditAction.SESSION_STEP_UP, reason=kind, now=timezone.now())
        return HttpResponseRedirect(_next(request))
    if data is not None:
        login_throttle.note(None, AuditAction.SESSION_STEP_UP, reason=kind, now=timezone.now())
    return show(
        request,
        "step_up",
        status=200 if data is None else 422,
        form=form if kind != second_factors.PASSKEY else StepUpCodeForm(user=person),
        refused_passkey=kind == second_factors.PASSKEY,
        has_passkey=second_factors.PASSKEY in types,
        has_codes=second_factors.CODE in types,
        has_neither=not types & second_factors.SECOND,
        options={"request_options": begin_authentication(person)} if second_factors.PASSKEY in types else None,
        next=_next(request),
    )


@needs(AccessLevel.PERSON)
def account(request: HttpRequest) -> HttpResponseBase:
    """The user's account, with their passkeys, authenticator and recovery codes."""
    there = second_factors.factors_of(request.user.pk or 0)
    return show(
        request,
        "account",
        place="account",
        passkeys=[one for one in there if one.type == second_factors.PASSKEY],
        codes=next((one for one in there if one.type == second_factors.CODE), None),
        recovery=next((one for one in there if one.type == second_factors.RECOVERY), None),
        has_second=any(one.type in second_factors.SECOND for one in there),
        reaches=reach_of(request.user.pk or 0),
    )


class AddPasskey(AddWebAuthnView):  # type: ignore[misc]  # allauth ships no types
    template_name = "web/add_passkey.html"

    def form_valid(self, form: Any) -> HttpResponse:
        with enrolment.adding_factor(self.request, person_of(self.request)):
            response: HttpResponse = super().form_valid(form)
        return _enrolled(self.request, response, "passkey")


class RemovePasskey(RemoveWebAuthnView):  # type: ignore[misc]  # allauth ships no types
    template_name = "web/confirm.html"
    success_url = reverse_lazy("mfa_index")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        return context | {"confirmation": _removal(self.object.wrap().name)}

    def form_valid(self, form: Any) -> HttpResponse:
        if not _may_remove(self.request, self.get_object()):
            return HttpResponseRedirect(reverse("mfa_index"))
        _note_factor(self.request, AuditAction.FACTOR_REMOVE, "passkey")
        response: HttpResponse = super().form_valid(form)
        return response


class AddCodes(ActivateTOTPView):  # type: ignore[misc]  # allauth ships no types
    template_name = "web/add_codes.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        seed: str = context["form"].secret
        return context | {"seed": " ".join(seed[start : start + 4] for start in range(0, len(seed), 4))}

    def form_valid(self, form: Any) -> HttpResponse:
        with enrolment.adding_factor(self.request, person_of(self.request)):
            response: HttpResponse = super().form_valid(form)
        self.request.session.pop(SEED, None)
        return _enrolled(self.request, response, "authenticator")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method == "POST":
            _limit_codes(request, person_of(request))
        response: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        # The QR code is an inline data: image; only this page may show one.
        response.headers["Content-Security-Policy"] = POLICY.replace("img-src 'self'", "img-src 'self' data:")
        return response


class RemoveCodes(DeactivateTOTPView):  # type: ignore[misc]  # allauth ships no types
    template_name = "web/confirm.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        return context | {"confirmation": _removal("the authenticator")}

    def form_valid(self, form: Any) -> HttpResponse:
        if not _may_remove(self.request, self.authenticator):
            return HttpResponseRedirect(reverse("mfa_index"))
        _note_factor(self.request, AuditAction.FACTOR_REMOVE, "authenticator")
        response: HttpResponse = super().form_valid(form)
        return response


class RecoveryCodes(ViewRecoveryCodesView):  # type: ignore[misc]  # allauth ships no types
    template_name = "web/recovery_codes.html"


class NewRecoveryCodes(GenerateRecoveryCodesView):  # type: ignore[misc]  # allauth ships no types
    template_name = "web/confirm.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        count = context["unused_code_count"]
        loss = f"The {count} unused codes stop working." if count else "No codes are left."
        confirmation = Confirmation(
            title="New recovery codes",
            heading="Create new recovery codes?",
            body=(Paragraph(loss),),
            errors=context["form"].non_field_errors(),
            button="Create codes",
            back_url=reverse("mfa_index"),
        )
        return context | {"confirmation": confirmation}

    def form_valid(self, form: Any) -> HttpResponse:
        _note_factor(self.request, AuditAction.FACTOR_ADD, "recovery codes")
        response: HttpResponse = super().form_valid(form)
        return response


class ChangePassword(PasswordChangeView):  # type: ignore[misc]  # allauth ships no types
    template_name = "web/change_password.html"
    form_class = NewPasswordForm
    success_url = reverse_lazy("mfa_index")

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        _limit_codes(request, person_of(request))
        response: HttpResponseBase = super().post(request, *args, **kwargs)
        return response

    def form_valid(self, form: Any) -> HttpResponse:
        _note_factor(self.request, AuditAction.ACCOUNT_PASSWORD, "")
        response: HttpResponse = super().form_valid(form)
        return response


@needs(AccessLevel.PERSON, methods="GET POST")
def list_sessions(request: HttpRequest) -> HttpResponseBase:
    """GET lists the user's sessions; POST ends all but this one."""
    person = person_of(request)
    if request.method == "POST":
        ended = sessions.end_others(request, person)
        login_throttle.note(person.pk, AuditAction.SESSION_END, reason=f"others={ended}", now=timezone.now())
        messages.success(request, "All other sessions have ended.")
        return HttpResponseRedirect(reverse("web_sessions"))
    return show(request, "sessions", sessions=sessions.list_sessions(request, person, now=timezone.now()))


@needs(AccessLevel.NOBODY)
def inactive(request: HttpRequest) -> HttpResponseBase:
    return show(request, "refused", status=403, title="Account disabled", message="This account has been disabled.")


def _view(need: AccessLevel, kind: Any, *, methods: str = "GET POST") -> Callable[..., HttpResponseBase]:
    return needs(need, methods=methods)(kind.as_view())


sign_in = _view(AccessLevel.NOBODY, SignIn)
sign_in_passkey = _view(AccessLevel.NOBODY, SignInWithPasskey)
sign_in_code = _view(AccessLevel.NOBODY, SignInWithCode)
sign_out = _view(AccessLevel.NOBODY, LogoutView, methods="POST")
add_passkey = _view(AccessLevel.FRESH, AddPasskey)
remove_passkey = _view(AccessLevel.FRESH, RemovePasskey)
add_codes = _view(AccessLevel.FRESH, AddCodes)
remove_codes = _view(AccessLevel.FRESH, RemoveCodes)
recovery_codes = _view(AccessLevel.FRESH, RecoveryCodes, methods="GET")
new_recovery_codes = _view(AccessLevel.FRESH, NewRecoveryCodes)
change_password = _view(AccessLevel.PERSON, ChangePassword)


def _count_sign_in(request: HttpRequest, named: str, device: str | None) -> login_throttle.Attempt:
    return login_throttle.count_password(request.META.get("REMOTE_ADDR", ""), named, device=device, now=timezone.now())


def _limit_codes(request: HttpRequest, person: "User") -> None:
    login_throttle.count_code(person.pk, device=devices.known_device_of(request, person), now=timezone.now())


def _next(request: HttpRequest) -> str:
    asked = request.POST.get("next") or request.GET.get("next")
    return asked if asked and is_own_page(asked) else reverse("mfa_index")


def _enrolled(request: HttpRequest, response: HttpResponse, kind: str) -> HttpResponse:
    second_factors.note_enrolled(request)
    sessions.renew(request)
    _note_factor(request, AuditAction.FACTOR_ADD, kind)
    return response


def _removal(name: str) -> Confirmation:
    return Confirmation(
        title="Remove",
        heading=f"Remove {name}?",
        body=(Paragraph("It can no longer be used to sign in or confirm actions."),),
        button="Remove",
        is_danger=True,
        back_url=reverse("mfa_index"),
    )


def _may_remove(request: HttpRequest, authenticator: Any) -> bool:
    there = second_factors.ids_of(request.user.pk or 0)
    if any(kind in second_factors.SECOND for pk, kind in there.items() if pk != authenticator.pk):
        return True
    messages.error(request, "This is your last second factor: add another before you remove it.")
    return False


def _note_factor(request: HttpRequest, action: AuditAction, kind: str) -> None:
    login_throttle.note(request.user.pk, action, reason=kind, now=timezone.now())
