"""Apply the outstanding migrations of one of the two databases."""

from typing import Any, Final

from django.apps import apps
from django.core.management import CommandError
from django.core.management.sql import emit_post_migrate_signal, emit_pre_migrate_signal
from django.db import connections, router
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations.base import Operation
from django.db.migrations.operations.models import ModelOperation
from django.db.migrations.state import ProjectState

from apps.core.queries import fetch_value
from memsync.routers import KEYRING

BEFORE_SQUASH: Final = ("tenants", "0001_initial")  # a migration that only databases of earlier versions have applied

ENCODING: Final = "UTF8"


def migrate(alias: str) -> bool:
    """Migrate if needed; returns whether anything was applied.  The check is faster than Django's own empty run.

    Raises CommandError for a database of a version before the migrations were squashed, or of another encoding.
    """
    encoding = fetch_value("show server_encoding", using=alias)
    if encoding != ENCODING:
        name = connections[alias].settings_dict["NAME"]
        raise CommandError(
            f"The database {name} has the encoding {encoding}, which cannot hold every text: create it with "
            f"`encoding '{ENCODING}' template template0`."
        )
    executor = MigrationExecutor(connections[alias])
    if BEFORE_SQUASH in executor.loader.applied_migrations:
        raise CommandError(
            "A pre-release version of memsync created this database, and this version cannot migrate it. Export the "
            "memories with that version, start with new databases, and import them."
        )
    plan = [migration for migration, _ in executor.migration_plan(executor.loader.graph.leaf_nodes())]
    if not plan:
        return False
    if alias == KEYRING:
        _migrate_few(executor, plan)
    else:
        _migrate_all(executor, plan)
    return True


class LeanState(ProjectState):
    """Renders a changed model alone, or all models again when they are next needed.

    Django renders with a changed model every model that refers to the same ones.  Here nearly all refer to the tenant,
    so each of three hundred operations would render most models (docs/adr/0061).
    """

    def reload_model(self, app_label: str, model_name: str, delay: bool = False) -> None:
        """delay: the change concerns no relation.  Django renders everything before an operation that reads more."""
        if "apps" not in self.__dict__:
            return
        if delay or model_name not in self.apps.all_models[app_label]:
            self.is_delayed = True
            self._reload({(app_label, model_name)})  # type: ignore[attr-defined]  # stubs lack it
        else:
            del self.__dict__["apps"]

    def reload_models(self, models: Any, delay: bool = True) -> None:
        self.__dict__.pop("apps", None)


def _migrate_all(executor: MigrationExecutor, plan: list[Migration]) -> None:
    """What Django's command `migrate` does, with a LeanState."""
    alias, steps = executor.connection.alias, [(migration, False) for migration in plan]
    before = executor._create_project_state(with_applied_migrations=True)  # type: ignore[attr-defined]  # stubs lack it
    emit_pre_migrate_signal(0, False, alias, apps=before.apps, plan=steps)
    lean = LeanState(before.models, before.real_apps)
    after = executor.migrate(executor.loader.graph.leaf_nodes(), plan=steps, state=lean)
    after.clear_delayed_apps_cache()
    emit_post_migrate_signal(0, False, alias, apps=after.apps, plan=steps)


def _migrate_few(executor: MigrationExecutor, plan: list[Migration]) -> None:
    """Migrate a database that few migrations concern, and only record the others as applied.

    Applying the others has no effect, but Django rebuilds every model for each operation, which takes as long as
    migrating the main database.
    """
    executor.recorder.ensure_schema()
    state = executor._create_project_state(with_applied_migrations=True)  # type: ignore[attr-defined]  # stubs lack it
    for migration in plan:
        state.__dict__.pop("apps", None)  # rebuilt when an operation asks for it
        if any(_is_for(executor.connection.alias, migration, operation) for operation in migration.operations):
            state = executor.apply_migration(state, migration)
        else:
            state = migration.mutate_state(state, preserve=False)
            for app, name in migration.replaces or [(migration.app_label, migration.name)]:
                executor.recorder.record_applied(app, name)


def _is_for(alias: str, migration: Migration, operation: Operation) -> bool:
    """Whether the router allows the operation.  The database of a removed model is unknown, so Django decides."""
    name = getattr(operation, "model_name", None) or (operation.name if isinstance(operation, ModelOperation) else None)
    if name is None:  # operations such as RunSQL use hints
        hints: dict[str, Any] = getattr(operation, "hints", {})
        return router.allow_migrate(alias, migration.app_label, **hints)
    try:
        return router.allow_migrate_model(alias, apps.get_model(migration.app_label, name))
    except LookupError:
        return True
