"""Azure Boards by the REST API of Azure DevOps: work items of a project."""
