from django.apps import AppConfig


class CryptoConfig(AppConfig):
    name = "apps.crypto"
    verbose_name = "Keys"

    def ready(self) -> None:
        from apps.core import bound
        from apps.crypto.row_keys import row_key

        bound.connect(row_key)
