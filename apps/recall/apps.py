from django.apps import AppConfig


class RecallConfig(AppConfig):
    name = "apps.recall"
    verbose_name = "Recall"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import SealedColumns, register
        from apps.recall import checks  # noqa: F401  (importing registers them)
        from apps.recall.models import TABLE, RecallTrace

        register(SealedColumns(TABLE, RecallTrace))
