"""The shell that joins the rooms: settings, sign-in, pages that span topics, organisation files, demo, embedded services."""

from portal.celery import app as celery_app

__all__ = ["celery_app"]
