from django.apps import AppConfig


class RecallConfig(AppConfig):
    name = "apps.recall"
    verbose_name = "Recall"
