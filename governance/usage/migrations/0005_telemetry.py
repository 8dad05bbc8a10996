"""Telemetry: what runs' cards did, what nodes drew, where it is read from, and a watermark stage of its own."""

import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('catalogue', '0003_observed_node_states'),
        ('usage', '0004_live_schedulers'),
    ]

    operations = [
        migrations.CreateModel(
            name='NodeHour',
            fields=[
                ('pk', models.CompositePrimaryKey('cluster_id', 'node', 'hour_at', blank=True, editable=False, primary_key=True, serialize=False)),
                ('node', models.TextField()),
                ('hour_at', models.DateTimeField()),
                ('power_watts_mean', models.IntegerField(null=True)),
                ('power_watts_max', models.IntegerField(null=True)),
                ('temperature_max', models.IntegerField(null=True)),
                ('samples', models.IntegerField()),
                ('observed_at', models.DateTimeField()),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='catalogue.cluster')),
            ],
            options={
                'db_table': 'node_hour',
            },
        ),
        migrations.CreateModel(
            name='RunActivity',
            fields=[
                ('pk', models.CompositePrimaryKey('cluster_id', 'day', 'job_id', 'submit_at', 'node', blank=True, editable=False, primary_key=True, serialize=False)),
                ('day', models.DateField()),
                ('job_id', models.TextField(db_collation='C')),
                ('submit_at', models.DateTimeField()),
                ('node', models.TextField()),
                ('cards', models.IntegerField()),
                ('active_milligpu_seconds', models.BigIntegerField()),
                ('idle_milligpu_seconds', models.BigIntegerField()),
                ('measured_milligpu_seconds', models.BigIntegerField()),
                ('busy_milligpu_seconds', models.BigIntegerField()),
                ('memory_max_mib', models.BigIntegerField(null=True)),
                ('energy_joules', models.BigIntegerField(null=True)),
                ('samples', models.BigIntegerField()),
                ('clamped', models.BigIntegerField()),
                ('first_at', models.DateTimeField()),
                ('last_at', models.DateTimeField()),
                ('observed_at', models.DateTimeField()),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='catalogue.cluster')),
            ],
            options={
                'db_table': 'run_activity',
            },
        ),
        migrations.CreateModel(
            name='TelemetryIntake',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('source', models.CharField(max_length=500)),
                ('format', models.CharField(max_length=32)),
                ('actor', models.CharField(max_length=200)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('observed_at', models.DateTimeField(null=True)),
                ('counts', models.JSONField(default=dict)),
                ('faults', models.JSONField(default=list)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='catalogue.cluster')),
            ],
            options={
                'db_table': 'telemetry_intake',
            },
        ),
        migrations.CreateModel(
            name='TelemetryPiece',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('until_at', models.DateTimeField()),
                ('nodes', models.CharField(max_length=64)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='catalogue.cluster')),
            ],
            options={
                'db_table': 'telemetry_piece',
            },
        ),
        migrations.CreateModel(
            name='TelemetrySource',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('url', models.URLField(max_length=500)),
                ('bearer', models.CharField(blank=True, max_length=300)),
                ('user', models.CharField(blank=True, max_length=100)),
                ('password', models.CharField(blank=True, max_length=300)),
                ('verify', models.BooleanField(default=True)),
                ('ca_file', models.CharField(blank=True, max_length=300)),
                ('headers', models.JSONField(blank=True, default=dict)),
                ('label_map', models.CharField(default='dcgm-slurm', max_length=64)),
                ('own_map', models.JSONField(blank=True, null=True)),
                ('step_seconds', models.PositiveIntegerField(default=60)),
                ('idle_rules', models.JSONField(blank=True, default=dict)),
                ('cluster', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='telemetry_source', to='catalogue.cluster')),
            ],
            options={
                'db_table': 'telemetry_source',
            },
        ),
        migrations.RemoveConstraint(
            model_name='watermark',
            name='watermark_stage_known',
        ),
        migrations.AddConstraint(
            model_name='watermark',
            constraint=models.CheckConstraint(condition=models.Q(('stage__in', ('ingested', 'metered', 'posted', 'telemetry'))), name='watermark_stage_known'),
        ),
        migrations.AddIndex(
            model_name='runactivity',
            index=models.Index(fields=['cluster', 'job_id'], name='run_activity_run'),
        ),
        migrations.AddConstraint(
            model_name='runactivity',
            constraint=models.CheckConstraint(condition=models.Q(('active_milligpu_seconds__gte', 0), ('busy_milligpu_seconds__gte', 0), ('busy_milligpu_seconds__lte', models.F('measured_milligpu_seconds')), ('idle_milligpu_seconds__gte', 0), ('measured_milligpu_seconds__gte', django.db.models.expressions.CombinedExpression(models.F('active_milligpu_seconds'), '+', models.F('idle_milligpu_seconds')))), name='run_activity_in_range'),
        ),
        migrations.AddConstraint(
            model_name='telemetrypiece',
            constraint=models.UniqueConstraint(fields=('cluster', 'day', 'until_at', 'nodes'), name='telemetry_piece_once'),
        ),
        migrations.AddConstraint(
            model_name='telemetrysource',
            constraint=models.CheckConstraint(condition=models.Q(('step_seconds__gte', 1), ('step_seconds__lte', 3600)), name='telemetry_step_known'),
        ),
        # On the way back the old constraint knows no such stage.
        migrations.RunSQL(migrations.RunSQL.noop, "DELETE FROM watermark WHERE stage = 'telemetry'"),
    ]
