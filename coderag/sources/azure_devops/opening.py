"""Opening of an Azure DevOps source from its settings."""

from urllib.parse import quote

from coderag.config.source_sections import AzureDevOpsSection
from coderag.sources.azure_devops.source import AzureDevOpsSource
from coderag.sources.connector_table import ConnectorContext
from coderag.sources.http_client import RequestPolicy


def open_azure_devops(section: AzureDevOpsSection, context: ConnectorContext) -> AzureDevOpsSource:
    """Open the connector; no request is sent.

    Raises:
        ConfigurationError: The address cannot be used.
    """
    return AzureDevOpsSource(
        f"{section.address.rstrip('/')}/{quote(section.organization.strip('/'))}",
        section.projects,
        context.credential,
        area_paths=section.area_paths,
        types=section.types,
        reads_history=section.history,
        api_version=section.api_version,
        policy=RequestPolicy(timeout_s=section.timeout_s),
    )
