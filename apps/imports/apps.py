from django.apps import AppConfig


class ImportsConfig(AppConfig):
    name = "apps.imports"
    verbose_name = "Imports"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import register
        from apps.imports.reencryption import ImportChunks, ImportJobs

        register(ImportJobs())
        register(ImportChunks())
