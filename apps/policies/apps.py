from django.apps import AppConfig


class PoliciesConfig(AppConfig):
    name = "apps.policies"
    verbose_name = "Policies"
