"""Model field for encrypted columns: the model declares which columns are encrypted, and how."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from django.db import models


class EncryptedField(models.BinaryField):  # type: ignore[type-arg]  # no generic at run time
    """An envelope of ``apps.crypto``, or null.  In migrations it is a plain BinaryField.

    context: field name in the envelope's context, together with the row's id, so that the envelope decrypts in no other
    column or row.  is_revised: the row's ``revision`` is part of the context too.  is_json: the content is JSON, not
    text.  label: name in the export of a person's data; by default the column without ``_ct``.
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


@cache
def encrypted_fields(model: type[models.Model]) -> Mapping[str, EncryptedField]:
    """Return the model's encrypted fields by column name, in model order."""
    found = {field.attname: field for field in model._meta.concrete_fields if isinstance(field, EncryptedField)}
    return MappingProxyType(found)
