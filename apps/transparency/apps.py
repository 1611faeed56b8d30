from django.apps import AppConfig


class TransparencyConfig(AppConfig):
    name = "apps.transparency"
    verbose_name = "Transparency"
