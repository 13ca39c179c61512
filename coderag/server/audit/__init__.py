"""Append-only record of who did what, chained by HMAC."""
