from django.apps import AppConfig


class RetentionConfig(AppConfig):
    name = "apps.retention"
    verbose_name = "Retention"

    def ready(self) -> None:
        from apps.crypto.sealed_tables import register
        from apps.retention.resealing import ForgetRequests

        register(ForgetRequests())
