from django.apps import AppConfig


class MemsyncConfig(AppConfig):
    name = "memsync"
    verbose_name = "memsync"

    def ready(self) -> None:
        from memsync import checks, restoring  # noqa: F401  (importing the checks registers them)

        restoring.watch()
