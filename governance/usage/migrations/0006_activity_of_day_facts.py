"""Active, idle, measured and busy card time and energy of day facts, and the function that shares them out."""

import django.db.models.expressions
from django.db import migrations, models

from governance.usage import sql


class Migration(migrations.Migration):

    dependencies = [
        ('catalogue', '0003_observed_node_states'),
        ('tenants', '0003_shares_sum_to_100'),
        ('usage', '0005_telemetry'),
    ]

    operations = [
        migrations.RunSQL(sql.text("share_upto"), "DROP FUNCTION share_upto(bigint, bigint, bigint)"),
        migrations.AddField(
            model_name='usageday',
            name='active_milligpu_seconds',
            field=models.BigIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name='usageday',
            name='busy_milligpu_seconds',
            field=models.BigIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name='usageday',
            name='energy_joules',
            field=models.BigIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name='usageday',
            name='idle_milligpu_seconds',
            field=models.BigIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name='usageday',
            name='measured_milligpu_seconds',
            field=models.BigIntegerField(db_default=0),
        ),
        migrations.AddConstraint(
            model_name='usageday',
            constraint=models.CheckConstraint(condition=models.Q(('active_milligpu_seconds__gte', 0), ('busy_milligpu_seconds__gte', 0), ('energy_joules__gte', 0), ('idle_milligpu_seconds__gte', 0), ('measured_milligpu_seconds__gte', models.F('busy_milligpu_seconds')), ('milligpu_seconds__gte', django.db.models.expressions.CombinedExpression(models.F('active_milligpu_seconds'), '+', models.F('idle_milligpu_seconds'))), ('milligpu_seconds__gte', models.F('measured_milligpu_seconds'))), name='usage_day_known_within_allocated'),
        ),
    ]
