"""API keys in the admin: create and revoke them.

An operator is not shown a key that can read content: the admin creates a link instead, which an owner of the tenant
opens in the console (``apps.apikeys.offers``).
"""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from unfold import widgets
from unfold.enums import ActionVariant

from apps.apikeys.models import ApiKey, KeyOffer
from apps.apikeys.offers import hand_out, hand_out_rotated, state_of_offer
from apps.apikeys.permissions import DEFAULT, PERMISSIONS
from apps.apikeys.selectors import state_of
from apps.apikeys.services import Issued, revoke
from apps.core.admin import (
    OPERATOR,
    Answer,
    ConfirmForm,
    OperatorAdmin,
    PasswordForm,
    action,
    display,
    joined_sealed_fields,
    mono,
)
from apps.core.errors import DomainError
from apps.projects.admin import scope_of
from apps.projects.models import Project
from apps.projects.scope import Environment
from apps.tenants.models import Tenant

LIFETIMES = {7: "a week", 30: "30 days", 90: "90 days", 180: "half a year", 365: "a year (maximum)"}
EXPLANATION = (
    "If the tenant has an owner you get a link for them: they create the key, and only they see its text."
    " Otherwise a key that cannot read content is created here and shown once. `memsync key` on the host creates any."
)
GRACES = {0: "Revoke now: the key leaked", 1: "An hour", 24: "A day", 168: "A week", 720: "30 days"}


class IssueForm(PasswordForm):
    tenant = forms.ModelChoiceField(
        Tenant.objects.filter(closed_at=None), widget=widgets.UnfoldAdminSelectWidget(), empty_label="Choose a tenant"
    )
    name = forms.CharField(
        max_length=128, widget=widgets.UnfoldAdminTextInputWidget(), help_text="What the key is used for."
    )
    environment = forms.ChoiceField(
        choices=[(value.value, value.value) for value in reversed(Environment)],
        widget=widgets.UnfoldAdminSelectWidget(),
        help_text="Where the key writes.",
    )
    other_environments = forms.MultipleChoiceField(
        required=False,
        choices=[(value.value, value.value) for value in reversed(Environment)],
        widget=widgets.UnfoldAdminCheckboxSelectMultipleWidget(),
        help_text="The key reads their memories too, and works there if a request names one. They cannot be changed "
        "later.",
    )
    project = forms.ChoiceField(
        required=False,
        widget=widgets.UnfoldAdminSelectWidget(),
        help_text="A pinned key works in this project only; org:cross_project_read lets it read the others.",
    )
    days = forms.TypedChoiceField(
        label="Valid for",
        coerce=int,
        choices=list(LIFETIMES.items()),
        initial=90,
        widget=widgets.UnfoldAdminSelectWidget(),
    )
    scopes = forms.MultipleChoiceField(
        choices=[(name, f"{name}: {what}") for name, what in PERMISSIONS.items()],
        initial=DEFAULT,
        widget=widgets.UnfoldAdminCheckboxSelectMultipleWidget(),
    )

    def __init__(self, *args: Any, tenant_id: str | None, **options: Any) -> None:
        super().__init__(*args, **options)
        projects = Project._default_manager.using(OPERATOR).filter(archived_at=None)
        projects = projects.select_related("tenant").defer(*joined_sealed_fields(Project))
        if tenant_id and tenant_id.isdecimal():
            self.fields["tenant"].initial = tenant_id
            projects = projects.filter(tenant_id=tenant_id)
        choices = [(str(project.pk), f"{project.tenant.name}: {project.name}") for project in projects[:500]]
        self.fields["project"].choices = [("", "None"), *choices]  # type: ignore[attr-defined]  # a ChoiceField


class RotateApiKeyForm(PasswordForm):
    hours = forms.TypedChoiceField(
        label="The old key stays valid for",
        coerce=int,
        choices=list(GRACES.items()),
        initial=24,
        widget=widgets.UnfoldAdminSelectWidget(),
    )


class StateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("active", "Active"), ("expired", "Expired"), ("revoked", "Revoked")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        now = timezone.now()
        is_valid = Q(expires_at=None) | Q(expires_at__gt=now)
        chosen = {
            "active": Q(revoked_at=None) & is_valid,
            "expired": Q(revoked_at=None) & ~is_valid,
            "revoked": Q(revoked_at__isnull=False),
        }
        return queryset.filter(chosen.get(self.value() or "", Q()))


@admin.register(ApiKey)
class ApiKeyAdmin(OperatorAdmin):
    heading = "API keys"
    list_display = ("begins_with", "name", "tenant", "environment", "state", "expires_at", "last_used_at")
    list_filter = (StateFilter, "environment", "tenant")
    list_select_related = ("tenant", "project")
    search_fields = ("name", "kid", "tenant__name")
    fieldsets = (
        (None, {"fields": ("begins_with", "name", "tenant", "works_in", "project", "state")}),
        ("Permissions", {"fields": ("permissions",)}),
        ("Times", {"fields": ("created_at", "expires_at", "revoked_at", "last_used_at")}),
    )
    actions_list = ("issue",)
    actions_detail = ("rotate", "revoke")
    actions = ("revoke_selected",)

    def is_offered(self, name: str, row: ApiKey) -> bool:
        return row.revoked_at is None and (name == "revoke" or self.state(row) == "active")

    @display(description="Prefix", ordering="kid")
    def begins_with(self, key: ApiKey) -> str:
        return mono(f"{key.prefix}…")

    @display(description="State", label={"active": "success", "expired": "warning", "revoked": "danger"})
    def state(self, key: ApiKey) -> str:
        return state_of(key, now=timezone.now())

    @display(description="Environments")
    def works_in(self, key: ApiKey) -> str:
        return ", ".join(key.environments)

    @display(description="Scopes")
    def permissions(self, key: ApiKey) -> str:
        return ", ".join(key.scopes)

    @action(description="Issue a key", url_path="issue", icon="add", permissions=["make"])
    def issue(self, request: HttpRequest) -> Answer:
        form = IssueForm(request.POST or None, user=request.user, tenant_id=request.GET.get("tenant"))
        if form.is_valid():
            asked, now = form.cleaned_data, timezone.now()
            try:
                made = hand_out(
                    scope_of(request, asked["tenant"]),
                    name=asked["name"],
                    environment=Environment(asked["environment"]),
                    other_environments=[Environment(one) for one in asked["other_environments"]],
                    scopes=asked["scopes"],
                    project_id=int(asked["project"]) if asked["project"] else None,
                    days=asked["days"],
                    now=now,
                )
            except DomainError as error:
                form.add_error(None, error.message)
            else:
                return self._answer(request, made, asked["tenant"], title="The new key")
        return self.form_page(
            request,
            form,
            title="Issue an API key",
            explanation=EXPLANATION,
            submit="Continue",
        )

    @action(description="Rotate", url_path="rotate", icon="autorenew", permissions=["operate"])
    def rotate(self, request: HttpRequest, object_id: str) -> Answer:
        key = self.found(request, object_id)
        form = RotateApiKeyForm(request.POST or None, user=request.user)
        if form.is_valid():
            grace = timedelta(hours=form.cleaned_data["hours"])
            try:
                made = hand_out_rotated(scope_of(request, key.tenant), key.pk, grace=grace, now=timezone.now())
            except DomainError as error:
                form.add_error(None, error.message)
            else:
                return self._answer(request, made, key.tenant, title=f"The key that replaces {key.prefix}…")
        return self.form_page(
            request,
            form,
            title=f"Rotate {key.name}",
            explanation=f"A new key like {key.prefix}… replaces it. {EXPLANATION}",
            submit="Continue",
            back=self.row_url(key.pk),
        )

    @action(
        description="Revoke",
        url_path="revoke",
        icon="block",
        variant=ActionVariant.DANGER,
        permissions=["operate"],
    )
    def revoke(self, request: HttpRequest, object_id: str) -> Answer:
        key = self.found(request, object_id)
        if request.method == "POST":
            self._revoke(request, [key])
            return HttpResponseRedirect(self.row_url(key.pk))
        return self.form_page(
            request,
            ConfirmForm(),
            title=f"Revoke {key.name}",
            explanation=f"{key.prefix}… is refused from the next request on. This cannot be undone.",
            submit="Revoke the key",
            is_dangerous=True,
            back=self.row_url(key.pk),
        )

    @admin.action(description="Revoke the selected keys", permissions=["operate"])
    def revoke_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._revoke(request, list(queryset))

    def _revoke(self, request: HttpRequest, keys: list[ApiKey]) -> None:
        for key in keys:
            try:
                revoke(scope_of(request, key.tenant), key.pk, now=timezone.now())
            except DomainError as error:
                self.message_user(request, f"{key.prefix}…: {error.message}", messages.WARNING)
            else:
                self.message_user(request, f"{key.prefix}… is revoked.", messages.SUCCESS)

    def _answer(self, request: HttpRequest, made: Issued | KeyOffer, tenant: Tenant, *, title: str) -> Answer:
        if isinstance(made, KeyOffer):
            return self._link(request, made, tenant)
        key = made.key
        facts = {
            "For": ", ".join([tenant.name, *key.environments]),
            "Name": key.name,
            "Project": key.project.name if key.project else "not pinned",
            "Valid until": f"{key.expires_at:%Y-%m-%d %H:%M} UTC",
            "Permissions": ", ".join(key.scopes),
            "Send it in": mono("X-API-Key: ms_…"),
        }
        return self.secret_page(request, made.text, title=title, facts=facts, back=self.row_url(key.pk))

    def _link(self, request: HttpRequest, offer: KeyOffer, tenant: Tenant) -> Answer:
        """The link is not a secret: only owners of the tenant can open it, after a step-up."""
        url = request.build_absolute_uri(reverse("web_key_offer", args=[tenant.name, offer.pk]))
        facts = {
            "For": f"owners of {tenant.name}; it is also listed with their API keys",
            "Name": offer.name,
            "Environments": ", ".join(offer.environments),
            "Permissions": ", ".join(offer.scopes),
            "Valid until": f"{offer.expires_at:%Y-%m-%d %H:%M} UTC, works once",
        }
        title = f"Send this link to an owner of {tenant.name}"
        return self.secret_page(request, url, title=title, facts=facts, back=self.list_url(), is_secret=False)


@admin.register(KeyOffer)
class KeyOfferAdmin(OperatorAdmin):
    """Offers of keys, and their outcome."""

    heading = "Offered keys"
    list_display = ("name", "tenant", "environment", "state", "created_at", "expires_at")
    list_filter = ("environment", "tenant")
    list_select_related = ("tenant", "project")
    fields = ("name", "tenant", "works_in", "project", "may", "state", "offered_by", "created_at", "expires_at",
              "accepted_at", "declined_at", "decided_by", "key_id", "old_key_id")  # fmt: skip

    @display(description="State", label={"waiting": "info", "accepted": "success", "declined": "danger"})
    def state(self, offer: KeyOffer) -> str:
        return state_of_offer(offer, now=timezone.now())

    @display(description="Environments")
    def works_in(self, offer: KeyOffer) -> str:
        return ", ".join(offer.environments)

    @display(description="Scopes")
    def may(self, offer: KeyOffer) -> str:
        return ", ".join(offer.scopes)
