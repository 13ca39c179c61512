"""Agent that is a chat model with tool calls, on a server with OpenAI's interface."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import httpx

from coderag.errors import ConfigurationError, ModelError
from coderag.models.remote_errors import Remote, RetryPolicy, translate_remote_errors

from .prompts import ANSWER_TOOL
from .session import Session, SessionOutcome
from .toolsets import CallReply, Toolset, ToolSpec

_RETRY_POLICY: Final = RetryPolicy(retries_timeouts=False)
_MAX_IDLE_TURNS: Final = 3
_REMINDER: Final = "Call a tool, or end with the tool `answer`."


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """Message of a model, with the id, name and arguments of each tool that it calls."""

    message: Mapping[str, Any]
    calls: Sequence[tuple[str, str, str]]


@dataclass(slots=True)
class ChatModel:
    """Chat model on a server.

    Attributes:
        base_url: Address that ends before ``/chat/completions``.
        input_tokens, output_tokens: Token counts of all requests so far.
    """

    model: str
    base_url: str
    api_key: str = ""
    timeout_s: float = 300.0
    temperature: float | None = None
    input_tokens: int = 0
    output_tokens: int = 0

    def complete(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[ToolSpec]) -> ModelTurn:
        """Return the next turn of the model.

        Raises:
            ModelError: The server fails or sends an invalid reply.
        """
        body: dict[str, Any] = {
            "model": self.model,
            "messages": messages,
            "tools": [_to_function(tool) for tool in tools],
        }
        if self.temperature is not None:
            body["temperature"] = self.temperature
        remote = Remote("openai", self.model, self.base_url, "llm", self.timeout_s, self.api_key)
        with translate_remote_errors(remote):
            return _RETRY_POLICY.call(lambda: self._post(body), time.sleep)

    def _post(self, body: Mapping[str, Any]) -> ModelTurn:
        headers = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        url = f"{self.base_url.rstrip('/')}/chat/completions"
        response = httpx.post(url, json=body, headers=headers, timeout=self.timeout_s)
        response.raise_for_status()
        reply = response.json()
        message = dict(reply["choices"][0]["message"])
        usage = reply.get("usage") or {}
        self.input_tokens += usage.get("prompt_tokens") or 0
        self.output_tokens += usage.get("completion_tokens") or 0
        calls = [
            (call["id"], call["function"]["name"], call["function"].get("arguments") or "{}")
            for call in message.get("tool_calls") or ()
        ]
        return ModelTurn(message, calls)


def _call(session: Session, toolset: Toolset, tool: str, text: str) -> CallReply:
    try:
        arguments = json.loads(text)
    except ValueError as error:
        return CallReply(f"the arguments are not valid JSON: {error}", is_error=True)
    if tool == ANSWER_TOOL.name:
        try:
            session.submit_answer(arguments)
        except ConfigurationError as error:
            return CallReply(str(error), is_error=True)
        return CallReply("accepted")
    if not isinstance(arguments, dict):
        return CallReply("the arguments are not a JSON object", is_error=True)
    return session.call(toolset, tool, arguments)


def run_chat_model(session: Session, toolset: Toolset, prompt: str, model: ChatModel) -> SessionOutcome:
    """Let a model work on a session until it answers, reaches a limit or fails, and record the end.

    At a limit of calls or time, the model can only answer. After three turns without a logged call the session is over.
    """
    system = [{"role": "system", "content": toolset.instructions}] if toolset.instructions else []
    detail, has_failed = "", False
    try:
        detail = _hold_conversation(session, toolset, [*system, {"role": "user", "content": prompt}], model)
    except ModelError as error:
        detail, has_failed = str(error), True
    return session.finish(
        detail, has_failed=has_failed, input_tokens=model.input_tokens, output_tokens=model.output_tokens
    )


def _hold_conversation(session: Session, toolset: Toolset, messages: list[Mapping[str, Any]], model: ChatModel) -> str:
    """Exchange messages until there is an answer; return why there is none."""
    idle_turns = 0
    while not session.read_answer():
        limit = session.find_limit()
        if idle_turns == _MAX_IDLE_TURNS:
            return limit or "the model neither calls a tool nor gives a valid answer"
        n_calls = len(session.read_calls())
        turn = model.complete(messages, [ANSWER_TOOL] if limit else [*toolset.definitions, ANSWER_TOOL])
        messages.append(turn.message)
        for call_id, tool, arguments in turn.calls:
            reply = _call(session, toolset, tool, arguments)
            messages.append({"role": "tool", "tool_call_id": call_id, "content": reply.text})
        if len(session.read_calls()) == n_calls:
            idle_turns += 1
            messages.append({"role": "user", "content": limit or _REMINDER})
    return ""


def _to_function(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}
