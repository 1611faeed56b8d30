"""Base classes of the admin's pages.  The pages show metadata only: never ciphertext, never plaintext.

They read with the operator's database role, which sees the rows of every tenant, but no column with encrypted or
searchable content (see ``memsync.launcher.embedded.roles``).  Changes go through services with the application's role,
not through model forms.
"""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from django import forms
from django.contrib.admin import AllValuesFieldListFilter
from django.contrib.admin.utils import unquote
from django.core.paginator import Paginator
from django.db import connections, models
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold import widgets

if TYPE_CHECKING:  # unfold ships no types: these declare the parts in use
    from django.contrib.admin import ModelAdmin as _ModelAdmin

    F = TypeVar("F")

    class ModelAdmin(_ModelAdmin[Any]):
        def get_actions_detail(self, request: HttpRequest, object_id: int) -> list[Any]: ...

    def action(**options: Any) -> Callable[[F], F]: ...

    def display(**options: Any) -> Callable[[F], F]: ...
else:
    from unfold.admin import ModelAdmin
    from unfold.decorators import action, display

__all__ = ["Answer", "ConfirmForm", "NamedAdmin", "OperatorAdmin", "PasswordForm", "action", "actor", "display",
           "joined_sealed_fields", "link", "mono", "sealed_fields"]  # fmt: skip

Answer = HttpResponse
OPERATOR = "operator"  # the database alias
MOST_COUNTED = 10_000  # rows of a list
LOOKED_THROUGH = 2_000  # rows read to collect the values that a filter offers
SEALED_TYPES = ("bytea", "vector", "halfvec", "sparsevec", "bit", "varbit")


def sealed_fields(model: type[models.Model]) -> list[str]:
    """Return the names of the fields whose columns the operator's role may not read."""
    return [field.name for field in model._meta.concrete_fields if _is_sealed(field)]


def joined_sealed_fields(model: type[models.Model]) -> list[str]:
    """Return such fields of the models that this one's foreign keys refer to, for lists that join them."""
    keys = [field for field in model._meta.concrete_fields if isinstance(field, models.ForeignKey)]
    return [f"{key.name}__{name}" for key in keys for name in sealed_fields(key.related_model)]


def _is_sealed(field: "models.Field[Any, Any]") -> bool:
    kind = field.db_type(connections[OPERATOR])
    # A field that cannot name its type, such as a generated one of pgvector, is treated as sealed.
    return kind is None or re.split(r"\W", kind)[0] in SEALED_TYPES


def _is_number(field: Any) -> bool:
    return isinstance(field, models.IntegerField | models.ForeignKey)


class RowPaginator(Paginator):  # type: ignore[type-arg]  # cannot be subscripted at run time
    """Counts and pages up to MOST_COUNTED rows.  Older rows can be found by a filter or by number."""

    template_name = "admin/operator_pagination.html"

    @cached_property
    def count(self) -> int:
        return min(self._counted, MOST_COUNTED)

    @property
    def has_more(self) -> bool:
        return self._counted > MOST_COUNTED

    @cached_property
    def _counted(self) -> int:
        rows = cast("models.QuerySet[Any]", self.object_list)
        return rows.order_by().values("pk")[: MOST_COUNTED + 1].count()


class NewestValues(AllValuesFieldListFilter):
    """Offers the values of the newest rows, because reading all rows of a large table would be slow."""

    def __init__(
        self, field: Any, request: HttpRequest, params: Any, model: Any, model_admin: Any, field_path: str
    ) -> None:
        super().__init__(field, request, params, model, model_admin, field_path)
        newest = model._default_manager.using(OPERATOR).order_by("-pk")[:LOOKED_THROUGH]
        values = sorted(set(newest.values_list(field_path, flat=True)))
        self.lookup_choices = values  # type: ignore[assignment]  # any iterable does


class NamedAdmin(ModelAdmin):
    """Admin pages with a readable heading; by default the model's plural."""

    heading = ""

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        named = {**self._named(), "title": self._heading}
        return super().changelist_view(request, {**named, **(extra_context or {})})

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        row = self.get_object(request, unquote(object_id)) if object_id else None
        return super().changeform_view(request, object_id, form_url, {**self._named(row), **(extra_context or {})})

    def has_operate_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        """For actions on rows.  unfold would look up a permission's name in the database at every check."""
        return request.user.has_perm(f"{self.opts.app_label}.change_{self.opts.model_name}")

    def get_actions_detail(self, request: HttpRequest, object_id: int) -> list[Any]:
        """unfold's hook: the buttons above a row."""
        offered = super().get_actions_detail(request, object_id)
        row = self.get_object(request, unquote(str(object_id)))
        mine = f"{self.opts.app_label}_{self.opts.model_name}_"
        return [one for one in offered if row is None or self.is_offered(one.action_name.removeprefix(mine), row)]

    def is_offered(self, name: str, row: Any) -> bool:
        """Whether to offer this action for this row.  The service checks again in any case."""
        return True

    def found(self, request: HttpRequest, object_id: str) -> Any:
        """Return the row with this id.  Raises Http404."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            raise Http404
        return row

    def form_page(
        self,
        request: HttpRequest,
        form: forms.Form,
        *,
        title: str,
        submit: str,
        explanation: str = "",
        is_dangerous: bool = False,
        back: str = "",
    ) -> TemplateResponse:
        """Return a page with one form, to confirm an action."""
        said = {
            "title": title,
            "form": form,
            "submit_label": submit,
            "explanation": explanation,
            "variant": "danger" if is_dangerous else "primary",
            "back": back or self.list_url(),
        }
        return self._page(request, "admin/form_page.html", said)

    def secret_page(
        self,
        request: HttpRequest,
        secret: str,
        *,
        title: str,
        facts: Mapping[str, Any],
        back: str = "",
        is_secret: bool = True,
    ) -> TemplateResponse:
        """Return a page that shows a secret once, in the response to the POST.  It is not cached or stored.

        is_secret: False for another value to copy.
        """
        said = {
            "title": title,
            "secret": secret,
            "is_secret": is_secret,
            "facts": facts,
            "back": back or self.list_url(),
        }
        response = self._page(request, "admin/secret_page.html", said)
        response["Cache-Control"] = "no-store"
        return response

    def row_url(self, pk: int) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", args=[pk])

    def _page(self, request: HttpRequest, template: str, said: Mapping[str, Any]) -> TemplateResponse:
        context = {**self.admin_site.each_context(request), "opts": self.opts, **self._named(said["title"]), **said}
        return TemplateResponse(request, template, context)

    def list_url(self) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")

    @property
    def _heading(self) -> str:
        return self.heading or str(self.opts.verbose_name_plural).capitalize()

    def _named(self, subheading: object = None) -> dict[str, Any]:
        return {"heading": self._heading, "heading_url": self.list_url(), "subheading": subheading}


class OperatorAdmin(NamedAdmin):
    """Rows of all tenants, read with the operator's role.  No form adds, changes or deletes rows."""

    change_form_template = "admin/operator_change_form.html"
    paginator = RowPaginator
    ordering: ClassVar[Any] = ("-id",)
    list_per_page = 50
    list_fullwidth = True
    show_full_result_count = False  # it would count all rows a second time
    actions_detail: ClassVar[tuple[str, ...]] = ()
    actions_list: ClassVar[tuple[str, ...]] = ()

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        # The default manager, which is not scoped on tenant data.  The operator's role bypasses row-level security, and
        # is restricted by column grants.
        rows: models.QuerySet[Any] = self.model._default_manager.using(OPERATOR)
        rows = rows.defer(*sealed_fields(self.model), *joined_sealed_fields(self.model))
        if isinstance(self.list_select_related, tuple):  # on the page of one row too
            rows = rows.select_related(*self.list_select_related)
        return rows.order_by(*self.get_ordering(request))

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        named = super().get_list_filter(request)
        return [(one, NewestValues) if isinstance(one, str) and self._is_open(one) else one for one in named]

    def _is_open(self, name: str) -> bool:
        """Whether the field is free text, not a choice or a foreign key."""
        field = self.opts.get_field(name)
        return isinstance(field, models.CharField) and not field.choices

    def get_search_results(
        self, request: HttpRequest, queryset: models.QuerySet[Any], search_term: str
    ) -> tuple[models.QuerySet[Any], bool]:
        """Search a number only in numeric columns, if there are any, so that their indexes are used.

        Django's default compares it as text and would read every row.
        """
        named = [name.removeprefix("=") for name in self.get_search_fields(request) if name.startswith("=")]
        numbers = [name for name in named if _is_number(self.opts.get_field(name.split("__")[0]))]
        term = search_term.strip()
        if not (numbers and term.isascii() and term.isdecimal() and int(term) < 2**63):
            found, has_doubles = super().get_search_results(request, queryset, search_term)
            return found, has_doubles
        return queryset.filter(models.Q.create([(name, int(term)) for name in numbers], connector=models.Q.OR)), False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_make_permission(self, request: HttpRequest) -> bool:
        """For actions that create rows."""
        return request.user.has_perm(f"{self.opts.app_label}.add_{self.opts.model_name}")


class PasswordForm(forms.Form):
    """Asks for the user's own password again: an open session must not be enough to issue keys."""

    password = forms.CharField(
        label="Your password",
        widget=widgets.UnfoldAdminPasswordWidget(attrs={"autocomplete": "current-password"}),
        help_text="Required because this cannot be undone.",
    )

    def __init__(self, *args: Any, user: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.user = user
        self.order_fields([name for name in self.fields if name != "password"])  # it comes last

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not self.user.check_password(password):
            raise forms.ValidationError("This is not your password.")
        return password


class ConfirmForm(forms.Form):
    """A confirmation form without fields."""


def link(label: str, url: str) -> SafeString:
    return format_html('<a class="text-primary-600 dark:text-primary-500" href="{}">{}</a>', url, label)


def mono(text: object) -> SafeString:
    """Format ids and similar values in a monospaced font."""
    return format_html("<code>{}</code>", text)


def actor(request: HttpRequest) -> str:
    """Return the signed-in user as the actor in the audit log."""
    return f"account:{request.user.pk}"
