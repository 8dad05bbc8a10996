"""Bring the message catalogue up to date with the texts in the code and the templates."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from portal.extraction import is_translated, marked_texts, read_catalogue, refreshed, write_catalogue


class Command(BaseCommand):
    """`extract_messages [--check]`: English texts are the keys, so only the other languages have catalogues."""

    help = "Add new texts to locale/*/LC_MESSAGES/django.po, drop those that are gone, keep translations."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a text is missing")

    def handle(self, *args: Any, **options: Any) -> None:
        """Refresh every catalogue; name the texts without a translation."""
        texts = marked_texts(Path(settings.BASE_DIR))
        open_texts = 0
        for file in sorted(Path(settings.LOCALE_PATHS[0]).glob("*/LC_MESSAGES/django.po")):
            before = read_catalogue(file)
            after = refreshed(before, texts)
            if not options["check"]:
                write_catalogue(after, file)
            missing = [message for message in after if message.id and not is_translated(message.string)]
            gone = len(before) - sum(1 for message in before if message.id and message.id in after)
            for message in missing:
                self.stderr.write(f"{message.locations[0][0]}: {message.id}")
            self.stdout.write(f"{file.parents[1].name}: {len(after)} / {len(missing)} / {gone}")
            open_texts += len(missing)
        if options["check"] and open_texts:
            raise CommandError(str(open_texts), returncode=1)
