"""A chat session at the command line."""

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from coderag.errors import ModelError
from coderag.interfaces.cli.confirmation import can_prompt, confirm, suppress_typing
from coderag.interfaces.cli.output.answer import AnswerPrinter
from coderag.interfaces.cli.output.streams import Output
from coderag.schema.answers import AnswerEvent

if TYPE_CHECKING:
    from coderag.answering.chat.state import ChatContext
    from coderag.app import CodeRAG
    from coderag.engine.chat import Approval, Chat, ChatTurn
    from coderag.schema.answers import Answer


class ChatSession:
    """A conversation whose questions are asked sequentially, each in its own event loop.

    Args:
        rag: The engine, with an index.
        chat: The conversation.
        output: Destination of answers.
        yes: Send long prompts without confirmation.
        debug: Print tracebacks of errors.

    Attributes:
        model: Name of the language model; empty if there is none.
        turns: The turns as last read.
        answer: The last answer of this process in this thread, if any.
        is_finished: Whether the user ended the session.
    """

    def __init__(self, rag: "CodeRAG", chat: "Chat", output: Output, *, yes: bool, debug: bool) -> None:
        self.rag = rag
        self.output = output
        self.yes = yes
        self.debug = debug
        self.is_finished = False
        model = self.context.query.language_model
        self.model = model.name if model else ""
        self._printer = None if output.as_json else AnswerPrinter(output, rag.root)
        self.switch_to(chat)

    def switch_to(self, chat: "Chat") -> None:
        """Switch to another conversation."""
        self.chat = chat
        self.answer: Answer | None = None
        self.turns: Sequence[ChatTurn] = ()
        self.read_turns()

    @property
    def context(self) -> "ChatContext":
        """The context of the conversation, with the current index."""
        return self.rag.build_chat_context()

    @property
    def cited_places(self) -> Sequence[str]:
        """The numbered citations, number 1 first."""
        return next((turn.cited for turn in reversed(self.turns) if turn.cited), ())

    def read_turns(self) -> None:
        """Read the turns, including those of other processes."""
        self.turns = asyncio.run(self.chat.read_turns())

    def find_unanswered(self) -> str:
        """Return the last question if it has no answer; otherwise an empty text."""
        return asyncio.run(self.chat.find_unanswered())

    def ask(self, text: str) -> "Answer":
        """Answer a question, and print the answer unless output is JSON.

        Raises:
            ModelError: The language model failed, or a long prompt was not confirmed and cannot be.
            KeyboardInterrupt: Ctrl-C; the question stays unanswered.
        """
        from coderag.engine.chat import Approval

        result = self._run_step(text, None)
        while isinstance(result, Approval):
            result = self._run_step("", self._ask_approval(result))
        self.answer = result
        self.read_turns()
        return result

    def _run_step(self, text: str, approve: bool | None) -> "Answer | Approval":
        """Run up to the answer, or to the next approval."""
        with suppress_typing() if self.output.is_terminal and can_prompt() else nullcontext():
            return asyncio.run(self._consume_events(text, approve))

    async def _consume_events(self, text: str, approve: bool | None) -> "Answer | Approval":
        result: Answer | Approval | None = None
        try:
            async for event in self.chat.astream(text, approve=approve):
                if not isinstance(event, AnswerEvent):
                    result = event
                    continue
                result = event.answer
                if self._printer:
                    self._printer.handle_event(event)
        finally:
            if self._printer:
                self._printer.close()
            await self.chat.aclose()
        assert result is not None, "the last event is the answer, or an approval"
        return result

    def _ask_approval(self, approval: "Approval") -> bool:
        cost = "" if approval.cost is None else f" It costs about {approval.cost:.4f}."
        if self.yes:
            self.output.note(f"{approval.reason.removesuffix('.')}: confirmed by --yes.{cost}")
            return True
        if self._printer is None or not can_prompt():
            hint = "Confirm with --yes, or raise chat.confirm_tokens."
            raise ModelError(f"the language model was not asked: {approval.reason}{cost}", hint=hint)
        self.output.note(f"{approval.reason}{cost}")
        return confirm("Send it? Otherwise the answer is extracted from the code.")
