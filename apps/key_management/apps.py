from django.apps import AppConfig


class KeyManagementConfig(AppConfig):
    name = "apps.key_management"
    verbose_name = "Key management"
