from django.apps import AppConfig


class TransfersConfig(AppConfig):
    name = "apps.transfers"
    verbose_name = "Transfers"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import register
        from apps.transfers.reencryption import ExportChunks, ExportJobs, ImportChunks, ImportJobs

        for table in (ExportJobs(), ExportChunks(), ImportJobs(), ImportChunks()):
            register(table)
