from django.apps import AppConfig


class RetentionConfig(AppConfig):
    name = "apps.retention"
    verbose_name = "Retention"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import SealedColumns, register
        from apps.erasure import project_tables
        from apps.erasure.project_tables import ProjectTable
        from apps.retention.models import ForgetRequest
        from apps.retention.requests import TABLE
        from apps.retention.subject_requests import FORGET_REQUESTS
        from apps.transfers.exports import people

        register(SealedColumns(TABLE, ForgetRequest))
        project_tables.register(
            ProjectTable(table="retention_forgetrequest", kind="forget_requests", is_open="state = 'pending'")
        )
        people.add(FORGET_REQUESTS)
