"""Serialisation and errors that the storages of conversations share."""

from typing import TYPE_CHECKING

from coderag.errors import StoreError

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    Saver = BaseCheckpointSaver[str]


def build_serializer() -> "JsonPlusSerializer":
    """Return what checkpoints are written with: reading a file that somebody else made runs nothing of theirs."""
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer  # noqa: PLC0415  # loads LangGraph

    return JsonPlusSerializer(allowed_msgpack_modules=None)


def build_busy_error(key: str) -> StoreError:
    """Return the error of a conversation that is going on elsewhere."""
    hint = "Wait for the answer there, or begin another conversation."
    return StoreError(f"the conversation {key.rpartition('/')[2]} is being continued elsewhere", hint=hint)
