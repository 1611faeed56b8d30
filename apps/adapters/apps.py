from django.apps import AppConfig


class AdaptersConfig(AppConfig):
    name = "apps.adapters"
    verbose_name = "Adapters"

    def ready(self) -> None:
        from apps.adapters import checks  # noqa: F401  (importing registers them)
