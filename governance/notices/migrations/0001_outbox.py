"""What happened, who is told by which way; channels, what was sent to them and how it went."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('access', '0002_preferences_and_sign_in'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Channel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=16)),
                ('name', models.CharField(max_length=100)),
                ('scope_kind', models.CharField(default='site', max_length=16)),
                ('scope_code', models.CharField(blank=True, max_length=64)),
                ('events', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=64), default=list, size=None)),
                ('language', models.CharField(default='zh-hans', max_length=10)),
                ('url_sealed', models.TextField()),
                ('url_hint', models.CharField(max_length=200)),
                ('secret_sealed', models.TextField(blank=True)),
                ('secret_hint', models.CharField(blank=True, max_length=8)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('ended_at', models.DateTimeField(null=True)),
                ('stopped_at', models.DateTimeField(null=True)),
                ('stopped_why', models.CharField(blank=True, max_length=20)),
                ('failures', models.PositiveIntegerField(default=0)),
                ('failing_since_at', models.DateTimeField(null=True)),
                ('paused_until_at', models.DateTimeField(null=True)),
                ('last_ok_at', models.DateTimeField(null=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='channels', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'db_table': 'channel',
            },
        ),
        migrations.CreateModel(
            name='Choice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('group', models.CharField(max_length=32)),
                ('in_app', models.BooleanField(default=True)),
                ('mail', models.CharField(max_length=10)),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notice_choices', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'db_table': 'notice_choice',
            },
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('message_id', models.CharField(max_length=64, unique=True)),
                ('state', models.CharField(default='waiting', max_length=10)),
                ('body', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('due_at', models.DateTimeField(null=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('done_at', models.DateTimeField(null=True)),
                ('channel', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='notices.channel')),
            ],
            options={
                'db_table': 'delivery',
            },
        ),
        migrations.CreateModel(
            name='Attempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('took_ms', models.PositiveIntegerField()),
                ('fault', models.CharField(blank=True, max_length=32)),
                ('head', models.TextField(blank=True)),
                ('delivery', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tries', to='notices.delivery')),
            ],
            options={
                'db_table': 'delivery_attempt',
            },
        ),
        migrations.CreateModel(
            name='Happening',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('event', models.CharField(max_length=64)),
                ('about', models.CharField(max_length=300)),
                ('threshold', models.CharField(blank=True, max_length=100)),
                ('facts', models.JSONField(default=dict)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), db_index=True)),
            ],
            options={
                'db_table': 'happening',
                'constraints': [models.UniqueConstraint(fields=('event', 'about', 'threshold'), name='happening_once')],
            },
        ),
        migrations.AddField(
            model_name='delivery',
            name='happening',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='notices.happening'),
        ),
        migrations.CreateModel(
            name='Notice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(blank=True, max_length=32)),
                ('in_app', models.BooleanField(default=True)),
                ('read_at', models.DateTimeField(null=True)),
                ('mail', models.CharField(default='off', max_length=10)),
                ('mail_due_at', models.DateTimeField(null=True)),
                ('mailed_at', models.DateTimeField(null=True)),
                ('mail_left', models.CharField(blank=True, max_length=20)),
                ('happening', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notices', to='notices.happening')),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notices', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'db_table': 'notice',
            },
        ),
        migrations.CreateModel(
            name='Plan',
            fields=[
                ('person', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='notice_plan', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('digest_hour', models.PositiveSmallIntegerField(default=9)),
                ('time_zone', models.CharField(blank=True, max_length=64)),
            ],
            options={
                'db_table': 'notice_plan',
                'constraints': [models.CheckConstraint(condition=models.Q(('digest_hour__lt', 24)), name='notice_plan_hour')],
            },
        ),
        migrations.AddConstraint(
            model_name='channel',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ('webhook', 'feishu', 'dingtalk', 'wecom'))), name='channel_kind'),
        ),
        migrations.AddConstraint(
            model_name='channel',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('scope_code', ''), ('scope_kind', 'site')), models.Q(models.Q(('scope_kind', 'site'), _negated=True), models.Q(('scope_code', ''), _negated=True)), _connector='OR'), name='channel_scope'),
        ),
        migrations.AddConstraint(
            model_name='choice',
            constraint=models.UniqueConstraint(fields=('person', 'group'), name='notice_choice_once'),
        ),
        migrations.AddConstraint(
            model_name='choice',
            constraint=models.CheckConstraint(condition=models.Q(('mail__in', ['at_once', 'digest', 'off'])), name='notice_choice_mail'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['channel', 'due_at'], name='delivery_due'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(fields=['channel', '-id'], name='delivery_of_channel'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.UniqueConstraint(fields=('channel', 'happening'), name='delivery_once'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ('waiting', 'sent', 'failed', 'withheld'))), name='delivery_state'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('due_at__isnull', False), ('state', 'waiting')), models.Q(models.Q(('state', 'waiting'), _negated=True), ('due_at__isnull', True)), _connector='OR'), name='delivery_due_while_waiting'),
        ),
        migrations.AddIndex(
            model_name='notice',
            index=models.Index(models.F('person'), models.OrderBy(models.F('id'), descending=True), name='notice_of_person'),
        ),
        migrations.AddIndex(
            model_name='notice',
            index=models.Index(condition=models.Q(('in_app', True), ('read_at__isnull', True)), fields=['person'], name='notice_unread'),
        ),
        migrations.AddIndex(
            model_name='notice',
            index=models.Index(condition=models.Q(('mail_due_at__isnull', False)), fields=['mail_due_at', 'person'], name='notice_mail_due'),
        ),
        migrations.AddConstraint(
            model_name='notice',
            constraint=models.UniqueConstraint(fields=('happening', 'person'), name='notice_once'),
        ),
        migrations.AddConstraint(
            model_name='notice',
            constraint=models.CheckConstraint(condition=models.Q(('mail__in', ['at_once', 'digest', 'off'])), name='notice_mail'),
        ),
    ]
