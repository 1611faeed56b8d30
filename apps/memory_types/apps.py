from django.apps import AppConfig


class MemoryTypesConfig(AppConfig):
    name = "apps.memory_types"
    verbose_name = "Memory types"
