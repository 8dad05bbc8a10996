from django.apps import AppConfig


class PricesConfig(AppConfig):
    """See the package's docstring."""

    name = "billing.prices"
    label = "prices"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Answer what governance asks of money."""
        from governance.money import register

        from .estimating import Prices

        register(Prices())
