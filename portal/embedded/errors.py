"""What can go wrong with an embedded service, said so that the person at the terminal can act on it."""


class EmbeddedError(RuntimeError):
    """An embedded service cannot be used. The message names the cause and, where there is one, the remedy."""
