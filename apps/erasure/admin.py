"""Legal holds: operators set and lift them."""

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponseRedirect
from django.utils import timezone
from unfold import widgets
from unfold.enums import ActionVariant

from apps.core.admin import Answer, OperatorAdmin, PasswordForm, action, display
from apps.core.errors import DomainError
from apps.erasure.legal_holds import hold, lift
from apps.erasure.models import HELD, Hold
from apps.policies.models import Level
from apps.projects.admin import scope_of
from apps.tenants.models import Tenant


class NewHoldForm(forms.Form):
    tenant = forms.ModelChoiceField(
        Tenant.objects.filter(closed_at=None), widget=widgets.UnfoldAdminSelectWidget(), empty_label="Choose a tenant"
    )
    level = forms.ChoiceField(
        label="Level",
        choices=[one for one in Level.choices if one[0] in HELD],
        widget=widgets.UnfoldAdminSelectWidget(),
        initial=Level.SPACE,
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
    list_select_related = ("tenant",)
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
