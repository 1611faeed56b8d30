"""Projects and spaces in the admin: counts, never content."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from unfold import widgets

from apps.core.admin import Answer, OperatorAdmin, action, display, link, mono
from apps.core.errors import DomainError
from apps.projects.models import Project, Review, Space
from apps.projects.scope import Principal, Scope
from apps.projects.selectors import scope_in
from apps.projects.services import archive, create_project, set_review, unarchive
from apps.tenants.models import Tenant


def scope_of(request: HttpRequest, tenant: Tenant) -> Scope:
    """The signed-in operator's scope in this tenant, without a space."""
    return scope_in(tenant, principal=Principal(kind="account", id=request.user.pk or 0))


class NewProjectForm(forms.Form):
    tenant = forms.ModelChoiceField(
        Tenant.objects.filter(closed_at=None), widget=widgets.UnfoldAdminSelectWidget(), empty_label="Choose a tenant"
    )
    name = forms.CharField(max_length=200, widget=widgets.UnfoldAdminTextInputWidget())


class ReviewForm(forms.Form):
    review = forms.ChoiceField(
        choices=Review.choices, label="Held for review", widget=widgets.UnfoldAdminSelectWidget()
    )


@admin.register(Project)
class ProjectAdmin(OperatorAdmin):
    list_display = ("name", "public", "tenant", "state", "created_at")
    list_filter = ("is_default", "tenant")
    list_select_related = ("tenant",)
    search_fields = ("name", "public_id", "tenant__name")
    ordering = ("tenant__name", "-is_default", "name", "id")
    fields = ("name", "public", "tenant", "state", "review", "created_at", "archived_at")
    actions_list = ("create",)
    actions_detail = ("review_what", "archive", "bring_back")

    def is_offered(self, name: str, row: Project) -> bool:
        if name == "review_what":
            return not row.archived_at
        return bool(row.archived_at) == (name == "bring_back") and not row.is_default

    @display(description="Project id", ordering="public_id")
    def public(self, project: Project) -> str:
        return mono(project.public_id)

    @display(description="State", label={"default": "info", "active": "success", "archived": "warning"})
    def state(self, project: Project) -> str:
        if project.archived_at:
            return "archived"
        return "default" if project.is_default else "active"

    @action(description="New project", url_path="create", icon="add", permissions=["make"])
    def create(self, request: HttpRequest) -> Answer:
        form = NewProjectForm(request.POST or None, initial={"tenant": request.GET.get("tenant")})
        if form.is_valid():
            scope = scope_of(request, form.cleaned_data["tenant"])
            try:
                project = create_project(scope, form.cleaned_data["name"], now=timezone.now())
            except DomainError as error:
                form.add_error("name", error.message)
            else:
                self.message_user(request, f"Project {project.name} is {project.public_id}.", messages.SUCCESS)
                return HttpResponseRedirect(self.row_url(project.pk))
        return self.form_page(request, form, title="New project", submit="Create the project")

    @action(description="Change review", url_path="review", icon="rule", permissions=["operate"])
    def review_what(self, request: HttpRequest, object_id: str) -> Answer:
        project = self.found(request, object_id)
        form = ReviewForm(request.POST or None, initial={"review": project.review})
        back = self.row_url(project.pk)
        if form.is_valid():
            review = form.cleaned_data["review"]
            set_review(scope_of(request, project.tenant), project.public_id, review, now=timezone.now())
            self.message_user(request, f"{project.name}: {Review(review).label.lower()}.", messages.SUCCESS)
            return HttpResponseRedirect(back)
        return self.form_page(
            request,
            form,
            title=f"What {project.name} holds for review",
            explanation="Held candidates are stored only after a reviewer accepts them. Those held now stay in review.",
            submit="Set",
            back=back,
        )

    @action(description="Archive", url_path="archive", icon="archive", permissions=["operate"])
    def archive(self, request: HttpRequest, object_id: str) -> Answer:
        return self._change(
            request,
            object_id,
            archive,
            verb="Archive",
            done="archived",
            explanation="Its memories can still be read, and no new ones can be added.",
        )

    @action(description="Restore", url_path="unarchive", icon="unarchive", permissions=["operate"])
    def bring_back(self, request: HttpRequest, object_id: str) -> Answer:
        return self._change(
            request,
            object_id,
            unarchive,
            verb="Restore",
            done="active again",
            explanation="Memories can be added to it again.",
        )

    def _change(
        self, request: HttpRequest, object_id: str, change: Any, *, verb: str, done: str, explanation: str
    ) -> Answer:
        project = self.found(request, object_id)
        back = self.row_url(project.pk)
        if request.method == "POST":
            try:
                change(scope_of(request, project.tenant), project.public_id, now=timezone.now())
            except DomainError as error:
                self.message_user(request, error.message, messages.ERROR)
            else:
                self.message_user(request, f"{project.name} is {done}.", messages.SUCCESS)
            return HttpResponseRedirect(back)
        form = forms.Form()
        title = f"{verb} {project.name}"
        return self.form_page(request, form, title=title, explanation=explanation, submit=verb, back=back)


@admin.register(Space)
class SpaceAdmin(OperatorAdmin):
    """Spaces of memories.  Each has its own keys, so that nothing in one space can be found from another."""

    list_display = ("id", "tenant", "environment", "kind", "owner_id", "doc_count", "term_total", "txid", "created_at")
    list_filter = ("environment", "kind", "tenant")
    list_select_related = ("tenant",)
    search_fields = ("uid",)
    fields = (
        "uid", "tenant", "environment", "kind", "owner_id", "doc_count", "term_total", "txid", "created_at", "in_need",
    )  # fmt: skip

    @display(description="Contents")
    def in_need(self, space: Space) -> str:
        """A link to break-glass access in the console, which requires a second factor and the approval of others."""
        page = reverse("web_break_glass_ask", args=[space.tenant.name, space.pk])
        return format_html("Encrypted. {}", link("Break the glass", page))
