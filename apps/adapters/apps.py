from django.apps import AppConfig


class AdaptersConfig(AppConfig):
    name = "apps.adapters"
    verbose_name = "Adapters"
