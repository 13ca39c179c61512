"""Folders of local models: validation, prompts and content hash."""

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
"""File sets by provider; a folder has to have one of them."""

_PROMPTS_FILE = "config_sentence_transformers.json"
_TEXT_PROMPTS = ("document", "passage", "corpus", "text")  # in the order in which sentence-transformers tries them
_MODEL_FILES = {".json", ".txt", ".model", ".safetensors", ".bin"}
_SAMPLES, _SAMPLE_BYTES = 64, 1 << 14  # a megabyte per file; training changes weights everywhere


def resolve_model_folder(provider: LocalProvider, model: str, setting: str = "embedding.model") -> Path:
    """Resolve and validate the model folder that a setting names.

    Raises:
        ConfigurationError: The setting is empty, not an absolute path, not a folder, or not a folder of such a model.
    """
    if not model:
        message = f"{setting} is not set, but the provider '{provider}' needs the folder of a model"
        raise ConfigurationError(message, hint="Set it to the folder's full path.")
    folder = Path(model).expanduser()
    if not folder.is_absolute():
        message = f"{setting} is {model}, but the provider '{provider}' needs the full path of a folder"
        hint = "CodeRAG does not download models: download it and set its folder, which may begin with ~ or ${HOME}."
        raise ConfigurationError(message, hint=hint)
    if not folder.is_dir():
        message = f"{setting} is {folder}, which is not a folder"
        raise ConfigurationError(message, hint="CodeRAG does not download models: download it and set its folder.")
    layouts = _FILE_LAYOUTS[provider]
    if not any(all((folder / name).is_file() for name in names) for names in layouts):
        message = f"{setting} is {folder}, which is not the folder of a {provider} model"
        raise ConfigurationError(message, hint=f"Such a folder has {', '.join(layouts[0])}.")
    if provider == "sentence-transformers":
        _reject_foreign_code(folder / "modules.json")
    return folder


def _reject_foreign_code(path: Path) -> None:
    """Reject a model with classes outside of sentence-transformers: a folder must not choose the code to run."""
    try:
        types = [str(module["type"]) for module in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}", hint="Download the model again.") from error
    if foreign_types := [type_name for type_name in types if not type_name.startswith("sentence_transformers.")]:
        message = (
            f"{path} names code that is not part of sentence-transformers and is not run: {', '.join(foreign_types)}"
        )
        raise ConfigurationError(
            message, hint="Serve such a model with vLLM or TEI, and set embedding.provider to openai."
        )


def get_model_title(folder: Path) -> str:
    """Return the name of a folder's model, also within the cache of the Hugging Face hub."""
    if folder.parent.name == "snapshots":  # models--owner--name/snapshots/revision
        return folder.parent.parent.name.rpartition("--")[2]
    return folder.name


def read_folder_prefixes(folder: Path) -> Prefixes:
    """Read the prefixes of a sentence-transformers folder; by default those of the model's name.

    Raises:
        ConfigurationError: The prompts file cannot be read.
    """
    path = folder / _PROMPTS_FILE
    if not path.is_file():
        return find_prefixes(get_model_title(folder))
    try:
        prompts = json.loads(path.read_text(encoding="utf-8")).get("prompts") or {}
        query = str(prompts.get("query") or "")
        text = next((str(prompts[name]) for name in _TEXT_PROMPTS if prompts.get(name)), "")
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}", hint="Download the model again.") from error
    return Prefixes(query, text) if query or text else find_prefixes(get_model_title(folder))


def hash_model_files(folder: Path) -> str:
    """Hash a model's files: small ones completely, large ones by size and evenly spread samples.

    The hash does not depend on the folder's location.
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
