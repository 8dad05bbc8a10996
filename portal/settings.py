"""All settings, from the environment: one file. See docs/operations.md for what each means."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from celery.schedules import crontab
from django.utils.translation import gettext_lazy as _
from kombu import Exchange, Queue

from portal import embedded, logs, mail

BASE_DIR = Path(__file__).resolve().parent.parent


def _flag(name: str, default: bool = False) -> bool:
    return os.environ.get(name, "1" if default else "0").strip().lower() in {"1", "true", "yes", "on"}


def _seconds(name: str, usual: float) -> float:
    """A pause from the environment, at least a second: beat would spin on less."""
    return max(1.0, float(os.environ.get(name, usual)))


DEBUG = _flag("STEELYARD_DEBUG")
SECRET_KEY = os.environ.get("STEELYARD_SECRET_KEY") or embedded.secret_key()
SECRET_KEY_FALLBACKS = [key for key in os.environ.get("STEELYARD_OLD_SECRET_KEYS", "").split() if key]
ALLOWED_HOSTS = os.environ.get("STEELYARD_HOSTS", "127.0.0.1,localhost,[::1]").split(",")
CSRF_TRUSTED_ORIGINS = [origin for origin in os.environ.get("STEELYARD_ORIGINS", "").split(",") if origin]
TITLE = os.environ.get("STEELYARD_TITLE", "")  # empty: the portal's own name

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.staticfiles",
    "rest_framework",
    "guardian",
    "governance.access.apps.AccessConfig",
    "governance.doors.apps.DoorsConfig",
    "governance.audit.apps.AuditConfig",
    "governance.tokens.apps.TokensConfig",
    "governance.work.apps.WorkConfig",
    "governance.notices.apps.NoticesConfig",
    "governance.catalogue.apps.CatalogueConfig",
    "governance.tenants.apps.TenantsConfig",
    "governance.usage.apps.UsageConfig",
    "governance.quotas.apps.QuotasConfig",
    "governance.approvals.apps.ApprovalsConfig",
    "governance.reclaim.apps.ReclaimConfig",
    "billing.prices.apps.PricesConfig",
    "billing.ledger.apps.LedgerConfig",
    "portal.exports.apps.ExportsConfig",
    "portal.apps.PortalConfig",
]

MIDDLEWARE = [
    "portal.logs.CorrelationMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "portal.security.PolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "portal.middleware.LanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "portal.middleware.MemoryMiddleware",
    "portal.middleware.ActorMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "portal.errors.ErrorMiddleware",
]

ROOT_URLCONF = "portal.urls"
WSGI_APPLICATION = "portal.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "portal.context.shell",
            ],
            "builtins": ["portal.formats"],
        },
    }
]


#: How soon a database that has gone silent is noticed, in seconds (tcp_user_timeout: ms); portal/apps.py asks the server
#: for the same, or a host that is cut off would keep its locks for a quarter of an hour and more.
REACH_SECONDS = max(3.0, float(os.environ.get("STEELYARD_REACH_SECONDS", 30)))
REACH = {
    "connect_timeout": "10",
    "keepalives_idle": str(int(REACH_SECONDS / 3)),
    "keepalives_interval": str(int(REACH_SECONDS / 6) or 1),
    "keepalives_count": "3",
    "tcp_user_timeout": str(int(REACH_SECONDS * 1000)),
}


def _database(url: str) -> dict[str, object]:
    """Django's settings for a `postgresql://user:password@host:port/name?option=value` URL."""
    parts = urlsplit(url)
    options = dict(pair.split("=", 1) for pair in parts.query.split("&") if "=" in pair)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "OPTIONS": {"client_encoding": "UTF8", **REACH, **options},
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "TEST": {"NAME": os.environ.get("STEELYARD_TEST_DATABASE") or None},
    }


DATABASES = {"default": _database(os.environ.get("DATABASE_URL") or embedded.database_url())}

AUTH_USER_MODEL = "access.Person"
AUTHENTICATION_BACKENDS = ["governance.access.backends.PasswordBackend", "governance.tenants.backends.GrantBackend"]
ANONYMOUS_USER_NAME = None  # guardian: nobody stands in for the anonymous
SILENCED_SYSTEM_CHECKS = ["guardian.W001"]  # grants are dated: our own backend asks them, guardian keeps them
GUARDIAN_MONKEY_PATCH_USER = False
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "sign-in"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
#: How long a session lasts from sign-in, or from when its reader says "stay".
SESSION_COOKIE_AGE = int(os.environ.get("STEELYARD_SESSION_SECONDS", 10 * 3600))
CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _flag("STEELYARD_HTTPS")
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "portal.errors.stale_form"

LANGUAGE_CODE = "zh-hans"
LANGUAGES = [("zh-hans", _("Simplified Chinese")), ("en", _("English"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGE_COOKIE_NAME = "language"
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = embedded.home() / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = DEBUG

CELERY_BROKER_URL = os.environ.get("BROKER_URL") or embedded.broker_url()
_ON_RABBITMQ = CELERY_BROKER_URL.startswith(("amqp", "pyamqp"))
# RabbitMQ gives the messages of a worker that is cut off to others after two of these; what it had not begun waits for that.
CELERY_BROKER_HEARTBEAT = int(REACH_SECONDS)
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_IGNORE_RESULT = True
CELERY_RESULT_EXPIRES = None  # nothing is kept there, so nothing is cleaned up
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # a broker may be away for long: its workers wait for it
# A page that asks for work must not wait for a broker that is away: max_retries bounds it, the sweep sends again.
CELERY_BROKER_TRANSPORT_OPTIONS = {"max_retries": 1, "interval_start": 0, "interval_step": 0.2, "interval_max": 0.5} | (
    {"confirm_publish": True}
    if _ON_RABBITMQ
    else {
        "visibility_timeout": 4 * 3600,
        "unacked_restore_interval": 5,
        "unacked_restore_throttle": 1,
        "socket_connect_timeout": 5,
        "socket_timeout": 10,  # above the second for which a worker's own read waits
        "socket_keepalive": True,
    }
    if CELERY_BROKER_URL.startswith("redis")
    else {}
)
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0, "interval_step": 0.2, "interval_max": 0.2}
CELERY_TASK_DEFAULT_QUEUE = "celery"
CELERY_TASK_DEFAULT_EXCHANGE_TYPE = "topic" if _ON_RABBITMQ else "direct"
CELERY_TASK_QUEUES = [
    Queue(
        name,
        Exchange("steelyard" if _ON_RABBITMQ else name, type=CELERY_TASK_DEFAULT_EXCHANGE_TYPE),
        routing_key=name,
        queue_arguments={"x-queue-type": "quorum"} if _ON_RABBITMQ else None,
    )
    for name in ("celery", "pull", "meter", "post", "notify", "export", "enforce")
]
#: Each kind of work and its queue; `governance.work.actions.ask` refuses a kind that is not named here.
CELERY_TASK_ROUTES = {
    "usage.pull": {"queue": "pull"},
    "usage.pull_all": {"queue": "pull"},
    "usage.reread": {"queue": "pull"},
    "usage.reread_all": {"queue": "pull"},
    "usage.telemetry": {"queue": "pull"},
    "usage.telemetry_all": {"queue": "pull"},
    "usage.meter": {"queue": "meter"},
    "usage.meter_all": {"queue": "meter"},
    "quotas.enforce": {"queue": "enforce"},
    "quotas.enforce_all": {"queue": "enforce"},
    "quotas.warn": {"queue": "notify"},
    "quotas.warn_all": {"queue": "notify"},
    "asks.sweep": {"queue": "notify"},
    "asks.sweep_all": {"queue": "notify"},
    "asks.score": {"queue": "notify"},
    "asks.score_all": {"queue": "notify"},
    "ledger.post": {"queue": "post"},
    "ledger.post_all": {"queue": "post"},
    "exports.make": {"queue": "export"},
    "exports.forget": {"queue": "export"},
    "notices.mail": {"queue": "notify"},
    "notices.deliver": {"queue": "notify"},
    "notices.sweep": {"queue": "notify"},
    "account.reset": {"queue": "notify"},
}
CELERY_BEAT_SCHEDULER = "portal.beat.LeasedScheduler"
CELERY_BEAT_SCHEDULE: dict[str, dict[str, object]] = {
    "meter": {"task": "usage.meter_all", "schedule": _seconds("STEELYARD_METER_SECONDS", 300)},
    "post": {"task": "ledger.post_all", "schedule": _seconds("STEELYARD_POST_SECONDS", 300)},
    "pull": {"task": "usage.pull_all", "schedule": _seconds("STEELYARD_PULL_SECONDS", 300)},
    "telemetry": {"task": "usage.telemetry_all", "schedule": 3600.0},
    "enforce": {"task": "quotas.enforce_all", "schedule": _seconds("STEELYARD_ENFORCE_SECONDS", 3600)},
    "warn": {
        "task": "quotas.warn_all",
        "schedule": 3600.0,
    },  # each once: an hour is for who was away at the day's beginning
    "asks": {"task": "asks.sweep_all", "schedule": 300.0},
    "score": {"task": "asks.score_all", "schedule": crontab(hour=20, minute=40)},
    "forget-exports": {"task": "exports.forget", "schedule": 3600.0},
    "notices": {"task": "notices.sweep", "schedule": 60.0},
    "reclaim": {"task": "reclaim.daily", "schedule": crontab(hour=0, minute=30)},  # UTC: after the night's metering
    "reclaim_cases": {"task": "reclaim.hourly", "schedule": 3600.0},
    "reread": {"task": "usage.reread_all", "schedule": crontab(hour=19, minute=10)},  # UTC: night in China
}
CELERY_TIMEZONE = "UTC"

#: Days for which a quota that ran out is still enforced as it was, so that a late extension interrupts nobody.
QUOTA_GRACE_DAYS = max(0, min(366, int(os.environ.get("STEELYARD_QUOTA_GRACE_DAYS", "3"))))

#: Deadlines count working hours: by which calendar ("cn" with shifted working days, "weekdays"), in which hours of the day.
CALENDAR = os.environ.get("STEELYARD_CALENDAR", "cn")
WORKING_HOURS = os.environ.get("STEELYARD_WORKING_HOURS", "09:00-18:00")
#: Where files that came with asks are kept, and how large one may be in MiB. Every host that serves pages needs the same folder.
FILES_FOLDER = os.environ.get("STEELYARD_FILES") or str(embedded.home() / "files")
ATTACHMENT_MIB = int(os.environ.get("STEELYARD_ATTACHMENT_MIB", 10))

#: How long a worker may be silent before its work is given to another, and how often beat looks for such work.
WORK_LEASE_SECONDS = float(os.environ.get("STEELYARD_LEASE_SECONDS", 60))
WORK_SWEEP_SECONDS = float(os.environ.get("STEELYARD_SWEEP_SECONDS", 30))
BEAT_LEASE_SECONDS = float(os.environ.get("STEELYARD_BEAT_LEASE_SECONDS", 30))
#: With a token, /metrics wants it from everybody; without one, only this machine is answered.
METRICS_TOKEN = os.environ.get("STEELYARD_METRICS_TOKEN", "")
#: What a submit hook shows to report refused submissions; without one only people who signed in may.
REFUSED_TOKEN = os.environ.get("STEELYARD_REFUSED_TOKEN", "")

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "governance.tokens.authentication.TokenAuthentication",
        "governance.tokens.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [],  # each door asks the actor, in the one order
    "DEFAULT_THROTTLE_CLASSES": ["governance.doors.throttling.MinuteThrottle"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "governance.doors.negotiation.JsonAlways",
    "DEFAULT_SCHEMA_CLASS": "portal.api.schema.DoorSchema",
    "DEFAULT_METADATA_CLASS": None,
    "EXCEPTION_HANDLER": "portal.api.problems.answer_to",
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Steelyard",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": ["portal.api.schema.finish"],
}
#: How often a minute the API may be asked: to read and to write by each person, and by an address that nobody knows.
API_READS_PER_MINUTE = int(os.environ.get("STEELYARD_API_READS_PER_MINUTE", 600))
API_WRITES_PER_MINUTE = int(os.environ.get("STEELYARD_API_WRITES_PER_MINUTE", 120))
API_UNKNOWN_PER_MINUTE = int(os.environ.get("STEELYARD_API_UNKNOWN_PER_MINUTE", 60))
#: The largest file of records that the API takes at once, in MiB.
API_UPLOAD_MIB = int(os.environ.get("STEELYARD_API_UPLOAD_MIB", 64))

#: Where files of exports are kept, and for how many days. Every host that serves pages or makes files needs the same folder.
EXPORTS_FOLDER = os.environ.get("STEELYARD_EXPORTS") or str(embedded.home() / "exports")
EXPORT_DAYS = float(os.environ.get("STEELYARD_EXPORT_DAYS", 7))

#: How large the site is, where nobody chose it on the page or in the organisation file: see portal/profile/rules.py.
PROFILE = os.environ.get("STEELYARD_PROFILE", "")

#: Only days wholly behind the metered instant by this much are posted; newer ones are shown as accrued.
POSTING_GRACE_SECONDS = int(os.environ.get("STEELYARD_POSTING_GRACE_SECONDS", 2 * 3600))

#: Where readers reach the portal, for links in mail and messages; "" leaves them out.
PORTAL_URL = os.environ.get("STEELYARD_URL", "").rstrip("/")
#: Mail goes by this address (docs/operations.md); without it there is none.
MAIL = mail.settings_of(os.environ.get("STEELYARD_MAIL_URL", ""))
EMAIL_BACKEND, EMAIL_HOST, EMAIL_PORT = MAIL.backend, MAIL.host, MAIL.port
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = MAIL.user, MAIL.password
EMAIL_USE_TLS, EMAIL_USE_SSL, EMAIL_FILE_PATH = MAIL.starttls, MAIL.tls, MAIL.folder
EMAIL_TIMEOUT = 20
MAIL_IS_ON = MAIL.is_on
DEFAULT_FROM_EMAIL = SERVER_EMAIL = os.environ.get("STEELYARD_MAIL_FROM", "steelyard@localhost")
PASSWORD_RESET_TIMEOUT = 3600

#: Channels (webhooks, robots): whether they may reach this machine and its link, and private addresses; by which proxy.
CHANNELS_LOCAL = _flag("STEELYARD_CHANNELS_LOCAL")
CHANNELS_PRIVATE = _flag("STEELYARD_CHANNELS_PRIVATE", default=True)
CHANNELS_PROXY = os.environ.get("STEELYARD_CHANNELS_PROXY", "")
CHANNELS_DEADLINE_SECONDS = float(os.environ.get("STEELYARD_CHANNELS_SECONDS", 10))
#: A channel that nothing got through to for so many days is switched off.
CHANNELS_FAIL_DAYS = max(1, int(os.environ.get("STEELYARD_CHANNELS_FAIL_DAYS", 5)))

LOGGING = logs.configuration(
    os.environ.get("STEELYARD_LOG_FORMAT", "line"), os.environ.get("STEELYARD_LOG_LEVEL", "WARNING")
)
