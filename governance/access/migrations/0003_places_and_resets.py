"""From where a person has signed in; who asked for another password."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('access', '0002_preferences_and_sign_in'),
    ]

    operations = [
        migrations.CreateModel(
            name='ResetAsked',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('typed', models.CharField(max_length=254)),
                ('address', models.CharField(max_length=64)),
                ('language', models.CharField(max_length=10)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'db_table': 'reset_asked',
            },
        ),
        migrations.CreateModel(
            name='SignInPlace',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('address', models.CharField(max_length=64)),
                ('last_at', models.DateTimeField()),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'db_table': 'sign_in_place',
                'constraints': [models.UniqueConstraint(fields=('person', 'address'), name='sign_in_place_once')],
            },
        ),
    ]
