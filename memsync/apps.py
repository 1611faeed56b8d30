from django.apps import AppConfig


class MemsyncConfig(AppConfig):
    name = "memsync"
    verbose_name = "memsync"

    def ready(self) -> None:
        # Importing the checks registers them.  Importing the Celery application makes it the default of every thread in
        # every process; otherwise a web server would send tasks through Celery's own default application, which does
        # not know our broker.
        from memsync import celery, checks  # noqa: F401
        from memsync.ops import restored_rows

        restored_rows.watch()
