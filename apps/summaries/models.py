"""Models of clusters: memories of one topic."""

from django.db import models

from apps.core.fields import EncryptedField
from apps.core.scoping import ScopedManager, ScopedModel

LABEL = "cluster.label"  # the context bound into the envelope


class Cluster(ScopedModel):
    """A topic of one space, project and type.  topic_mac: keyed, for equality; the topic itself is encrypted beside it.

    summary_id: the summary of the cluster, once there is one.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    project = models.ForeignKey(
        "projects.Project", models.SET_NULL, null=True, related_name="+", db_constraint=False, db_index=False
    )
    type = models.CharField(max_length=32)
    topic_mac = models.BinaryField(max_length=16)
    label_ct = EncryptedField(LABEL)
    key_version = models.IntegerField()
    summary_id = models.BigIntegerField(null=True)

    objects = ScopedManager["Cluster"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.UniqueConstraint(fields=("tenant", "id"), name="cluster_in_tenant"),
            models.UniqueConstraint(fields=("tenant", "space", "topic_mac"), name="cluster_once_per_topic"),
        )
        indexes = (
            models.Index(fields=("tenant", "key_version", "id"), name="cluster_key_version"),
            models.Index(
                fields=("tenant", "summary_id"), condition=models.Q(summary_id__isnull=False), name="cluster_summary"
            ),
            models.Index(
                fields=("tenant", "project"), condition=models.Q(project__isnull=False), name="cluster_project"
            ),
        )

    def __str__(self) -> str:
        return f"cluster {self.pk}"


class ClusterMember(ScopedModel):
    """A memory's membership of a cluster; a memory has at most one."""

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    memory = models.ForeignKey("memories.Memory", models.CASCADE, related_name="+", db_constraint=False, db_index=False)

    objects = ScopedManager["ClusterMember"]()

    class Meta(ScopedModel.Meta):
        constraints = (models.UniqueConstraint(fields=("tenant", "memory"), name="member_of_one_cluster"),)
        indexes = (models.Index(fields=("tenant", "cluster", "-memory"), name="member_newest"),)

    def __str__(self) -> str:
        return f"{self.memory_id} in cluster {self.cluster_id}"
