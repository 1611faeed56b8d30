from django.apps import AppConfig


class ExportsConfig(AppConfig):
    name = "apps.exports"
    verbose_name = "Exports"

    def ready(self) -> None:
        from apps.crypto.sealed_tables import register
        from apps.exports.resealing import Chunks, Jobs

        register(Jobs())
        register(Chunks())
