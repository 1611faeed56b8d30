from django.apps import AppConfig


class RetentionConfig(AppConfig):
    name = "apps.retention"
    verbose_name = "Retention"
