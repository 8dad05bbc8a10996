"""Tables of the catalogue. Days are half-open [from_on, to_on) in the billing time zone; a missing bound is open."""

from __future__ import annotations

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import ArrayField, DateRangeField, DateTimeRangeField, RangeOperators
from django.db import models
from django.db.models import F, Func, Q

from governance.access.named import Named

NO_MODEL = "none"  # the reserved model of runs without cards
UNKNOWN_MODEL = "unknown"
UNASSIGNED_POOL = "unassigned"


class DayRange(Func):
    """`daterange(from_on, to_on)`, half-open; a NULL bound is open."""

    function = "daterange"
    output_field = DateRangeField()


class InstantRange(Func):
    """`tstzrange(from_at, to_at)`, half-open; a NULL bound is open."""

    function = "tstzrange"
    output_field = DateTimeRangeField()


def never_overlap(name: str, *keys: str) -> ExclusionConstraint:
    """Two rows with equal `keys` never hold on the same day."""
    return ExclusionConstraint(
        name=name,
        expressions=[
            *((key, RangeOperators.EQUAL) for key in keys),
            (DayRange("from_on", "to_on"), RangeOperators.OVERLAPS),
        ],
    )


def days_in_order(name: str) -> models.CheckConstraint:
    """`from_on` lies before `to_on`."""
    return models.CheckConstraint(
        name=name, condition=Q(from_on__isnull=True) | Q(to_on__isnull=True) | Q(from_on__lt=F("to_on"))
    )


class Dated(models.Model):
    """Something that holds on the days [from_on, to_on) of the billing time zone."""

    from_on = models.DateField(null=True, blank=True)
    to_on = models.DateField(null=True, blank=True)

    class Meta:
        abstract = True


class Installation(models.Model):
    """The one row of what holds for the whole portal. Its time zone is fixed once there are facts."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    time_zone = models.CharField(max_length=64, default="Asia/Shanghai")
    currency = models.CharField(max_length=3, default="CNY")
    bands = models.JSONField(
        default=list
    )  # [{"code": "day", "from": "07:00", "to": "22:00"}, {"code": "night"}]; [] is one band "day"
    PROFILES = ("single", "shared", "pooled", "network", "industrial")
    profile = models.CharField(max_length=16, blank=True, default="")  # the size of the site; "" where nobody chose one

    class Meta:
        db_table = "installation"
        constraints = [
            models.CheckConstraint(name="installation_is_one_row", condition=Q(id=1)),
            models.CheckConstraint(
                name="installation_profile_known",
                condition=Q(profile__in=("", "single", "shared", "pooled", "network", "industrial")),
            ),
        ]
        permissions = [
            (role, role)
            for role in (
                "capacity_manager",
                "operator",
                "finance",
                "leadership",
                "auditor",
                "administrator",
                "security",
            )
        ]
        default_permissions = ()

    def __str__(self) -> str:
        return self.time_zone


class Place(Named):
    """A region, site, room, row or rack."""

    KINDS = ("region", "site", "room", "row", "rack")
    kind = models.CharField(max_length=16)
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="children")

    class Meta:
        db_table = "place"
        constraints = [
            models.CheckConstraint(
                name="place_kind_known", condition=Q(kind__in=("region", "site", "room", "row", "rack"))
            ),
            models.CheckConstraint(name="place_not_its_own_parent", condition=~Q(parent=F("id"))),
        ]


class AcceleratorModel(models.Model):
    """A GPU or NPU model; a MIG slice is a model of its own that belongs to a `card`."""

    code = models.CharField(max_length=64, unique=True)
    vendor = models.CharField(max_length=64, blank=True)
    name = models.CharField(max_length=200, blank=True)
    memory_gib = models.PositiveIntegerField(default=0)
    power_watts = models.PositiveIntegerField(default=0)
    aliases = ArrayField(models.CharField(max_length=128), default=list, blank=True)
    card = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="slices")

    class Meta:
        db_table = "accelerator_model"

    def __str__(self) -> str:
        return self.code


class CardFactor(Dated):
    """How many whole cards one device of a slice model is, by day; used in reports and in prices of slices, never in facts."""

    model = models.ForeignKey(AcceleratorModel, on_delete=models.PROTECT, related_name="card_factors")
    factor = models.DecimalField(max_digits=9, decimal_places=6)

    class Meta:
        db_table = "card_factor"
        constraints = [
            never_overlap("card_factor_no_overlap", "model"),
            days_in_order("card_factor_days"),
            models.CheckConstraint(name="card_factor_positive", condition=Q(factor__gt=0)),
        ]


class Cluster(Named):
    """A scheduler instance, and how its records are to be read."""

    scheduler_kind = models.CharField(max_length=16, default="files")
    scheduler_names = ArrayField(
        models.CharField(max_length=64), default=list, blank=True
    )  # [] means the code; ["*"] any
    time_zone = models.CharField(max_length=64, default="UTC")
    tracks_gpus = models.BooleanField(default=True)
    connection = models.JSONField(
        default=dict, blank=True
    )  # host, user, port, identity_file, known_hosts: references, never secrets

    class Meta:
        db_table = "cluster"


class Pool(Named):
    """The part of a cluster that is governed as one. The pool *unassigned* belongs to no cluster: runs that no pool claims."""

    cluster = models.ForeignKey(Cluster, null=True, on_delete=models.PROTECT, related_name="pools")
    purpose = models.CharField(max_length=32, blank=True)
    accelerators = models.ManyToManyField(AcceleratorModel, blank=True, db_table="pool_accelerator")

    class Meta:
        db_table = "pool"
        constraints = [
            models.CheckConstraint(
                name="pool_has_a_cluster", condition=Q(cluster__isnull=False) | Q(code=UNASSIGNED_POOL)
            )
        ]
        permissions = [("capacity_manager", "capacity_manager")]
        default_permissions = ()


class PoolPartition(Dated):
    """A partition pattern a pool claims: exact, a glob, or `*`, which also takes an empty partition."""

    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="partitions")
    pattern = models.CharField(max_length=128)

    class Meta:
        db_table = "pool_partition"
        constraints = [
            never_overlap("pool_partition_no_overlap", "pool", "pattern"),
            days_in_order("pool_partition_days"),
        ]


class Node(models.Model):
    """A machine under its scheduler's name."""

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="nodes")
    name = models.CharField(max_length=128)

    class Meta:
        db_table = "node"
        constraints = [models.UniqueConstraint(name="node_name_in_cluster", fields=["cluster", "name"])]

    def __str__(self) -> str:
        return self.name


class NodeTerm(Dated):
    """What a node was on some days: its pool, cards, place. A node with slices has a term for each model of device."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="terms")
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="node_terms")
    model = models.ForeignKey(AcceleratorModel, on_delete=models.PROTECT, related_name="node_terms")
    accelerators = models.PositiveIntegerField(default=0)
    cpus = models.PositiveIntegerField(default=0)
    memory_gib = models.PositiveIntegerField(default=0)
    place = models.ForeignKey(Place, null=True, blank=True, on_delete=models.PROTECT)

    class Meta:
        db_table = "node_term"
        constraints = [never_overlap("node_term_no_overlap", "node", "model"), days_in_order("node_term_days")]


class NodeState(models.Model):
    """A state of a node as a dated interval of instants; a node without one is in service. From hand, events or snapshots."""

    STATES = ("in_service", "drained", "down", "repair", "spare", "burn_in", "reserved")
    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="states")
    state = models.CharField(max_length=16)
    reason = models.CharField(max_length=300, blank=True)
    from_at = models.DateTimeField()
    to_at = models.DateTimeField(null=True, blank=True)
    cards = models.PositiveIntegerField(null=True, blank=True)  # how many of its cards; None: all
    source = models.CharField(max_length=16, default="hand")

    class Meta:
        db_table = "node_state"
        constraints = [
            models.CheckConstraint(
                name="node_state_source_known", condition=Q(source__in=("hand", "event", "snapshot"))
            ),
            models.CheckConstraint(
                name="node_state_known",
                condition=Q(state__in=("in_service", "drained", "down", "repair", "spare", "burn_in", "reserved")),
            ),
            models.CheckConstraint(
                name="node_state_in_order", condition=Q(to_at__isnull=True) | Q(from_at__lt=F("to_at"))
            ),
            ExclusionConstraint(
                name="node_state_no_overlap",
                expressions=[
                    ("node", RangeOperators.EQUAL),
                    (InstantRange("from_at", "to_at"), RangeOperators.OVERLAPS),
                ],
            ),
        ]
