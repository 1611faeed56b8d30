from django.apps import AppConfig


class SummariesConfig(AppConfig):
    name = "apps.summaries"
    verbose_name = "Summaries"

    def ready(self) -> None:
        from apps.crypto.sealed_tables import register
        from apps.summaries.resealing import Clusters

        register(Clusters())
