from django.apps import AppConfig


class ErasureConfig(AppConfig):
    name = "apps.erasure"
    verbose_name = "Erasure"
