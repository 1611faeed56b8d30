"""Admin pages for encryption keys and their rotations, with actions to request rotations and rewraps.

A worker does the requested work: these pages import no code that can access a key, wrapped or not.
"""

from django import forms
from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponseRedirect
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold import widgets

from apps.core.admin import OPERATOR, Answer, ConfirmForm, OperatorAdmin, PasswordForm, action, display
from apps.core.errors import DomainError
from apps.crypto.models import TenantKeyState
from apps.key_management.models import OPEN, KeyRewrap, KeyRotation
from apps.key_management.rotation_requests import ask_for_rewrap, ask_for_rotation
from apps.memories.models import Memory
from apps.projects.admin import scope_of
from apps.projects.scope import Principal


class RotateTenantKeyForm(PasswordForm):
    reason = forms.CharField(
        max_length=64,
        initial="asked for",
        widget=widgets.UnfoldAdminTextInputWidget(),
        help_text="For the audit trail.",
    )
    is_compromise = forms.BooleanField(
        label="The key may be compromised",
        required=False,
        widget=widgets.UnfoldBooleanWidget(),
        help_text="Also replaces the identity key and retires old versions once no row uses them. Tokens and "
        "vectors in existing copies of the database stay as readable as they are.",
    )


@admin.register(TenantKeyState)
class TenantKeyStateAdmin(OperatorAdmin):
    heading = "Encryption keys"
    list_display = ("tenant", "active_version", "readable", "state", "in_use_since", "progress")
    list_filter = ("compromised",)
    list_select_related = ("tenant",)
    search_fields = ("tenant__name",)
    ordering = ("tenant__name",)
    fields = (
        "tenant", "active_version", "in_use_since", "readable", "identity_version", "state", "progress", "versions",
        "key_epoch", "created_at",
    )  # fmt: skip
    actions_list = ("rewrap",)
    actions_detail = ("rotate",)

    @display(description="Readable versions", ordering="live_versions")
    def readable(self, row: TenantKeyState) -> str:
        return ", ".join(map(str, row.live_versions))

    @display(description="State", label={"in use": "success", "rotating": "info", "compromised": "danger"})
    def state(self, row: TenantKeyState) -> str:
        if row.compromised:
            return "compromised"
        return "rotating" if len(row.live_versions) > 1 else "in use"

    @display(description="In use since")
    def in_use_since(self, row: TenantKeyState) -> str:
        turned = _rotations(row).filter(to_version=row.active_version).exclude(started_at=None).order_by("pk").first()
        since = (turned.started_at if turned else None) or row.created_at
        return f"{since:%Y-%m-%d} ({(timezone.now() - since).days} days)"

    @display(description="Rotation")
    def progress(self, row: TenantKeyState) -> str:
        newest = _rotations(row).order_by("-pk").first()
        if newest is None:
            return "none yet"
        if newest.state in OPEN:
            return f"{newest.state}: {newest.rows_done:,} of {newest.rows_total:,} rows"
        return f"{newest.state} at {newest.finished_at:%Y-%m-%d %H:%M} UTC, {newest.rows_done:,} rows"

    @display(description="Memories under each version")
    def versions(self, row: TenantKeyState) -> SafeString:
        memories = Memory._default_manager.using(OPERATOR).filter(tenant_id=row.tenant_id)
        counts = memories.values_list("key_version").annotate(Count("pk")).order_by("key_version")
        return format_html("<ul>{}</ul>", format_html_join("", "<li>{}: {}</li>", list(counts)))

    @action(description="Rotate the key", url_path="rotate", icon="autorenew", permissions=["operate"])
    def rotate(self, request: HttpRequest, object_id: str) -> Answer:
        row = self.found(request, object_id)
        form = RotateTenantKeyForm(request.POST or None, user=request.user)
        if form.is_valid():
            asked, scope = form.cleaned_data, scope_of(request, row.tenant)
            try:
                ask_for_rotation(
                    scope, reason=asked["reason"], is_compromise=asked["is_compromise"], now=timezone.now()
                )
            except DomainError as error:
                form.add_error(None, error.message)
            else:
                self.message_user(request, "The rotation starts within a minute.", messages.SUCCESS)
                return HttpResponseRedirect(self.row_url(row.pk))
        return self.form_page(
            request,
            form,
            title=f"Rotate the key of {row.tenant.name}",
            explanation="New data is encrypted under a new key; existing rows are re-encrypted in the background. "
            "The service keeps running.",
            submit="Rotate the key",
            back=self.row_url(row.pk),
        )

    @action(description="Rewrap all keys", url_path="rewrap", icon="lock_reset", permissions=["make"])
    def rewrap(self, request: HttpRequest) -> Answer:
        if request.method == "POST":
            ask_for_rewrap(Principal(kind="account", id=request.user.pk or 0), now=timezone.now())
            self.message_user(request, "All keys are rewrapped within a minute.", messages.SUCCESS)
            return HttpResponseRedirect(self.list_url())
        return self.form_page(
            request,
            ConfirmForm(),
            title="Rewrap all keys",
            explanation="Every key of every tenant and of the deployment is rewrapped under the key provider's current "
            "version. No memory is touched.",
            submit="Rewrap all keys",
        )


@admin.register(KeyRotation)
class KeyRotationAdmin(OperatorAdmin):
    heading = "Key rotations"
    list_display = ("id", "tenant_id", "turn", "state_label", "share", "rows_quarantined", "started_at", "finished_at")
    list_filter = ("state", "is_compromise")
    fields = (
        "tenant_id", "turn", "state_label", "reason", "actor", "is_compromise", "share", "rows_total", "rows_done",
        "rows_quarantined", "created_at", "started_at", "finished_at",
    )  # fmt: skip

    @display(description="Versions")
    def turn(self, row: KeyRotation) -> str:
        return f"{row.from_version or '?'} → {row.to_version or '?'}"

    @display(description="State", label={"asked": "info", "running": "info", "done": "success", "overtaken": "warning"})
    def state_label(self, row: KeyRotation) -> str:
        return row.state

    @display(description="Done")
    def share(self, row: KeyRotation) -> str:
        done = row.rows_done + row.rows_quarantined
        return f"{min(100, 100 * done // row.rows_total)} %" if row.rows_total else "–"


@admin.register(KeyRewrap)
class KeyRewrapAdmin(OperatorAdmin):
    heading = "Key rewraps"
    list_display = ("id", "actor", "done", "failed", "created_at", "finished_at")
    fields = ("actor", "done", "failed", "created_at", "finished_at")


def _rotations(row: TenantKeyState) -> QuerySet[KeyRotation]:
    return KeyRotation._default_manager.using(OPERATOR).filter(tenant_id=row.tenant_id)
