"""The policy that a new installation begins with: small returns by rule, then the department, then the pool's capacity manager."""

from django.db import migrations
from django.db.models.functions import Now

DOCUMENT = {
    "policy": 1,
    "name": {"zh": "初始审批流", "en": "First policy"},
    "expires_days": 30,
    "rules": [
        {
            "code": "small-return",
            "name": {"zh": "小额归还自动通过", "en": "Small returns by rule"},
            "when": {"kinds": ["return"], "gpus": {"at_most": 16}},
            "auto": True,
        },
        {
            "code": "usual",
            "name": {"zh": "一般申请", "en": "All other asks"},
            "stages": [
                {
                    "code": "department",
                    "name": {"zh": "部门审批", "en": "Department"},
                    "who": "approver@home_department",
                    "rule": "any",
                    "hours": 16,
                },
                {
                    "code": "capacity",
                    "name": {"zh": "资源池容量经理", "en": "Capacity manager of the pool"},
                    "who": "capacity_manager@pool",
                    "rule": "any",
                    "hours": 16,
                },
            ],
        },
    ],
}


def add(apps, schema_editor):
    """Version 1, active."""
    policies = apps.get_model("approvals", "ApprovalPolicy")
    policies.objects.create(
        version=1, state="active", document=DOCUMENT, note="", made_by="migrate", active_from_at=Now()
    )


def remove(apps, schema_editor):
    """It goes with its table, or stays where asks were submitted under it."""


class Migration(migrations.Migration):
    dependencies = [("approvals", "0002_append_only")]
    operations = [migrations.RunPython(add, remove)]
