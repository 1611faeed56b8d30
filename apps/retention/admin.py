"""What is kept for how long, what a legal hold keeps, and runs.  Holds are set and lifted here, all else is to
look at.  Ids, times and counts."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseRedirect
from django.utils import timezone
from unfold import widgets
from unfold.enums import ActionVariant

from apps.core.admin import Answer, OperatorAdmin, PasswordForm, action, display
from apps.core.errors import DomainError
from apps.projects.admin import scope_of
from apps.projects.models import RULES, Level, RetentionPolicy
from apps.retention.holds import hold, lift
from apps.retention.models import Hold, PrivacyRequest, RetentionRun
from apps.tenants.models import Tenant


@admin.register(RetentionPolicy)
class RetentionPolicyAdmin(OperatorAdmin):
    heading = "Retention policies"
    list_display = ("whose", "tenant", "says", "revision", "updated_at", "updated_by")
    list_filter = ("level", "tenant")
    fields = ("whose", "tenant", *RULES, "revision", "created_at", "updated_at", "updated_by")

    @display(description="Level")
    def whose(self, policy: RetentionPolicy) -> str:
        target = policy.project_id or policy.space_id
        return f"{policy.level} {target}" if target else str(policy.level)

    @display(description="Says")
    def says(self, policy: RetentionPolicy) -> str:
        said = ((name, getattr(policy, name)) for name in RULES)
        return ", ".join(f"{name} {value}" for name, value in said if value is not None)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("tenant")


class NewHoldForm(forms.Form):
    tenant = forms.ModelChoiceField(
        Tenant.objects.filter(closed_at=None), widget=widgets.UnfoldAdminSelectWidget(), empty_label="Choose a tenant"
    )
    level = forms.ChoiceField(
        label="Level", choices=Level.choices, widget=widgets.UnfoldAdminSelectWidget(), initial=Level.SPACE
    )
    number = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=2**63 - 1,
        widget=widgets.UnfoldAdminIntegerFieldWidget(),
        help_text="Number of the project, space or memory; empty for the whole tenant.",
    )
    case = forms.CharField(max_length=64, widget=widgets.UnfoldAdminTextInputWidget(), help_text="A reference only.")


@admin.register(Hold)
class HoldAdmin(OperatorAdmin):
    actions_list = ("hold",)
    actions_detail = ("lift",)
    heading = "Legal holds"
    list_display = ("number", "tenant", "what", "case", "state", "created_at", "set_by")
    list_filter = ("level", "tenant")
    search_fields = ("case",)
    fields = ("tenant", "what", "case", "state", "created_at", "set_by", "lifted_at", "lifted_by")

    def is_offered(self, name: str, row: Hold) -> bool:
        return row.lifted_at is None

    @action(description="New legal hold", url_path="hold", icon="gavel", permissions=["make"])
    def hold(self, request: HttpRequest) -> Answer:
        form = NewHoldForm(request.POST or None)
        if form.is_valid():
            said, scope = form.cleaned_data, scope_of(request, form.cleaned_data["tenant"])
            try:
                row = hold(scope, Level(said["level"]), said["number"] or 0, case=said["case"], now=timezone.now())
            except DomainError as error:
                form.add_error(None, error.message)
            else:
                self.message_user(request, "Nothing it covers is deleted until the hold is lifted.", messages.SUCCESS)
                return HttpResponseRedirect(self.row_url(row.pk))
        return self.form_page(
            request,
            form,
            title="New legal hold",
            explanation="Until it is lifted, no policy and no person can delete what it covers.",
            submit="Set the hold",
        )

    @action(
        description="Lift", url_path="lift", icon="lock_open", variant=ActionVariant.DANGER, permissions=["operate"]
    )
    def lift(self, request: HttpRequest, object_id: str) -> Answer:
        row = self.found(request, object_id)
        form = PasswordForm(request.POST or None, user=request.user)
        if form.is_valid():
            try:
                count = lift(scope_of(request, row.tenant), row.pk, now=timezone.now())
            except DomainError as error:
                self.message_user(request, error.message, messages.ERROR)
            else:
                self.message_user(request, f"Lifted; {count:,} memories are no longer held.", messages.SUCCESS)
            return HttpResponseRedirect(self.row_url(row.pk))
        return self.form_page(
            request,
            form,
            title=f"Lift the hold for {row.case}",
            explanation="Expired memories and pending erasures are removed by the next run.",
            submit="Lift the hold",
            is_dangerous=True,
            back=self.row_url(row.pk),
        )

    @display(description="Hold", ordering="id")
    def number(self, hold: Hold) -> str:
        return f"#{hold.pk}"

    @display(description="Target")
    def what(self, hold: Hold) -> str:
        target = hold.project_id or hold.space_id or hold.memory_id
        return f"{hold.level} {target}" if target else str(hold.level)

    @display(description="State", label={"in force": "warning", "lifted": "info"})
    def state(self, hold: Hold) -> str:
        return "lifted" if hold.lifted_at else "in force"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("tenant")


@admin.register(RetentionRun)
class RetentionRunAdmin(OperatorAdmin):
    heading = "Retention runs"
    list_display = ("number", "tenant", "created_at", "finished_at", "archived", "deleted", "purged", "times_resumed")
    list_filter = ("tenant",)
    fields = ("tenant", "created_at", "finished_at", "leased_until", "times_resumed", "archived", "deleted", "purged")

    @display(description="Run", ordering="id")
    def number(self, run: RetentionRun) -> str:
        return f"#{run.pk}"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("tenant")


@admin.register(PrivacyRequest)
class PrivacyRequestAdmin(OperatorAdmin):
    heading = "Privacy requests"
    list_display = ("number", "tenant", "kind", "state", "created_at", "due_at", "completed_at", "handled_by")
    list_filter = ("kind", "state", "tenant")
    fields = (
        "tenant", "end_user_id", "kind", "state", "created_at", "requested_by", "due_at", "started_at", "completed_at",
        "handled_by", "attempts", "error", "records", "evidence",
    )  # fmt: skip

    @display(description="Request", ordering="id")
    def number(self, request: PrivacyRequest) -> str:
        return f"#{request.pk}"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("tenant")
