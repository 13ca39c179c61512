"""Evidence of answers: cited lines and their check, the open index, calls and relations."""
