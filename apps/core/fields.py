"""Columns with encrypted content. What is encrypted, and how, is declared once, on the model."""

from typing import Any

from django.db import models


class EncryptedField(models.BinaryField):  # type: ignore[type-arg]  # no generic at run time
    """An envelope of ``apps.crypto``, or null.

    context: the name bound into the envelope with the row's id, so that it opens in no other column and row.
    is_revised: the row's ``revision`` is bound too.  is_json: the content is JSON, not text.  label: what the export of
    a person calls it; by default the column without ``_ct``.

    In migrations it is the BinaryField that the database sees.
    """

    def __init__(
        self,
        context: str = "",
        *,
        is_revised: bool = False,
        is_json: bool = False,
        label: str = "",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.context, self.is_revised, self.is_json, self._label = context, is_revised, is_json, label

    @property
    def label(self) -> str:
        return self._label or self.attname.removesuffix("_ct")

    def deconstruct(self) -> Any:
        name, _, arguments, options = super().deconstruct()
        return name, "django.db.models.BinaryField", arguments, options


def encrypted_fields(model: type[models.Model]) -> dict[str, EncryptedField]:
    """By column, in the order of the model."""
    return {field.attname: field for field in model._meta.concrete_fields if isinstance(field, EncryptedField)}
