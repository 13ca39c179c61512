"""Redaction of secrets in texts for model servers: keys, tokens, private keys, passwords (docs/security.md).

Each secret is replaced by its kind, ``[secret removed: GitHub Token]``. Each line of a private key is replaced, so that
line numbers stay. Nothing is sent anywhere to validate a key.
"""
