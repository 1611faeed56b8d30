from django.apps import AppConfig


class IngestConfig(AppConfig):
    name = "apps.ingest"
    verbose_name = "Ingest"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import register
        from apps.ingest import review_storage
        from apps.ingest.models import IngestReceipt, ReviewItem
        from apps.ingest.outbox_handlers import summarize_session
        from apps.ingest.reencryption import Receipts, ReviewItems
        from apps.outbox import handlers
        from apps.outbox.relay import OutboxKind
        from apps.summaries.storage import SUMMARIZE_SESSION

        register(Receipts("receipt", IngestReceipt))
        register(ReviewItems(review_storage.TABLE, ReviewItem))
        handlers.register(SUMMARIZE_SESSION, OutboxKind(job=summarize_session))
