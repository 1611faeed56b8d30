from django.apps import AppConfig


class SummariesConfig(AppConfig):
    name = "apps.summaries"
    verbose_name = "Summaries"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import register
        from apps.summaries.reencryption import Clusters

        register(Clusters())
