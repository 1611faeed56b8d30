from functools import partial

from django.apps import AppConfig


class ApiKeysConfig(AppConfig):
    name = "apps.apikeys"
    verbose_name = "API keys"

    def ready(self) -> None:
        from apps.apikeys import pepper
        from apps.crypto.models import ServiceName
        from apps.crypto.services import service_key

        pepper.connect(partial(service_key, ServiceName.PEPPER))
