"""HTTP interface of the team server."""
