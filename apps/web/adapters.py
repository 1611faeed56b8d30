"""django-allauth adapters: no sign-up through its pages, where to redirect, and how secrets are encrypted."""

from typing import Any, Final

from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.adapter import DefaultMFAAdapter
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from apps.accounts import second_factors
from apps.core.plaintext import Plaintext
from apps.crypto.deployment import open_for_deployment, seal_for_deployment

PREFIXES: Final = ("/app/", "/admin/")
SECRET: Final = "mfa_authenticator.data"  # noqa: S105  (the name bound into the seal)


def is_own_page(url: str | None) -> bool:
    """Whether a browser may be redirected to this address after signing in: only to our pages or the admin, on this
    host."""
    if not url or not url.startswith(PREFIXES) or not url.isprintable():
        return False
    return url_has_allowed_host_and_scheme(url, allowed_hosts=None)


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth ships no types
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def is_safe_url(self, url: str | None) -> bool:
        return is_own_page(url)

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        return reverse("web_home")

    def get_logout_redirect_url(self, request: HttpRequest) -> str:
        return reverse("account_login")

    def send_mail(self, template_prefix: str, email: str, context: Any) -> None:
        """Do nothing: no mail is sent."""

    def send_notification_mail(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: no mail is sent."""


class FactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth ships no types
    """Seeds of authenticators and recovery codes are encrypted with a deployment key; passkeys are public keys."""

    def encrypt(self, text: str) -> str:
        return seal_for_deployment(SECRET, Plaintext(text))

    def decrypt(self, encrypted_text: str) -> str:
        return open_for_deployment(SECRET, encrypted_text).reveal()

    def generate_authenticator_name(self, user: Any, type: Any) -> str:  # noqa: A002  (allauth's name)
        count = sum(1 for kind in second_factors.ids_of(user.pk).values() if kind == second_factors.PASSKEY)
        return f"Passkey {count + 1}"

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        return {**super().get_public_key_credential_rp_entity(), "name": "memsync"}
