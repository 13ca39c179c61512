"""Roles, actions and grants, and what a caller may see."""
