"""What can go wrong with the local host, each a sentence."""


class LocalHostError(Exception):
    """The server did not start, or is not in the state that the call needs."""


class ConfigurationError(LocalHostError):
    """The configuration cannot work. The text is a sentence for each mistake."""


class InstallationError(LocalHostError):
    """What the local host stands on could not be installed."""
