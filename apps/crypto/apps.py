from django.apps import AppConfig


class CryptoConfig(AppConfig):
    name = "apps.crypto"
    verbose_name = "Keys"
