"""Accounts in the admin.

An operator who could set the password of a user with a role in a tenant, or knew the code for their first passkey,
could read that tenant's memories as that user.  So both actions are only allowed for accounts without a role, such as
operators.
"""

from allauth.account.models import EmailAddress
from allauth.idp.oidc.models import Client, Token
from allauth.mfa.models import Authenticator
from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from unfold.forms import AdminPasswordChangeForm, UserCreationForm

from apps.accounts import enrolment, second_factors
from apps.accounts.models import User
from apps.core.admin import Answer, NamedAdmin, PasswordForm, action, actor, display
from apps.core.errors import DomainError

admin.site.unregister(Group)  # permissions come from a user's role in an organization
for model in (EmailAddress, Authenticator, Client, Token):  # private to the user, or created by `memsync oauth`
    admin.site.unregister(model)


class NewUserForm(UserCreationForm):  # type: ignore[misc]  # unfold ships no types
    class Meta:
        model = User
        fields = ("email", "full_name")


class ChangedUserForm(forms.ModelForm):  # type: ignore[type-arg]  # the same
    """Without the password: Django's form would show the beginning of its hash."""

    class Meta:
        model = User
        fields = ("email", "full_name", "is_active", "is_staff", "is_superuser")


@admin.register(User)
class UserAdmin(DjangoUserAdmin, NamedAdmin):  # type: ignore[type-arg]  # Django cannot be subscripted at run time
    heading = "People"
    form = ChangedUserForm
    add_form = NewUserForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("email", "full_name", "kind", "is_active", "last_login", "created_at")
    list_filter = ("is_staff", "is_active")
    search_fields = ("email", "full_name")
    ordering = ("email",)
    filter_horizontal = ()
    readonly_fields = ("last_login", "created_at")
    fieldsets = (
        (None, {"fields": ("email", "full_name")}),
        (
            "Rights",
            {
                "fields": ("is_active", "is_staff", "is_superuser"),
                "description": "Staff can sign in here; superusers can do everything. No one can read memories here.",
            },
        ),
        ("Times", {"fields": ("last_login", "created_at")}),
    )
    add_fieldsets = (
        (
            None,
            {
                "fields": ("email", "full_name", "password1", "password2"),
                "description": "Next: make them an operator, and give them a code for their first passkey.",
            },
        ),
    )
    actions_detail = ("enrol", "set_password")

    @display(description="Kind", label={"operator": "info"})
    def kind(self, user: User) -> str:
        return "operator" if user.is_staff else "user"

    def is_offered(self, name: str, row: User) -> bool:
        return not _has_role(row) and (name != "enrol" or not second_factors.has_second_factor(row.pk))

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: A002
        if _has_role(self.found(request, id)):
            raise PermissionDenied
        return super().user_change_password(request, id, form_url)

    @action(description="Set a password", url_path="set-password", icon="password", permissions=["operate"])
    def set_password(self, request: HttpRequest, object_id: str) -> Answer:
        """A separate button that leads to Django's password page."""
        return HttpResponseRedirect(reverse("admin:auth_user_password_change", args=[object_id]))

    @action(description="Code for the first passkey", url_path="enrol", icon="passkey", permissions=["operate"])
    def enrol(self, request: HttpRequest, object_id: str) -> Answer:
        person = self.found(request, object_id)
        if _has_role(person):
            raise PermissionDenied
        form = PasswordForm(request.POST or None, user=request.user)
        if form.is_valid():
            try:
                code = enrolment.give_code(person, actor=actor(request), now=timezone.now())
            except DomainError as error:
                form.add_error(None, error.message)
            else:
                facts = {
                    "For": person.email,
                    "Needed": "once, with the password, to add a passkey or authenticator at /app/account",
                }
                title = "Code for the first passkey or authenticator"
                return self.secret_page(request, code, title=title, facts=facts, back=self.row_url(person.pk))
        return self.form_page(
            request,
            form,
            title=f"Give {person.email} a code",
            explanation="With this code and their password they add their first passkey or authenticator. It is shown "
            "once on the next page, works once, and replaces the previous code.",
            submit="Create the code",
            back=self.row_url(person.pk),
        )


def _has_role(person: User) -> bool:
    """Whether the user has a role in any organization, even a suspended one; for these, use ``memsync people`` on the
    host."""
    return bool(person.memberships.exists())
