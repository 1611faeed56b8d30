from django.apps import AppConfig


class MemsyncConfig(AppConfig):
    name = "memsync"
    verbose_name = "memsync"
