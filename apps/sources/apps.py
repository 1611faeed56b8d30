from django.apps import AppConfig


class SourcesConfig(AppConfig):
    name = "apps.sources"
    verbose_name = "Sources"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import register
        from apps.sources.models import ExternalObject
        from apps.sources.reencryption import ExternalObjects
        from apps.sources.sealing import OBJECT

        register(ExternalObjects(OBJECT, ExternalObject))
