"""REST routes of the administration of the team server, below ``/api/v1/server``."""
