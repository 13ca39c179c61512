"""Opening of the Jira connector from its settings."""

from coderag.config.source_sections import JiraSection
from coderag.sources.atlassian.client import AtlassianClient, AtlassianLogin, is_cloud_address
from coderag.sources.connector_table import ConnectorContext
from coderag.sources.http_client import RequestPolicy
from coderag.sources.jira.connector import JiraSource


def open_jira(section: JiraSection, context: ConnectorContext) -> JiraSource:
    """Open the connector; the address tells Cloud from Data Center."""
    is_cloud = is_cloud_address(section.address)
    login = AtlassianLogin(section.address, section.user, context.credential, is_cloud)
    client = AtlassianClient(login, "Jira", RequestPolicy(timeout_s=section.timeout_s))
    return JiraSource(client, projects=section.projects, jql=section.jql, is_cloud=is_cloud)
