"""Opening of the Confluence connector from its settings."""

from coderag.config.source_sections import ConfluenceSection
from coderag.sources.atlassian.client import AtlassianClient, AtlassianLogin, is_cloud_address
from coderag.sources.confluence.connector import ConfluenceSource
from coderag.sources.connector_table import ConnectorContext
from coderag.sources.http_client import RequestPolicy


def open_confluence(section: ConfluenceSection, context: ConnectorContext) -> ConfluenceSource:
    """Open the connector; the address tells Cloud from Data Center."""
    is_cloud = is_cloud_address(section.address)
    login = AtlassianLogin(section.address, section.user, context.credential, is_cloud)
    return ConfluenceSource(
        AtlassianClient(login, "Confluence", RequestPolicy(timeout_s=section.timeout_s)),
        spaces=section.spaces,
        cql=section.cql,
        has_attachments=section.attachments,
        is_cloud=is_cloud,
    )
