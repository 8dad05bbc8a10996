"""Beat: one clock among any number of hosts. Each host may run it; the one that holds the lease “beat” ticks.

When an entry was last sent stands in the database: another beat goes on from there, and what was due while none ran, or
while the broker was away, is sent once as soon as that is possible. The sweep for lost work runs here, without the broker.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

from celery.beat import ScheduleEntry, Scheduler, SchedulingError
from celery.utils.log import get_logger
from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections

from governance.work import leases, presence
from governance.work.actions import owner_name
from governance.work.sweeping import Swept, sweep

log = get_logger("celery.beat")

LEASE = "beat"
AGAIN_SECONDS = 5.0  # after a fault of the database or the broker


class LeasedScheduler(Scheduler):
    """Celery's scheduler in the hands of whoever holds the lease."""

    def __init__(self, *args: Any, **given: Any) -> None:
        self.owner = owner_name()
        self.leads = False
        self._swept_at = float("-inf")
        super().__init__(*args, **given)

    def tick(self, *args: Any, **given: Any) -> float:
        """One round; answers in how many seconds the next is due."""
        longest = settings.BEAT_LEASE_SECONDS / 3
        try:
            close_old_connections()
            presence.seen("beat")
            if not self._hold():
                return float(min(longest, AGAIN_SECONDS))
            waits = [self._look(entry) for entry in list(self.schedule.values())]
            return float(max(0.1, min([longest, self._sweep(), *waits])))
        except (DatabaseError, InterfaceError) as fault:
            log.error("beat: the database does not answer: %s", fault)
            self.leads = False
            return AGAIN_SECONDS

    def close(self) -> None:
        """End in order: another beat may go on at once."""
        try:
            leases.give_up(LEASE, self.owner)
            presence.gone("beat")
        except (DatabaseError, InterfaceError) as fault:
            log.warning("beat: the lease was not given up: %s", fault)
        super().close()

    def _hold(self) -> bool:
        """Take or keep the lease; on taking it, go on from where the last beat stood."""
        held = leases.hold(LEASE, self.owner, settings.BEAT_LEASE_SECONDS)
        if held and not self.leads:
            log.info("beat: this process leads")
            known = leases.marks()
            for name, entry in self.schedule.items():
                if name in known:
                    entry.last_run_at = known[name]
                else:  # counted from here, or a nightly entry would never be late before its first night
                    leases.mark(name, datetime.now(UTC))
        self.leads = held
        return held

    def _look(self, entry: ScheduleEntry) -> float:
        """Send the entry if it is due; seconds until the next look at it."""
        is_due, wait = entry.is_due()
        if not is_due:
            return float(wait)
        try:
            # From the pool of producers: Celery's own for beat waits for its broker without end, and the lease would lapse.
            self.apply_async(entry, advance=False)
        except SchedulingError as fault:
            log.warning("beat: %s is sent as soon as a broker takes it: %s", entry.name, fault)
            return AGAIN_SECONDS
        log.info("beat: sent %s (%s)", entry.name, entry.task)
        self.reserve(entry)
        leases.mark(entry.name, datetime.now(UTC))
        return float(wait)

    def _sweep(self) -> float:
        """Sweep when it is time; seconds until the next."""
        now = time.monotonic()
        if now - self._swept_at >= settings.WORK_SWEEP_SECONDS:
            done = sweep()
            self._swept_at = now
            if done != Swept():
                log.info("beat: swept, %s leases had run out, %s messages sent", done.expired, done.sent)
            if not done.broker:  # look again soon
                self._swept_at = now - settings.WORK_SWEEP_SECONDS + AGAIN_SECONDS
        return float(self._swept_at + settings.WORK_SWEEP_SECONDS - now)
