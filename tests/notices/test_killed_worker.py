"""A worker killed between sending and noting: the message comes again, under the same id and with the same body."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings as django_settings
from django.contrib.auth.models import Permission
from django.core import mail as post
from django.db import connection, transaction
from django.utils import timezone

from governance.access.actor import Actor
from governance.access.models import Person
from governance.catalogue.reads import installation
from governance.notices import channels
from governance.notices.models import Delivery, Notice
from governance.notices.outbox import DELIVER, MAIL, publish
from governance.notices.tasks import deliver, mail
from governance.notices.tasks import sweep as sweep_notices
from governance.tenants.models import SiteGrant
from governance.work.models import WorkItem
from governance.work.sweeping import sweep
from tests.notices.receiver import Receiver, say

ROOT = Path(__file__).resolve().parents[2]
WORKER = """
import django
django.setup()
from django.db import connection
connection.settings_dict["NAME"] = {name!r}
from governance.notices.tasks import deliver
deliver({key!r})
"""


def an_owner() -> Actor:
    person = Person.objects.create(username="committed-owner")
    permission = Permission.objects.get(codename="administrator", content_type__app_label="catalogue")
    SiteGrant.objects.create(user=person, permission=permission, content_object=installation())
    return Actor.of(person)


def test_a_worker_killed_between_sending_and_noting_sends_again_under_the_same_id(
    committed: None, receiver: Receiver, settings: Any
) -> None:
    channel, _secret = channels.add("webhook", "killed", receiver.url, actor=an_owner())
    with transaction.atomic():
        publish("usage.pull_failing", "bj", facts={"cluster": "bj"})
    name = connection.settings_dict["NAME"]
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "portal.settings",
        "STEELYARD_CHANNELS_LOCAL": "1",
        "STEELYARD_LEASE_SECONDS": "2",
        "STEELYARD_SECRET_KEY": django_settings.SECRET_KEY,
    }
    source = WORKER.format(name=name, key=str(channel.pk))
    worker = subprocess.Popen([sys.executable, "-c", source], cwd=ROOT, env=environment)
    receiver.answering = lambda handler: os.kill(worker.pid, signal.SIGKILL)  # it has been sent, and is not noted
    assert worker.wait(90) == -signal.SIGKILL
    assert len(receiver.got) == 1
    assert Delivery.objects.get().state == "waiting"
    assert WorkItem.objects.get(kind=DELIVER).state == "running"

    receiver.answering = lambda handler: say(handler, 200)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and Delivery.objects.get().state != "sent":
        sweep()  # gives the work of the dead to others once its lease is over
        deliver(str(channel.pk))
        time.sleep(0.3)
    assert Delivery.objects.get().state == "sent"
    first, second = receiver.got
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body
    assert WorkItem.objects.get(kind=DELIVER).state == "done"


def test_what_nobody_asked_for_is_found_by_the_sweep(committed: None, receiver: Receiver, settings: Any) -> None:
    """Killed between the commit and the asking, or a broker that lost everything."""
    settings.MAIL_IS_ON = True
    owner = an_owner()
    assert owner.person is not None
    Person.objects.filter(pk=owner.person.pk).update(email="owner@example.com", language="en")
    channel, _secret = channels.add("webhook", "swept", receiver.url, actor=owner)
    with transaction.atomic():
        publish("usage.pull_failing", "bj", [owner.person], facts={"cluster": "bj"})
    WorkItem.objects.all().delete()
    long_ago = timezone.now() - timedelta(minutes=5)
    Delivery.objects.update(due_at=long_ago)
    Notice.objects.update(mail_due_at=long_ago)
    sweep_notices()
    sweep_notices()
    asked = set(WorkItem.objects.values_list("kind", "key"))
    assert asked == {(DELIVER, str(channel.pk)), (MAIL, str(owner.person.pk))}
    mail(str(owner.person.pk))
    deliver(str(channel.pk))
    assert Delivery.objects.get().state == "sent"
    assert [one.to for one in post.outbox] == [["owner@example.com"]]
    sweep_notices()
    assert set(WorkItem.objects.values_list("state", flat=True)) == {"done"}
