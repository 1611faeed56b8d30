"""The base of every table."""

from django.db import models


class BaseModel(models.Model):
    """A bigint key, because the wire contract has one integer id space, and the time the row was made."""

    id = models.BigAutoField(primary_key=True)
    created_at = models.DateTimeField()

    class Meta:
        abstract = True
