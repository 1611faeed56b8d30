from django.apps import AppConfig


class OutboxConfig(AppConfig):
    name = "apps.outbox"
    verbose_name = "Outbox"
