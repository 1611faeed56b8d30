"""People who sign in.  Not end users: those are whose memories they are, and never sign in."""

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
    """A person, known by e-mail address.  ``is_staff`` makes an operator, who sees metadata and no memory."""

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


class Assertion(BaseModel):
    """Leave for one deed that cannot be taken back, given after a step-up and used at most once.

    binding: SHA-256 over action, target, count and a nonce that only the browser's page has.  session: SHA-256 of the
    session's own name.  authenticated_at: when the step-up was, in seconds since 1970, as the session has it; one
    step-up carries one such deed.
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
