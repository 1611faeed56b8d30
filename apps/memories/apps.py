from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    name = "apps.memories"
    verbose_name = "Memories"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import report_to
        from apps.memories import integrity

        report_to(integrity.note)
