"""Database router: which database each model is stored in."""

from typing import Any

from django.db.models import Model

KEYRING = "keyring"


class KeyringRouter:
    """Models with ``database = "keyring"`` are stored there, all others in ``default``.

    ``operator`` is another role on the same database as ``default`` and never migrates.
    """

    def db_for_read(self, model: type[Model], **hints: Any) -> str:
        return getattr(model, "database", "default")

    db_for_write = db_for_read

    def allow_relation(self, obj1: Model, obj2: Model, **hints: Any) -> bool:
        return self.db_for_read(type(obj1)) == self.db_for_read(type(obj2))

    def allow_migrate(
        self, db: str, app_label: str, model_name: str | None = None, *, model: type[Model] | None = None, **hints: Any
    ) -> bool:
        home = hints.get("database") or (self.db_for_read(model) if model is not None else "default")
        return db == home
