"""Checks of settings, credentials, optional packages and custom prompts."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr

from coderag.config.file_names import COMMITTED_FILE, FILE_NAMES, LOCAL_FILE
from coderag.config.settings import Settings
from coderag.config.settings_file import read_settings_files
from coderag.engine.doctor.probes import Finding, Probe
from coderag.engine.doctor.setup import Setup
from coderag.errors import ConfigurationError
from coderag.models.extras import require_extra
from coderag.models.keys import read_key
from coderag.prompting import load_prompt

SETTINGS_PROBE = "settings.files"
"""The probe that all probes of configured parts need."""


def make_settings_probes(setup: Setup) -> Iterator[Probe]:
    """Yield the probes of the settings."""
    yield Probe(SETTINGS_PROBE, partial(_check_settings_files, setup))
    yield Probe("settings.trust", partial(_check_trust, setup), needs=[SETTINGS_PROBE])
    yield Probe("settings.keys", partial(_check_keys, setup), needs=[SETTINGS_PROBE])
    yield Probe("settings.extras", partial(_check_extras, setup), needs=[SETTINGS_PROBE])
    yield Probe("settings.prompts", partial(_check_prompts, setup), needs=[SETTINGS_PROBE])


def _check_settings_files(setup: Setup) -> Finding:
    changed = setup.settings.model_dump(exclude_defaults=True)  # raises if they cannot be read
    names = [name for name in FILE_NAMES if (setup.root / name).is_file()]
    if not names:
        return Finding(
            "no settings file; some settings come from the environment"
            if changed
            else "no settings file: defaults apply"
        )
    return Finding(f"{' and '.join(names)}: all keys and values are valid")


def _check_trust(setup: Setup) -> Finding:
    """List the repository's settings that are ignored because it is not trusted."""
    settings = setup.settings
    if settings.trusted:
        return Finding("the repository is trusted")
    if not settings.restricted:
        return Finding("the repository is not trusted, and no setting in it needs trust")
    return Finding(f"ignored: {'; '.join(settings.restricted)}", "review and allow them with `coderag trust`.", "note")


def _check_keys(setup: Setup) -> Finding:
    """Check for exposed keys and passwords, beyond those that `Settings.load` rejects. No secret is printed."""
    root, settings = setup.root, setup.settings
    for section, file in (("embedding", settings.embedding.api_key_file), ("llm", settings.llm.api_key_file)):
        if file.strip():
            read_key(section, SecretStr(""), file, "", "")
    if _has_plaintext_password(root):
        message = f"chat.url in {COMMITTED_FILE} holds a password, and git keeps that file"
        hint = "Write the password as ${NAME}, and change it if the file was ever pushed."
        raise ConfigurationError(message, hint=hint)
    if not (root / LOCAL_FILE).is_file():
        return Finding("no exposed keys or passwords")
    if _is_listed_by_git(root):
        hint = f"Run `git rm --cached {LOCAL_FILE}` and add it to .gitignore; replace its keys if it was ever pushed."
        raise ConfigurationError(f"{LOCAL_FILE} is tracked by git", hint=hint)
    if _is_listed_by_git(root, "--others", "--exclude-standard"):
        return Finding(f"{LOCAL_FILE} is not ignored by git", f"Add {LOCAL_FILE} to .gitignore.", "note")
    return Finding(f"no exposed keys or passwords; {LOCAL_FILE} is ignored by git")


def _has_plaintext_password(root: Path) -> bool:
    """Return whether the committed file holds a plaintext password in ``chat.url``."""
    for file in read_settings_files(root, fill_in=False):
        if file.path.name == COMMITTED_FILE and file.has_written(("chat", "url")):
            try:
                return bool(urlsplit(file.values["chat"]["url"]).password)
            except ValueError:
                return False
    return False


def _is_listed_by_git(root: Path, *options: str) -> bool:
    """Return whether ``git ls-files`` with these options lists the local file; false without git."""
    from coderag.ingestion.files.git_repository import find_repository, run_git  # noqa: PLC0415  # not always needed

    return find_repository(root) is not None and bool(run_git(root, "ls-files", *options, "--", LOCAL_FILE))


def _check_extras(setup: Setup) -> Finding:
    requirements = list(_list_needed_extras(setup.settings))
    for module, extra, purpose in requirements:
        require_extra(module, extra, purpose)
    names = sorted({extra for _, extra, _ in requirements})
    return Finding(f"installed: {', '.join(names)}" if names else "none needed")


def _list_needed_extras(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """Yield module, extra and requiring setting for each optional package that the settings need."""
    from coderag.models.llms.providers import EXTRAS as llm_extras  # noqa: PLC0415  # takes a while
    from coderag.models.providers import EXTRAS as embedding_extras  # noqa: PLC0415  # as above

    if module := embedding_extras.get(settings.embedding.provider):
        yield module, settings.embedding.provider, f"embedding.provider '{settings.embedding.provider}'"
    if settings.embedding.tokenizer:
        yield "tokenizers", "tokenizer", "embedding.tokenizer"
    if module := llm_extras.get(settings.llm.provider):
        yield module, settings.llm.provider, f"llm.provider '{settings.llm.provider}'"
    if settings.reranker.provider == "cross-encoder":
        yield "sentence_transformers", "sentence-transformers", "reranker.provider 'cross-encoder'"
    if settings.chat.memory == "postgres":
        yield "langgraph.checkpoint.postgres", "postgres", "chat.memory 'postgres'"
    if (store := settings.graph.store) != "embedded":
        yield f"llama_index.graph_stores.{store}", store, f"graph.store '{store}'"
    if settings.telemetry.traces != "none":
        yield "opentelemetry.sdk.trace", "telemetry", f"telemetry.traces '{settings.telemetry.traces}'"


def _check_prompts(setup: Setup) -> Finding:
    prompts = setup.prompts
    names = prompts.list_overridden()
    for name in names:
        prompts.load(name)
    if unknown := prompts.list_unknown():
        message = f"{prompts.folder} has files that match no prompt and are not read: {', '.join(unknown)}"
        return Finding(message, "`coderag prompts list` lists the prompts.", "note")
    outdated = [name for name in names if prompts.load(name).version < load_prompt(name).version]
    if outdated:
        message = f"based on an earlier version of the packaged text: {', '.join(outdated)}"
        return Finding(message, "Compare with `coderag prompts show NAME --packaged`, and raise the version.", "note")
    return Finding(f"custom prompts: {', '.join(names)}" if names else "packaged prompts")
