"""Density, single keys, the revision of sessions; wrong passwords in a row."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("access", "0001_people")]

    operations = [
        migrations.AddField("person", "density", models.CharField(blank=True, max_length=10, default=""), preserve_default=False),
        migrations.AddField("person", "single_keys", models.BooleanField(default=True, db_default=True)),
        migrations.AddField("person", "session_revision", models.PositiveIntegerField(default=0, db_default=0)),
        migrations.CreateModel(
            name="SignInFailure",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("username", models.CharField(max_length=150)),
                ("address", models.CharField(max_length=64)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("last_at", models.DateTimeField()),
            ],
            options={
                "db_table": "sign_in_failure",
                "constraints": [models.UniqueConstraint(fields=("username", "address"), name="sign_in_failure_once")],
                "indexes": [models.Index(fields=["last_at"], name="sign_in_failure_last")],
            },
        ),
    ]
