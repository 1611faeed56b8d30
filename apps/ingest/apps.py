from django.apps import AppConfig


class IngestConfig(AppConfig):
    name = "apps.ingest"
    verbose_name = "Ingest"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import register
        from apps.ingest.reencryption import Receipts, ReviewItems

        register(Receipts())
        register(ReviewItems())
