from django.apps import AppConfig


class RetentionConfig(AppConfig):
    name = "apps.retention"
    verbose_name = "Retention"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import register
        from apps.exports import people
        from apps.retention import checks  # noqa: F401  (importing registers them)
        from apps.retention.reencryption import ForgetRequests
        from apps.retention.subject_requests import FORGET_REQUESTS

        register(ForgetRequests())
        people.add(FORGET_REQUESTS)
