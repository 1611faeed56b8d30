"""People who sign in."""

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from apps.accounts.models import User
from apps.core.admin import NamedAdmin, display

admin.site.unregister(Group)  # rights come from a person's role in an organization
for model in (EmailAddress, Authenticator, UserSession):  # nobody's business but the person's
    admin.site.unregister(model)


class NewUserForm(UserCreationForm):  # type: ignore[misc]  # unfold ships no types
    class Meta:
        model = User
        fields = ("email", "full_name")


class ChangedUserForm(UserChangeForm):  # type: ignore[misc]  # unfold ships no types
    class Meta:
        model = User
        fields = "__all__"


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
        (None, {"fields": ("email", "full_name", "password")}),
        (
            "Rights",
            {
                "fields": ("is_active", "is_staff", "is_superuser"),
                "description": "Staff may sign in here; superusers may do everything here. Nobody here reads memories.",
            },
        ),
        ("Times", {"fields": ("last_login", "created_at")}),
    )
    add_fieldsets = ((None, {"fields": ("email", "full_name", "password1", "password2")}),)

    @display(description="Kind", label={"operator": "info"})
    def kind(self, user: User) -> str:
        return "operator" if user.is_staff else "person"
