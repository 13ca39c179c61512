"""Opening of a server's settings and services, with an error if the extra is not installed. Imports nothing slow."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from coderag.errors import ConfigurationError
from coderag.interfaces.cli.commands.server.options import ServerPlace

if TYPE_CHECKING:
    from coderag.interfaces.cli.commands.server.operator_services import OperatorServices
    from coderag.server.settings import ServerSettings

_EXTRA_PACKAGES: Final = frozenset({"alembic", "authlib", "cryptography", "joserfc", "prometheus_client", "sqlalchemy"})


def load_settings(place: ServerPlace, **arguments: Any) -> "ServerSettings":  # noqa: ANN401  # checked by pydantic
    """Load the settings of a server.

    Args:
        place: Place of the server.
        arguments: Values that override all others; None leaves a value as it is.

    Raises:
        ConfigurationError: They are invalid, or the extra is not installed.
    """
    with explain_missing_extra():
        from coderag.server.settings import ServerSettings

    given = {"data": place.data, **arguments}
    return ServerSettings.load(place.config, **{name: value for name, value in given.items() if value is not None})


@contextmanager
def open_server(place: ServerPlace) -> "Iterator[OperatorServices]":
    """Open the services of a server on this machine, as its operator.

    Raises:
        ConfigurationError: The settings, the key or the tables cannot be used, or the extra is not installed.
        DatabaseUnavailableError: The database does not answer.
    """
    settings = load_settings(place)
    with explain_missing_extra():
        from coderag.interfaces.cli.commands.server.operator_services import OperatorServices

    server = OperatorServices(settings)
    try:
        yield server
    finally:
        server.close()


@contextmanager
def explain_missing_extra() -> Iterator[None]:
    """Raise the import error of a package of the extra as `ConfigurationError`."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA_PACKAGES:
            raise
        message = f"the team server is not installed: {error.name} is missing"
        raise ConfigurationError(message, hint="pip install 'coderag-engine[server]'") from error
