"""The embedded database is nobody's child: it is looked at as the children are, and started again when it has died."""

from dataclasses import dataclass
from time import monotonic

from django.utils.translation import gettext as _

from portal.embedded import EmbeddedError, database_url, revive_database
from portal.supervisor.children import LONGEST_PAUSE_SECONDS
from portal.supervisor.log import Log


@dataclass
class Database:
    """What is known of it. Web, worker and beat find it where it was: it takes its old port wherever that is free."""

    failures: int = 0
    not_before: float = 0.0

    def look(self, log: Log) -> bool:
        """Start it again when it has died, after a growing pause when that fails; True when its address is another now."""
        if monotonic() < self.not_before:
            return False
        before = database_url()
        try:
            revived = revive_database()
        except (EmbeddedError, OSError) as fault:
            pause = min(LONGEST_PAUSE_SECONDS, 2.0**self.failures)
            self.failures += 1
            self.not_before = monotonic() + pause
            words = {"name": "database", "reason": str(fault), "pause": pause}
            log.line("up", _("%(name)s %(reason)s; again in %(pause)d s") % words)
            return False
        self.failures = 0
        if revived is None:
            return False
        log.line("up", _("the database had died; it was started again"))
        return revived != before
