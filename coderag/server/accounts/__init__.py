"""Accounts, teams and grants: who exists, and what teams may see."""
