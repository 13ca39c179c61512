"""Folders of embedding models: which are ones, what they say of themselves, and what tells one from another."""

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal

from coderag.errors import ConfigurationError
from coderag.models.prefixes import Prefixes, find_prefixes

LocalProvider = Literal["sentence-transformers", "model2vec", "cross-encoder"]

_FILE_LAYOUTS: dict[LocalProvider, tuple[tuple[str, ...], ...]] = {
    "sentence-transformers": (("modules.json",),),
    "model2vec": (
        ("config.json", "model.safetensors", "tokenizer.json"),
        ("config_sentence_transformers.json", "model.safetensors", "tokenizer.json"),
        (
            "config_sentence_transformers.json",
            "0_StaticEmbedding/model.safetensors",
            "0_StaticEmbedding/tokenizer.json",
        ),
    ),
    "cross-encoder": (("config.json", "model.safetensors"), ("config.json", "model.safetensors.index.json")),
}
"""For each provider the files of which a folder has one set."""

_PROMPTS_FILE = "config_sentence_transformers.json"
_TEXT_PROMPTS = ("document", "passage", "corpus", "text")  # the names in use, as sentence-transformers tries them
_MODEL_FILES = {".json", ".txt", ".model", ".safetensors", ".bin"}
_SAMPLES, _SAMPLE_BYTES = 64, 1 << 14  # a megabyte of a file; training changes weights everywhere


def resolve_model_folder(provider: LocalProvider, model: str, setting: str = "embedding.model") -> Path:
    """Return the folder that a setting names, checked.

    Raises:
        ConfigurationError: It is not set, no full path, no folder, or not one of such a model.
    """
    if not model:
        message = f"{setting} is not set, and the provider '{provider}' reads the folder of a model"
        raise ConfigurationError(message, hint="Set it to the folder's full path.")
    folder = Path(model).expanduser()
    if not folder.is_absolute():
        message = f"{setting} is {model}, and the provider '{provider}' needs the full path of a folder"
        hint = "Nothing is downloaded: fetch the model yourself and give its folder, which may begin with ~ or ${HOME}."
        raise ConfigurationError(message, hint=hint)
    if not folder.is_dir():
        message = f"{setting} is {folder}, which is no folder"
        raise ConfigurationError(message, hint="Nothing is downloaded: fetch the model yourself and give its folder.")
    layouts = _FILE_LAYOUTS[provider]
    if not any(all((folder / name).is_file() for name in names) for names in layouts):
        message = f"{setting} is {folder}, which is no folder of a {provider} model"
        raise ConfigurationError(message, hint=f"Such a folder has {', '.join(layouts[0])}.")
    if provider == "sentence-transformers":
        _reject_foreign_code(folder / "modules.json")
    return folder


def _reject_foreign_code(path: Path) -> None:
    """Refuse a model whose parts are other classes than sentence-transformers' own: a folder may not choose what runs."""
    try:
        types = [str(module["type"]) for module in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}", hint="Fetch the model again.") from error
    if foreign_types := [type_name for type_name in types if not type_name.startswith("sentence_transformers.")]:
        message = (
            f"{path} names code that is not part of sentence-transformers and is not run: {', '.join(foreign_types)}"
        )
        raise ConfigurationError(
            message, hint="Serve such a model with vLLM or TEI, and set embedding.provider to openai."
        )


def get_model_title(folder: Path) -> str:
    """Return what a folder's model is called, also in the cache of the Hugging Face hub."""
    if folder.parent.name == "snapshots":  # models--owner--name/snapshots/revision
        return folder.parent.parent.name.rpartition("--")[2]
    return folder.name


def read_folder_prefixes(folder: Path) -> Prefixes:
    """Return what a sentence-transformers folder says is put before questions and texts, else what is known of its name.

    Raises:
        ConfigurationError: The file that says so cannot be read.
    """
    path = folder / _PROMPTS_FILE
    if not path.is_file():
        return find_prefixes(get_model_title(folder))
    try:
        prompts = json.loads(path.read_text(encoding="utf-8")).get("prompts") or {}
        query = str(prompts.get("query") or "")
        text = next((str(prompts[name]) for name in _TEXT_PROMPTS if prompts.get(name)), "")
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}", hint="Fetch the model again.") from error
    return Prefixes(query, text) if query or text else find_prefixes(get_model_title(folder))


def hash_model_files(folder: Path) -> str:
    """Return a hash of a model's files: small ones whole, of large ones the size and samples from all over.

    It is the same wherever the folder lies.
    """
    digest = sha256()
    for path in sorted(_iterate_model_files(folder)):
        size = path.stat().st_size
        digest.update(f"{path.relative_to(folder).as_posix()}\0{size}\0".encode())
        with path.open("rb") as file:
            for start in _compute_sample_starts(size):
                file.seek(start)
                digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()


def _iterate_model_files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        relative_parts = path.relative_to(folder).parts
        if path.suffix in _MODEL_FILES and not any(part.startswith(".") for part in relative_parts) and path.is_file():
            yield path


def _compute_sample_starts(size: int) -> Sequence[int]:
    if size <= _SAMPLES * _SAMPLE_BYTES:
        return range(0, size, _SAMPLE_BYTES)
    return [i * (size - _SAMPLE_BYTES) // (_SAMPLES - 1) for i in range(_SAMPLES)]
