from django.apps import AppConfig


class ConnectorsConfig(AppConfig):
    name = "apps.connectors"
    verbose_name = "Connectors"

    def ready(self) -> None:
        from apps.connectors.models import TABLE, Connector
        from apps.crypto.encrypted_tables import SealedColumns, register
        from apps.transfers.exports import people

        register(SealedColumns(TABLE, Connector))
        people.add(
            people.Section(
                kind="connector",
                model=Connector,
                plain=("kind", "is_paused", "every_seconds", "status", "error", "counts", "finished_at", "created_at"),
                left_out=("secret_ct", "validators_ct"),
                table=TABLE,
            )
        )
