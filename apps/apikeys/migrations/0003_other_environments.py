from typing import Any, ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

ENVIRONMENTS = ["development", "staging", "production"]


def _operations(model: str, name: str) -> list[Any]:
    field = ArrayField(models.CharField(max_length=16), db_default=[], default=list, size=None)
    check = models.CheckConstraint(
        condition=models.Q(("other_environments__contained_by", ENVIRONMENTS)), name=f"{name}_other_environments"
    )
    return [
        migrations.AddField(model_name=model, name="other_environments", field=field),
        migrations.AddConstraint(model_name=model, constraint=check),
    ]


class Migration(migrations.Migration):
    dependencies: ClassVar = [("apikeys", "0002_isolation")]

    operations: ClassVar = [*_operations("apikey", "api_key"), *_operations("keyoffer", "key_offer")]
