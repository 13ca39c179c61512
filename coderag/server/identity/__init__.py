"""Identification of callers: API keys, agent tokens, browser sessions and OpenID Connect."""
