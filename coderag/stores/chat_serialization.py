"""Serialization and errors shared by the storages of conversations."""

from typing import TYPE_CHECKING

from coderag.errors import StoreError

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    Saver = BaseCheckpointSaver[str]


def build_serializer() -> "JsonPlusSerializer":
    """Build the serializer of checkpoints; it runs no code from a file that somebody else made."""
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer  # noqa: PLC0415  # loads LangGraph

    return JsonPlusSerializer(allowed_msgpack_modules=None)


def build_busy_error(key: str) -> StoreError:
    """Build the error for a conversation that is in use elsewhere."""
    hint = "Wait for that answer, or start another conversation."
    return StoreError(f"the conversation {key.rpartition('/')[2]} is in use elsewhere", hint=hint)
