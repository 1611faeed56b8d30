"""Forms for signing in and for confirming the user's identity.  Errors are shown beside the field."""

import unicodedata
from typing import Any

from allauth.account.forms import ChangePasswordForm
from allauth.account.forms import ReauthenticateForm as PasswordForm
from allauth.core import context
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from django import forms
from django.http import HttpRequest
from django.utils import timezone

from apps.accounts import enrolment, second_factors
from apps.apikeys import login_throttle
from apps.core.plaintext import Plaintext
from apps.crypto.deployment import open_for_deployment, seal_for_deployment

SEED = "seed_ct"  # in the session, until the user has entered the authenticator's first code
FIELD = "session.seed"

WRONG = "This code is wrong. Authenticator codes change every 30 seconds, and each works once."
ENROLMENT = "This code is wrong, was used already or has expired."
RECOVERY = "Recovery codes only sign you in. To confirm an action, use a passkey or your authenticator."


def check_label(text: str) -> None:
    """Validate a label that is stored in clear: no control characters, as in the API."""
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise forms.ValidationError("Control characters are not allowed.")


class CodeInput(forms.TextInput):
    def __init__(self) -> None:
        super().__init__({"autocomplete": "one-time-code", "inputmode": "text", "autocapitalize": "off"})


def _compact(code: str) -> str:
    return "".join(code.split())


class SignInCodeForm(AuthenticateForm):  # type: ignore[misc]  # allauth ships no types
    """An authenticator's code, or a recovery code."""

    code = forms.CharField(label="Code", max_length=32, widget=CodeInput())

    def clean_code(self) -> str:
        code = self.cleaned_data["code"] = _compact(self.cleaned_data["code"])
        if not login_throttle.is_first_use(self.user.pk, code, now=timezone.now()):
            raise forms.ValidationError(WRONG)
        return str(super().clean_code())


class StepUpCodeForm(ReauthenticateForm):  # type: ignore[misc]  # allauth ships no types
    """An authenticator's code only; a recovery code is refused and not consumed."""

    code = forms.CharField(label="Authenticator code", max_length=32, widget=CodeInput())

    def clean_code(self) -> str:
        code = _compact(self.cleaned_data["code"])
        if len(code) != 6:
            raise forms.ValidationError(RECOVERY)
        row = Authenticator.objects.filter(user=self.user, type=second_factors.CODE).first()
        is_first = login_throttle.is_first_use(self.user.pk, code, now=timezone.now())
        if row is None or not is_first or not row.wrap().validate_code(code):
            raise forms.ValidationError(WRONG)
        self.authenticator = row
        return code


class FirstFactorForm(PasswordForm):  # type: ignore[misc]  # allauth ships no types
    """The password and the one-time code that adding a first factor requires; a code accepted in this session is not
    asked for again."""

    code = forms.CharField(
        label="One-time code",
        max_length=64,
        widget=forms.TextInput({"autocomplete": "off", "autocapitalize": "characters", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request
        self.fields["password"].widget.attrs.pop("placeholder", None)
        self.fields["password"].help_text = ""
        if enrolment.is_code_accepted(request, self.user):
            del self.fields["code"]

    def clean(self) -> dict[str, Any]:
        """The code is checked only if the password is right, so that a stolen session cannot be used to guess codes."""
        said: dict[str, Any] = super().clean()
        if "code" in said and "password" in said and not enrolment.accept_code(self.request, self.user, said["code"]):
            self.add_error("code", ENROLMENT)
        return said


class AddCodesForm(forms.Form):
    """The first code of a new authenticator.  Its seed is encrypted in the session."""

    code = forms.CharField(label="Current code", max_length=32, widget=CodeInput())

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        session = context.request.session
        if not self.is_bound or SEED not in session:
            session[SEED] = seal_for_deployment(FIELD, Plaintext(totp.generate_totp_secret()))
        self.secret = open_for_deployment(FIELD, session[SEED]).reveal()

    def clean_code(self) -> str:
        code = _compact(self.cleaned_data["code"])
        is_first = login_throttle.is_first_use(self.user.pk, code, now=timezone.now())
        if not is_first or not totp.validate_totp_code(self.secret, code):
            raise forms.ValidationError(WRONG)
        return code


class SignUpForm(forms.Form):
    """A user with a new organization; the service validates the values."""

    email = forms.EmailField(
        label="Email", max_length=254, widget=forms.EmailInput({"autocomplete": "username", "autofocus": True})
    )
    password = forms.CharField(
        label="Password (at least 12 characters)",
        max_length=1024,
        strip=False,
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    )
    organization = forms.CharField(
        label="Your organization",
        max_length=100,
        validators=[check_label],
        widget=forms.TextInput({"autocomplete": "organization"}),
    )
    full_name = forms.CharField(
        label="Your name (optional)",
        max_length=200,
        required=False,
        validators=[check_label],
        widget=forms.TextInput({"autocomplete": "name"}),
    )


class NewPasswordForm(ChangePasswordForm):  # type: ignore[misc]  # allauth ships no types
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.help_text = ""
            field.widget.attrs.pop("placeholder", None)
        self.fields["oldpassword"].label = "Current password"
        self.fields["password1"].label = "New password"
        self.fields["password2"].label = "New password, again"
