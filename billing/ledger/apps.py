from django.apps import AppConfig


class LedgerConfig(AppConfig):
    """See the package's docstring."""

    name = "billing.ledger"
    label = "ledger"
    default_auto_field = "django.db.models.BigAutoField"
