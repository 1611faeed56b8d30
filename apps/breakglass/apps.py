from django.apps import AppConfig


class BreakGlassConfig(AppConfig):
    name = "apps.breakglass"
    verbose_name = "Breaking the glass"
