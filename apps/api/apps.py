from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "apps.api"
    verbose_name = "API"

    def ready(self) -> None:
        from apps.api import checks  # noqa: F401  (importing registers them)
        from apps.transfers.imports import records

        records.connect("apps.api.imports.records.read_record")
