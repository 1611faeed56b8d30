from django.apps import AppConfig


class TransfersConfig(AppConfig):
    name = "apps.transfers"
    verbose_name = "Transfers"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import SealedColumns, register
        from apps.transfers.models import ExportChunk, ExportJob, ImportChunk, ImportJob
        from apps.transfers.reencryption import Jobs

        register(Jobs("export", ExportJob))
        register(SealedColumns("export chunk", ExportChunk))
        register(Jobs("import", ImportJob))
        register(SealedColumns("import chunk", ImportChunk))
