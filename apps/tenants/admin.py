"""Tenants, organizations and end users in the admin: metadata only, never content."""

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponseRedirect
from django.utils import timezone
from unfold.enums import ActionVariant

from apps.core.admin import Answer, ConfirmForm, OperatorAdmin, PasswordForm, action, actor, display, mono
from apps.core.errors import DomainError
from apps.tenants.models import EndUser, KeyDeletes, Tenant
from apps.tenants.services import close_tenant, resume_tenant, set_policy, suspend_tenant


@admin.register(Tenant)
class TenantAdmin(OperatorAdmin):
    list_display = ("name", "organization", "policy", "created_at", "state")
    list_filter = ("key_deletes",)
    list_select_related = ("organization",)
    search_fields = ("name", "organization__name")
    ordering = ("name",)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "name",
                    "organization",
                    "state",
                    "policy",
                    "created_at",
                    "suspended_at",
                    "closed_at",
                    "bound_into_keys",
                )
            },
        ),
    )
    change_form_before_template = "admin/tenant_summary.html"
    actions_detail = ("tighten", "suspend", "resume", "close")

    @display(description="Keys may", label={"delete nothing": "success", "soft-delete memories": "warning"})
    def policy(self, tenant: Tenant) -> str:
        return "soft-delete memories" if tenant.key_deletes == KeyDeletes.RETIRE else "delete nothing"

    @display(description="State", label={"open": "success", "suspended": "warning", "closed": "danger"})
    def state(self, tenant: Tenant) -> str:
        if tenant.closed_at:
            return "closed"
        return "suspended" if tenant.suspended_at else "open"

    def is_offered(self, name: str, row: Tenant) -> bool:
        return {
            "tighten": row.key_deletes != KeyDeletes.DENY,
            "suspend": not row.closed_at and not row.suspended_at,
            "resume": not row.closed_at and bool(row.suspended_at),
            "close": not row.closed_at,
        }[name]

    @display(description="ID in keys and ciphertexts")
    def bound_into_keys(self, tenant: Tenant) -> str:
        return mono(tenant.uid)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> Answer:
        # The apps above this one know what a tenant contains; the admin site collects it.
        about = getattr(self.admin_site, "about_tenant", None)
        summary = about(self.found(request, object_id)) if about else None
        return super().change_view(request, object_id, form_url, {"summary": summary, **(extra_context or {})})

    @action(description="Refuse deletes by keys", url_path="tighten", icon="lock", permissions=["operate"])
    def tighten(self, request: HttpRequest, object_id: str) -> Answer:
        """Only towards stricter: loosening is reserved to the tenant's owner and the host's operator (`memsync
        tenant`)."""
        tenant = self.found(request, object_id)
        if request.method == "POST":
            writable = Tenant.objects.get(pk=tenant.pk)
            set_policy(writable, key_deletes=KeyDeletes.DENY, actor=actor(request), now=timezone.now())
            self.message_user(request, f"API keys of {tenant.name} can no longer delete.", messages.SUCCESS)
            return HttpResponseRedirect(self.row_url(tenant.pk))
        return self.form_page(
            request,
            ConfirmForm(),
            title=f"Refuse deletes by keys of {tenant.name}",
            explanation="Every delete by an API key is refused from the next request on. To allow soft deletes "
            f"again, run `memsync tenant policy {tenant.name} key_deletes=retire`.",
            submit="Refuse deletes",
            back=self.row_url(tenant.pk),
        )

    @action(description="Suspend", url_path="suspend", icon="pause", permissions=["operate"])
    def suspend(self, request: HttpRequest, object_id: str) -> Answer:
        return self._shut_or_open(
            request,
            object_id,
            suspend_tenant,
            verb="Suspend",
            done="suspended",
            explanation="From the next request on its API keys and its members are refused. Background work "
            "continues: retention, key rotation, pending webhooks.",
        )

    @action(description="Resume", url_path="resume", icon="play_arrow", permissions=["operate"])
    def resume(self, request: HttpRequest, object_id: str) -> Answer:
        return self._shut_or_open(
            request,
            object_id,
            resume_tenant,
            verb="Resume",
            done="open again",
            explanation="Its API keys and its members have access again.",
        )

    def _shut_or_open(
        self, request: HttpRequest, object_id: str, change: Any, *, verb: str, done: str, explanation: str
    ) -> Answer:
        tenant = self.found(request, object_id)
        form = PasswordForm(request.POST or None, user=request.user)
        back = self.row_url(tenant.pk)
        if form.is_valid():
            try:
                change(Tenant.objects.get(pk=tenant.pk), actor=actor(request), now=timezone.now())
            except DomainError as error:
                self.message_user(request, error.message, messages.ERROR)
            else:
                self.message_user(request, f"{tenant.name} is {done}.", messages.SUCCESS)
            return HttpResponseRedirect(back)
        title = f"{verb} {tenant.name}"
        return self.form_page(request, form, title=title, explanation=explanation, submit=verb, back=back)

    @action(
        description="Close tenant",
        url_path="close",
        icon="block",
        variant=ActionVariant.DANGER,
        permissions=["operate"],
    )
    def close(self, request: HttpRequest, object_id: str) -> Answer:
        tenant = self.found(request, object_id)
        form = PasswordForm(request.POST or None, user=request.user)
        if form.is_valid():
            try:
                close_tenant(Tenant.objects.get(pk=tenant.pk), actor=actor(request), now=timezone.now())
            except DomainError as error:
                self.message_user(request, error.message, messages.ERROR)
            else:
                self.message_user(request, f"{tenant.name} is closed.", messages.SUCCESS)
            return HttpResponseRedirect(self.row_url(tenant.pk))
        return self.form_page(
            request,
            form,
            title=f"Close {tenant.name}",
            explanation="Every API key of this tenant is refused from the next request on, and its name stays taken. "
            "Its memories stay, encrypted, until they are erased.",
            submit="Close the tenant",
            is_dangerous=True,
            back=self.row_url(tenant.pk),
        )


@admin.register(EndUser)
class EndUserAdmin(OperatorAdmin):
    """The tenant's own id of an end user is encrypted; the admin shows a number."""

    heading = "End users"
    list_display = ("public", "tenant", "created_at")
    list_filter = ("tenant",)
    list_select_related = ("tenant",)
    fields = ("public", "tenant", "created_at")

    @display(description="End user", ordering="id")
    def public(self, end_user: EndUser) -> str:
        return str(end_user)
