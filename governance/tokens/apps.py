from django.apps import AppConfig


class TokensConfig(AppConfig):
    """See the package's docstring."""

    name = "governance.tokens"
    label = "tokens"
    default_auto_field = "django.db.models.BigAutoField"
