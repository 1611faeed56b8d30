from django.apps import AppConfig


class ExportsConfig(AppConfig):
    name = "apps.exports"
    verbose_name = "Exports"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import register
        from apps.exports.reencryption import ExportChunks, ExportJobs

        register(ExportJobs())
        register(ExportChunks())
