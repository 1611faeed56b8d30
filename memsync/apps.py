from django.apps import AppConfig


class MemsyncConfig(AppConfig):
    name = "memsync"
    verbose_name = "memsync"

    def ready(self) -> None:
        # Importing the checks registers them; importing Celery's application makes it that of every thread of every
        # process, or tasks sent by a web server would go by Celery's own default one, which knows no broker of ours.
        from memsync import celery, checks  # noqa: F401
        from memsync.ops import restored_rows

        restored_rows.watch()
