"""Base class of all models."""

from django.db import models


class BaseModel(models.Model):
    """A bigint id, because the API has one integer id space, and the creation time."""

    id = models.BigAutoField(primary_key=True)
    created_at = models.DateTimeField()

    class Meta:
        abstract = True
