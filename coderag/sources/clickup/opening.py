"""Opening of a ClickUp source from its settings."""

from coderag.config.source_sections import ClickUpSection
from coderag.sources.clickup.source import ClickUpSource
from coderag.sources.connector_table import ConnectorContext
from coderag.sources.http_client import RequestPolicy


def open_clickup(section: ClickUpSection, context: ConnectorContext) -> ClickUpSource:
    """Open the connector; no request is sent.

    Raises:
        ConfigurationError: The address cannot be used.
    """
    return ClickUpSource(
        section.team,
        context.credential,
        spaces=section.spaces,
        folders=section.folders,
        lists=section.lists,
        includes_archived=section.archived,
        reads_comments=section.comments,
        address=section.address,
        policy=RequestPolicy(timeout_s=section.timeout_s),
    )
