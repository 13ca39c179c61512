"""Credentials of sources: from the environment through the settings, or from a key file; never stored or logged."""

from urllib.parse import urlsplit

from coderag.config.key_files import check_key, read_key_file
from coderag.config.settings_file import find_unset_variable
from coderag.config.source_sections import RemoteSourceSection
from coderag.errors import SourceAuthenticationError


def read_credential(name: str, section: RemoteSourceSection) -> str:
    """Return the credential of a source. Key files are read each time, as keys may change.

    Args:
        name: Name of the source.
        section: Its settings.

    Raises:
        ConfigurationError: The key file cannot be used or is readable by others, or the key has invalid characters.
        SourceAuthenticationError: There is none.
    """
    token = section.token.get_secret_value().strip()
    if variable := find_unset_variable(token):
        message = f"the environment variable {variable} of sources.{name}.token is not set"
        raise SourceAuthenticationError(message, hint="Set it, or name a file in credential_file.")
    if token:
        return check_key(token, f"sources.{name}.token")
    if file := section.credential_file.strip():
        return read_key_file(file, f"sources.{name}.credential_file")
    host = urlsplit(section.address).hostname
    message = f"{host} needs a credential, and sources.{name}.token is not set"
    hint = (
        f"Set sources.{name}.token to a variable of the environment, such as ${{{name.upper().replace('-', '_')}_TOKEN}},"
        f" or name a file that holds it in sources.{name}.credential_file."
    )
    raise SourceAuthenticationError(message, hint=hint)
