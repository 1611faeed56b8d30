from django.apps import AppConfig


class IngestConfig(AppConfig):
    name = "apps.ingest"
    verbose_name = "Ingest"

    def ready(self) -> None:
        from apps.crypto.sealed_tables import register
        from apps.ingest.resealing import Receipts, ReviewItems

        register(Receipts())
        register(ReviewItems())
