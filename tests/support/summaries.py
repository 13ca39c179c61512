"""A language model that writes a sentence on each piece that it is shown, and a small repository to summarise."""

import re
from collections.abc import Callable
from pathlib import Path

from llama_index.core.schema import TransformComponent

from coderag.models.llms.scripted import ScriptedModel
from coderag.schema.prompts import ModelPrompt

PIECE = re.compile(r"(?m)^(\d+)\. (.*)$")

FILES = {
    "auth/session.py": """def login(user, password):
    if not verify(user, password):
        raise PermissionError(user)
    return Session(user)


def verify(user, password):
    return lookup(user) == hash_of(password)


class Session:
    def __init__(self, user):
        self.user, self.expires = user, 3600

    def close(self):
        self.expires = 0
        return self
""",
    "auth/tokens.py": """import secrets


def make_token(length):
    return secrets.token_hex(length)
""",
    "shop/cart.py": """def total(cart):
    return sum(item.price for item in cart)


def checkout(cart, login):
    return total(cart) if login else None
""",
    "tests/test_cart.py": """def test_total_of_an_empty_cart_is_zero():
    assert total([]) == 0
""",
}


def pieces_of(prompt: ModelPrompt) -> list[tuple[str, str]]:
    """Return the number and the title of each piece of a prompt."""
    return PIECE.findall(prompt.user)


def sentence_on(title: str) -> str:
    """Return what the model says of a piece: no word of it is in the code but those of the title."""
    return f"Marvellous {' '.join(re.findall(r'[A-Za-z]+', title))} gadget."


def write_sentences(prompt: ModelPrompt) -> str:
    """Reply as the prompt demands."""
    return "\n".join(f"{number}. {sentence_on(title)}" for number, title in pieces_of(prompt))


def writing_model(reply: Callable[[ModelPrompt], str] = write_sentences) -> ScriptedModel:
    """Return a model that replies to every prompt."""
    return ScriptedModel(reply)


def write_files(root: Path, files: dict[str, str] = FILES) -> Path:
    """Write a repository and return its folder. Its chunks are small, so that every function is one."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    (root / ".coderag.yaml").write_text("ingestion: {chunk: {min_tokens: 0}, workers: 0}\n", encoding="utf-8")
    (root / "limits.yaml").write_text("checkout: {basket: {max_items: 0}, retries: 0}\n", encoding="utf-8")
    return root


class Nothing(TransformComponent):
    """A step of the pipeline that changes nothing."""

    def __call__(self, nodes, **kwargs):  # type: ignore[no-untyped-def]
        return nodes
