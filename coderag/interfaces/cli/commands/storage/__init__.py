"""``coderag storage``: the index in object storage."""
