"""Reading of the question and token budget from any kind of parent state."""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage, convert_to_messages

from coderag.errors import InvalidQueryError

_HUMAN_TYPE = "human"


def get_state_value(state: Any, key: str) -> Any:  # noqa: ANN401  # a mapping, a dataclass or a pydantic model
    """Return a value of the state; None if it is missing."""
    return state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)


def read_question(state: Any, key: str) -> str:  # noqa: ANN401
    """Read the question under a key of the state: a text, or the last human message of a list.

    Raises:
        InvalidQueryError: There is no question.
    """
    value = get_state_value(state, key)
    question = (
        value
        if isinstance(value, str)
        else _find_last_human_text(value, key)
        if isinstance(value, list | tuple)
        else ""
    )
    if question.strip():
        return question
    raise InvalidQueryError(
        f"the state has no question under {key!r}",
        hint=f"Put a text or a list of messages with a user message there, or name another key: "
        f"as_node(..., question_key={'question' if key == 'messages' else 'messages'!r}).",
    )


def read_budget(state: Any, key: str) -> int | None:  # noqa: ANN401
    """Read the token budget under a key of the state; None if it is missing.

    Raises:
        InvalidQueryError: It is not an integer.
    """
    budget = get_state_value(state, key)
    if budget is None or (isinstance(budget, int) and not isinstance(budget, bool)):
        return budget
    raise InvalidQueryError(f"the state's {key!r} is {budget!r}; a token budget must be an integer")


def _find_last_human_text(messages: list[Any] | tuple[Any, ...], key: str) -> str:
    for message in reversed(messages):
        try:
            (parsed,) = [message] if isinstance(message, BaseMessage) else convert_to_messages([message])
        except (NotImplementedError, ValueError) as error:
            raise InvalidQueryError(f"the state's {key!r} holds an invalid message: {message!r:.80}") from error
        if parsed.type == _HUMAN_TYPE:
            return str(parsed.text)
    return ""
