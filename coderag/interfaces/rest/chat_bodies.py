"""Bodies, parameters and replies of conversations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Path
from pydantic import Field, model_validator

from coderag.engine.chat import ChatTurn, ThreadInfo
from coderag.interfaces.rest.bodies import NO_NUL_PATTERN, RootBody
from coderag.question.question_text import MAX_QUERY_BYTES

_THREAD_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"

ThreadParameter = Annotated[
    str,
    Path(max_length=64, pattern=_THREAD_PATTERN, description="Id of the conversation, as `GET /api/v1/chat` lists it."),
]


class ChatBody(RootBody):
    """A question in a conversation, or the decision on a prompt that needs approval."""

    text: str = Field(
        "",
        max_length=MAX_QUERY_BYTES,
        pattern=NO_NUL_PATTERN,
        description="The question; empty with `approve`.",
    )
    thread: str | None = Field(
        None,
        max_length=64,
        pattern=_THREAD_PATTERN,
        description="Id of the conversation, or a name for a new one; by default a new one.",
    )
    approve: bool | None = Field(
        None, description="After an event `approval`: true sends the prompt, false answers without the language model."
    )

    @model_validator(mode="after")
    def _require_text_or_decision(self) -> "ChatBody":
        if self.approve is None and not self.text.strip():
            raise ValueError("give a text, or approve after an event approval")
        if self.approve is not None and (self.text or self.thread is None):
            raise ValueError("approve takes the thread and no text")
        return self


@dataclass(frozen=True, slots=True)
class ThreadReply:
    """Conversation that a stream belongs to.

    Attributes:
        thread: Its id.
    """

    thread: str


@dataclass(frozen=True, slots=True)
class ThreadsReply:
    """Stored conversations of a repository, last used first."""

    root: str
    threads: Sequence[ThreadInfo]
    total: int


@dataclass(frozen=True, slots=True)
class TurnsReply:
    """Turns of a conversation, alternating questions and answers.

    Attributes:
        unanswered: The last question if it has no answer, such as after a failure; otherwise empty.
    """

    root: str
    thread: str
    turns: Sequence[ChatTurn]
    unanswered: str
