"""Indexing of many repositories into object storage, by processes of this machine or by a Ray cluster."""
