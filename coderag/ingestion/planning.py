"""What indexing would do, before anything is done: files are listed, but hardly any is opened and nothing is written."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from coderag.ingestion import estimates
from coderag.ingestion.files.changes import Changes, find_changes
from coderag.ingestion.files.scanner import Candidate, Scan, scan
from coderag.ingestion.files.source import read_regular
from coderag.ingestion.indexer import fingerprint, fingerprint_of
from coderag.ingestion.parsing.languages import LANGUAGES, TEXT, detect_language
from coderag.ingestion.workers.worker_pool import number_of_workers
from coderag.models.providers import OLLAMA_MODEL
from coderag.schema import EmbeddingPlan, Exclusion, FileRecord, FileTotals, IndexPlan
from coderag.settings import EmbeddingSettings, Settings
from coderag.stores.index_store import IndexStore
from coderag.stores.manifest import Manifest, manifest_of
from coderag.stores.path_key import path_mask
from coderag.stores.pointer import EmbeddingInfo
from coderag.stores.snapshot import Snapshot

FOLDERS_NAMED = 10

_FIRST_BYTES = 200  # for the interpreter in a first line; a file that is indexed is looked at further
_ALMOST_ALL = 0.9  # a folder of whose bytes one folder in it has such a share says no more than that one
_LINK_INSIDE = "symbolic link to "


def plan_index(root: Path, settings: Settings, store: IndexStore, *, full: bool = False) -> IndexPlan:
    """Return what indexing would do.

    Args:
        root: Folder of the repository, as `check_root` returned it.
        settings: The repository's settings.
        store: Where the index is, or would be.
        full: Whether everything would be built anew.

    Raises:
        IndexVersionError: There is an index, but only in other formats, and `full` is not given.
        StoreError: The index cannot be read, and `full` is not given.
    """
    ingestion = settings.ingestion
    base = _Base(0, "", None) if full else _last_generation(store, settings, settings.project or root.name)
    found = scan(root, max_file_bytes=ingestion.max_file_bytes, exclude=ingestion.exclude)
    changes = find_changes(found, base.manifest)
    kept = [record for record in changes.kept if record.outcome == "indexed"]
    to_read = _totals(changes.changed)
    changed = sum(bool(changes.known_hash(candidate.path)) for candidate in changes.changed)
    processes = number_of_workers(ingestion.workers)
    return IndexPlan(
        root=str(root),
        directory=str(store.directory),
        generation=base.generation,
        rebuild=base.rebuild,
        total=_totals([*changes.changed, *kept]),
        to_read=to_read,
        new=to_read.files - changed,
        changed=changed,
        unchanged=len(kept),
        removed=len(changes.removed),
        languages=_languages(root, changes.changed, kept),
        folders=_largest_folders([*changes.changed, *kept]),
        excluded=_exclusions(found, changes),
        failed=[(record.path, record.reason) for record in found.skipped if record.outcome == "failed"],
        processes=max(processes, 1),
        chunks=estimates.chunks(to_read.bytes, sum(record.chunks for record in kept)),
        seconds=estimates.seconds(len(found.candidates), to_read.bytes, processes),
        memory=estimates.memory(to_read.bytes, processes),
        embedding=_embedding_plan(settings.embedding, to_read),
    )


class _Base(NamedTuple):
    """What the run would start from: the files of the last generation, or none and the reason for that."""

    generation: int
    rebuild: str
    manifest: Manifest | None


def _last_generation(store: IndexStore, settings: Settings, repository: str) -> _Base:
    pointer = store.pointer()
    if pointer is None:
        return _Base(0, "", None)
    if _is_other_model(pointer.embedding, settings.embedding):
        reason = f"the index has vectors of {pointer.embedding.model}; 'coderag index --full' is needed"
        return _Base(pointer.generation, reason, None)
    remote = settings.embedding.provider != "embedded"
    mask = path_mask(settings.privacy, store.directory, make_key=False) if remote else None
    if fingerprint_of(pointer) != fingerprint(settings, repository, mask):
        return _Base(pointer.generation, "files are cut into chunks in another way than for the last generation", None)
    return _Base(pointer.generation, "", manifest_of(Snapshot(store.directory, pointer)))


def _is_other_model(recorded: EmbeddingInfo, settings: EmbeddingSettings) -> bool:
    """Whether an index has vectors of another model than the settings name, told without asking a server."""
    if recorded.provider != settings.provider:
        return True
    return settings.provider != "embedded" and recorded.model != _model_of(settings)


def _model_of(settings: EmbeddingSettings) -> str:
    return settings.model or (OLLAMA_MODEL if settings.provider == "ollama" else "")


def _totals(files: Iterable[Candidate | FileRecord]) -> FileTotals:
    sizes = [file.size for file in files]
    return FileTotals(len(sizes), sum(sizes))


def _languages(root: Path, candidates: Iterable[Candidate], kept: Iterable[FileRecord]) -> Mapping[str, FileTotals]:
    sizes: defaultdict[str, list[int]] = defaultdict(list)
    for candidate in candidates:
        sizes[_language_of(root, candidate.path)].append(candidate.size)
    for record in kept:
        sizes[record.language].append(record.size)
    ordered = sorted(sizes.items(), key=lambda item: (-sum(item[1]), item[0]))
    return {language: FileTotals(len(each), sum(each)) for language, each in ordered}


def _language_of(root: Path, path: str) -> str:
    """Return a file's language by its name; only if that says nothing, look at its first line."""
    language = detect_language(path)
    if language != TEXT or path.lower().endswith(LANGUAGES[TEXT].extensions):
        return language
    try:
        data, _ = read_regular(root / path, _FIRST_BYTES)
    except OSError:  # it is told when it is indexed
        return TEXT
    return detect_language(path, data.decode("utf-8", "replace").partition("\n")[0])


def _largest_folders(files: Iterable[Candidate | FileRecord]) -> Mapping[str, FileTotals]:
    """Return the folders with the most bytes, without those of which one folder in them says as much."""
    files_in: Counter[str] = Counter()
    bytes_in: Counter[str] = Counter()
    for file in files:
        folder = file.path.rpartition("/")[0]
        while folder:
            files_in[folder] += 1
            bytes_in[folder] += file.size
            folder = folder.rpartition("/")[0]
    largest_inside: dict[str, int] = {}
    for folder, size in bytes_in.items():
        above = folder.rpartition("/")[0]
        largest_inside[above] = max(size, largest_inside.get(above, 0))
    telling = [one for one, size in bytes_in.items() if size > 0 and largest_inside.get(one, 0) < _ALMOST_ALL * size]
    telling.sort(key=lambda folder: (-bytes_in[folder], folder))
    return {f"{folder}/": FileTotals(files_in[folder], bytes_in[folder]) for folder in telling[:FOLDERS_NAMED]}


def _exclusions(found: Scan, changes: Changes) -> list[Exclusion]:
    left_out = [*found.ignored, *((record.path, _sort_of(record.reason)) for record in found.skipped
                                  if record.outcome == "skipped")]  # fmt: skip
    left_out += [(record.path, record.reason) for record in changes.kept if record.outcome == "skipped"]
    paths: defaultdict[str, list[str]] = defaultdict(list)
    for path, reason in left_out:
        paths[reason].append(path)
    exclusions = []
    for reason, each in paths.items():
        folders = sum(path.endswith("/") for path in each)
        exclusions.append(Exclusion(reason, len(each) - folders, folders, min(each)))
    return sorted(exclusions, key=lambda one: (-one.files - one.folders, one.reason))


def _sort_of(reason: str) -> str:
    """Return a reason without what is different for each file."""
    return "symbolic link inside the repository" if reason.startswith(_LINK_INSIDE) else reason


def _embedding_plan(settings: EmbeddingSettings, to_read: FileTotals) -> EmbeddingPlan | None:
    if settings.provider == "embedded":
        return None
    tokens = estimates.embedded_tokens(to_read.files, to_read.bytes)
    price = settings.price_per_million_tokens
    return EmbeddingPlan(
        provider=settings.provider,
        model=_model_of(settings),
        texts=estimates.embedded_texts(to_read.files, to_read.bytes),
        tokens=tokens,
        price_per_million_tokens=price,
        cost=None if price is None else estimates.cost(tokens, price),
    )
