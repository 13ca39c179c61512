"""ClickUp by its API version 2: tasks of a workspace."""
