from django.apps import AppConfig


class RetentionConfig(AppConfig):
    name = "apps.retention"
    verbose_name = "Retention"

    def ready(self) -> None:
        from apps.crypto.sealed_tables import register
        from apps.exports import people
        from apps.retention import checks  # noqa: F401  (importing registers them)
        from apps.retention.privacy import FORGET_REQUESTS
        from apps.retention.resealing import ForgetRequests

        register(ForgetRequests())
        people.add(FORGET_REQUESTS)
