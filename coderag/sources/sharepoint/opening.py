"""Opening of a SharePoint source from its settings."""

from urllib.parse import urlsplit

from coderag.config.key_files import read_private_file
from coderag.config.source_sections import SharePointSection
from coderag.errors import ConfigurationError
from coderag.sources.connector_table import ConnectorContext
from coderag.sources.http_client import RequestPolicy
from coderag.sources.sharepoint.graph_token import GraphCredential, GraphTokens
from coderag.sources.sharepoint.source import SharePointSource

_MAX_CERTIFICATE_BYTES = 100_000


def open_sharepoint(section: SharePointSection, context: ConnectorContext) -> SharePointSource:
    """Open the connector; no request is sent.

    Raises:
        ConfigurationError: An address or the certificate file cannot be used.
    """
    setting = f"sources.{context.name}"
    if urlsplit(section.login_address).scheme != "https":
        message = f"{setting}.login_address is {section.login_address}, which does not begin with https://"
        raise ConfigurationError(message, hint="The service that issues tokens gets the secret, so it needs https.")
    certificate = ""
    if section.certificate_file:
        certificate = read_private_file(section.certificate_file, f"{setting}.certificate_file", _MAX_CERTIFICATE_BYTES)
    credential = GraphCredential(
        section.tenant, section.client_id, context.credential, certificate, authority=section.login_address
    )
    tokens = GraphTokens(credential, section.address)
    return SharePointSource(
        section.site,
        tokens,
        libraries=section.drives,
        includes_pages=section.pages,
        reads_permissions=section.permissions,
        graph_url=section.address,
        policy=RequestPolicy(timeout_s=section.timeout_s),
    )
