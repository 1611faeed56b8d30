"""Accounts of users, who sign in.  End users are a different concept: memories belong to them, and they never sign
in."""

import hashlib
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models

from apps.core.models import BaseModel


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)


class User(AbstractBaseUser, PermissionsMixin):
    """A user, identified by e-mail address.  ``is_staff`` makes an operator, who sees metadata and no memory."""

    id = models.BigAutoField(primary_key=True)
    email = models.EmailField(unique=True)
    full_name = models.CharField(max_length=200, blank=True)
    is_staff = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = UserManager()

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        ordering = ("email",)

    def __str__(self) -> str:
        return self.email

    def password_mark(self) -> bytes:
        """SHA-256 of Django's session auth hash: it changes with each new password, and does not help to guess it."""
        return hashlib.sha256(self.get_session_auth_hash().encode()).digest()


class BrowserSession(BaseModel):
    """A browser session.  digest: SHA-256 of the key in its cookie; the key itself is not stored.  data: Django's
    session data, signed.  user: the user who is signed in, if any."""

    digest = models.BinaryField(max_length=32)
    user = models.ForeignKey(User, models.CASCADE, related_name="+", null=True)
    data = models.TextField()
    expires_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("digest",), name="browser_session_digest"),)
        indexes = (models.Index(fields=("expires_at",), name="browser_session_expires"),)

    def __str__(self) -> str:
        return f"browser session {self.pk}"


class EnrolmentCode(BaseModel):
    """One-time code that adds an account's first passkey or authenticator, together with the password; deleted when
    used.  digest: SHA-256 of a code of 100 random bits."""

    user = models.OneToOneField(User, models.CASCADE, related_name="+")
    digest = models.BinaryField(max_length=32)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"enrolment code {self.pk}"


class Assertion(BaseModel):
    """Permission for one irreversible action, issued after a step-up and usable once.

    binding: SHA-256 over action, target, count and a nonce that only the browser's page has.  session: SHA-256 of the
    session's own name.  authenticated_at: time of the step-up in seconds since 1970, as in the session; one step-up
    permits one such action.
    """

    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    session = models.BinaryField(max_length=32)
    binding = models.BinaryField(max_length=32)
    authenticated_at = models.FloatField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("binding",), name="assertion_binding"),
            models.UniqueConstraint(
                fields=("session", "authenticated_at"),
                condition=models.Q(used_at__isnull=False),
                name="assertion_one_deed_per_step_up",
            ),
        )

    def __str__(self) -> str:
        return f"assertion {self.pk}"


class BearerSession(BaseModel):
    """A user's API session.  Only the SHA-256 of its current access and refresh token is stored; 256 random bits need
    no key stretching.

    method: the last factor used: ``password``, ``totp`` or ``recovery_codes``.  proved_at: when a second factor was
    used; password_shown_at: when the password was re-entered; both by the database's clock.  password: SHA-256 of
    Django's session auth hash, so that a new password ends this session.
    """

    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    access = models.BinaryField(max_length=32)
    access_expires_at = models.DateTimeField()
    refresh = models.BinaryField(max_length=32)
    password = models.BinaryField(max_length=32)
    method = models.CharField(max_length=16)
    proved_at = models.DateTimeField(null=True)
    password_shown_at = models.DateTimeField(null=True)
    client = models.CharField(max_length=128, blank=True)
    network = models.CharField(max_length=43, blank=True)
    last_used_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("access",), name="bearer_access"),
            models.UniqueConstraint(fields=("refresh",), name="bearer_refresh"),
        )

    def __str__(self) -> str:
        return f"bearer session {self.pk}"


class SpentRefresh(BaseModel):
    """A refresh token that was used.  A second use means that it was stolen, by or from the caller."""

    session = models.ForeignKey(BearerSession, models.CASCADE, related_name="+")
    digest = models.BinaryField(max_length=32)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("digest",), name="spent_refresh_once"),)

    def __str__(self) -> str:
        return f"spent refresh token {self.pk}"


class OAuthGrant(BaseModel):
    """What a person gave a client through OAuth.  Only the SHA-256 of its current access and refresh token is stored.

    client_id: of allauth's ``Client``.  kid: of the key (``apps.apikeys.models.ApiKey``) that the tokens act as; it
    holds the tenant and all that the client may do.  audience: address of the one resource that takes the tokens.
    password: as in ``BearerSession``.
    """

    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    client_id = models.CharField(max_length=100)
    kid = models.CharField(max_length=11)
    audience = models.CharField(max_length=300)
    access = models.BinaryField(max_length=32)
    access_expires_at = models.DateTimeField()
    refresh = models.BinaryField(max_length=32)
    password = models.BinaryField(max_length=32)
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("access",), name="oauth_grant_access"),
            models.UniqueConstraint(fields=("refresh",), name="oauth_grant_refresh"),
        )
        indexes = (models.Index(fields=("client_id",), name="oauth_grant_client"),)

    def __str__(self) -> str:
        return f"OAuth grant {self.pk}"


class SpentOAuthToken(BaseModel):
    """A refresh token that was used.  A second use means that it was stolen, by or from the client."""

    grant = models.ForeignKey(OAuthGrant, models.CASCADE, related_name="+")
    digest = models.BinaryField(max_length=32)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("digest",), name="spent_oauth_token_once"),)

    def __str__(self) -> str:
        return f"spent OAuth token {self.pk}"


class OAuthCode(BaseModel):
    """What a client exchanges for tokens, once and within a minute after a person gave it access.

    digest: SHA-256 of the code.  code_challenge: of S256.  grant: made by the exchange.  The others are as in
    ``OAuthGrant``.
    """

    digest = models.BinaryField(max_length=32)
    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    client_id = models.CharField(max_length=100)
    kid = models.CharField(max_length=11)
    audience = models.CharField(max_length=300)
    redirect_uri = models.TextField()
    code_challenge = models.CharField(max_length=128)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    grant = models.ForeignKey(OAuthGrant, models.CASCADE, related_name="+", null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("digest",), name="oauth_code_digest"),)

    def __str__(self) -> str:
        return f"OAuth code {self.pk}"
