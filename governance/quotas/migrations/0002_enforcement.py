import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("catalogue", "0004_site_profile"),
        ("quotas", "0001_quotas"),
    ]

    operations = [
        migrations.CreateModel(
            name="EnforcedCluster",
            fields=[
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="enforcement",
                        serialize=False,
                        to="catalogue.cluster",
                    ),
                ),
                ("is_on", models.BooleanField(default=False)),
                ("changed_at", models.DateTimeField(null=True)),
                ("changed_by", models.CharField(blank=True, max_length=200)),
                ("requires_type", models.BooleanField(default=True)),
                (
                    "keeps_qos",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=128), blank=True, default=list, size=None
                    ),
                ),
                ("syncs_members", models.BooleanField(default=False)),
                ("findings", models.JSONField(default=list)),
                ("checked_at", models.DateTimeField(null=True)),
                ("read_at", models.DateTimeField(null=True)),
                ("read_ms", models.PositiveIntegerField(default=0)),
                ("limits", models.PositiveIntegerField(default=0)),
                ("foreign_limits", models.PositiveIntegerField(default=0)),
                ("refused", models.JSONField(default=dict)),
                ("notes", models.JSONField(default=dict)),
                ("error", models.TextField(blank=True)),
                ("error_params", models.JSONField(default=dict)),
                ("error_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "enforced_cluster",
            },
        ),
        migrations.CreateModel(
            name="LimitOrder",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("command", models.TextField()),
                ("exit_code", models.IntegerField(null=True)),
                ("answer", models.TextField(blank=True)),
                ("fault", models.CharField(blank=True, max_length=64)),
                ("limits", models.JSONField(default=list)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="limit_orders", to="catalogue.cluster"
                    ),
                ),
            ],
            options={
                "db_table": "limit_order",
                "ordering": ("-pk",),
            },
        ),
        migrations.CreateModel(
            name="BudgetBase",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("qos", models.CharField(max_length=300)),
                ("period", models.CharField(max_length=16)),
                ("minutes", models.BigIntegerField()),
                ("seen", models.BigIntegerField()),
                ("at", models.DateTimeField()),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="catalogue.cluster"
                    ),
                ),
            ],
            options={
                "db_table": "budget_base",
                "constraints": [models.UniqueConstraint(fields=("cluster", "qos"), name="budget_base_once")],
            },
        ),
        migrations.CreateModel(
            name="LimitDrift",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=16)),
                ("name", models.CharField(max_length=300)),
                ("drift", models.CharField(max_length=16)),
                ("project", models.CharField(blank=True, max_length=64)),
                (
                    "quotas",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=16), blank=True, default=list, size=None
                    ),
                ),
                ("differs", models.JSONField(default=dict)),
                ("changed_by", models.CharField(blank=True, max_length=200)),
                ("changed_at", models.DateTimeField(null=True)),
                ("first_at", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
                ("resolved_at", models.DateTimeField(null=True)),
                ("resolved_as", models.CharField(blank=True, max_length=16)),
                ("resolved_by", models.CharField(blank=True, max_length=200)),
                ("reason", models.CharField(blank=True, max_length=500)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="limit_drifts", to="catalogue.cluster"
                    ),
                ),
            ],
            options={
                "db_table": "limit_drift",
                "ordering": ("-pk",),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("resolved_at__isnull", True)),
                        fields=("cluster", "kind", "name"),
                        name="limit_drift_open_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("drift__in", ("missing", "changed", "extra", "unmanaged"))),
                        name="limit_drift_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("resolved_as", ""), ("resolved_at__isnull", True)),
                            models.Q(
                                ("resolved_as__in", ("adopted", "restored", "gone")), ("resolved_at__isnull", False)
                            ),
                            _connector="OR",
                        ),
                        name="limit_drift_resolved",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="EnforcedLimit",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=16)),
                ("name", models.CharField(max_length=300)),
                ("project", models.CharField(blank=True, max_length=64)),
                (
                    "quotas",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=16), blank=True, default=list, size=None
                    ),
                ),
                ("wanted", models.JSONField(default=dict)),
                ("wanted_at", models.DateTimeField()),
                ("told_at", models.DateTimeField(null=True)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("held", models.JSONField(null=True)),
                ("held_at", models.DateTimeField(null=True)),
                ("seen", models.JSONField(null=True)),
                ("seen_at", models.DateTimeField(null=True)),
                ("used", models.JSONField(default=dict)),
                ("used_minutes", models.JSONField(default=dict)),
                ("state", models.CharField(default="waiting", max_length=16)),
                ("words", models.TextField(blank=True)),
                ("words_params", models.JSONField(default=dict)),
                ("clear_at", models.DateTimeField(null=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="enforced_limits",
                        to="catalogue.cluster",
                    ),
                ),
                (
                    "told",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="quotas.limitorder",
                    ),
                ),
            ],
            options={
                "db_table": "enforced_limit",
                "ordering": ("kind", "name"),
                "indexes": [django.contrib.postgres.indexes.GinIndex(fields=["quotas"], name="enforced_limit_quotas")],
                "constraints": [
                    models.UniqueConstraint(fields=("cluster", "kind", "name"), name="enforced_limit_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ("in_force", "waiting", "failed", "draining", "drifted", "dry"))
                        ),
                        name="enforced_limit_state",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SyncedMember",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("account", models.CharField(max_length=128)),
                ("login", models.CharField(max_length=128)),
                ("added_at", models.DateTimeField()),
                ("barred_at", models.DateTimeField(null=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="catalogue.cluster"
                    ),
                ),
            ],
            options={
                "db_table": "synced_member",
                "constraints": [
                    models.UniqueConstraint(fields=("cluster", "account", "login"), name="synced_member_once")
                ],
            },
        ),
    ]
