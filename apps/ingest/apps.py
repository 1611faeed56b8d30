from django.apps import AppConfig


class IngestConfig(AppConfig):
    name = "apps.ingest"
    verbose_name = "Ingest"

    def ready(self) -> None:
        from apps.ingest.resealing import Receipts
        from apps.memories.release import OPENERS
        from apps.memories.resealing import register

        receipts = Receipts()
        register(receipts)
        OPENERS[receipts.name] = receipts.open_one
