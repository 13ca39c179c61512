"""Plan of an indexing run: files are listed, hardly any is opened, nothing is written."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from coderag.config.sections import EmbeddingSettings
from coderag.config.settings import Settings
from coderag.errors import ConfigurationError, IndexVersionError, ModelError, StoreError
from coderag.ingestion import estimates
from coderag.ingestion.cache_directory import resolve_cache_directory
from coderag.ingestion.files.candidates import FileCandidate
from coderag.ingestion.files.changes import Changes, find_changes
from coderag.ingestion.files.regular_files import read_regular_file
from coderag.ingestion.files.scanner import Scan, scan
from coderag.ingestion.parsing.languages import LANGUAGES, PLAIN_TEXT, detect_language
from coderag.ingestion.root_hash import compute_settings_fingerprint, get_settings_fingerprint
from coderag.ingestion.workers.worker_pool import count_workers
from coderag.models.dense import ProviderDense
from coderag.models.providers import describe_configured_embedding, get_model_name, make_dense_model
from coderag.models.redaction.redacting_models import redact_remote
from coderag.schema.chunks import FileRecord
from coderag.schema.index_plan import EmbeddingPlan, Exclusion, FileTotals, IndexPlan
from coderag.stores.content_cache import FILE_NAME, ContentCache
from coderag.stores.index_store import IndexStore
from coderag.stores.manifest import Manifest, load_manifest
from coderag.stores.path_key import load_path_mask
from coderag.stores.snapshot import Snapshot

MAX_FOLDERS = 10

_FIRST_LINE_BYTES = 200  # for a shebang line; indexing reads more
_DOMINANT_SHARE = 0.9  # a folder is redundant if one subfolder has this share of its bytes
_INTERNAL_LINK_PREFIX = "symbolic link to "


def plan_index(root: Path, settings: Settings, store: IndexStore, *, full: bool = False) -> IndexPlan:
    """Compute the plan of an indexing run.

    Args:
        root: Folder of the repository, as `check_root` returned it.
        settings: The repository's settings.
        store: Where the index is, or would be.
        full: Whether the whole index would be rebuilt.

    Raises:
        IndexVersionError: The index has another format version, and `full` is not given.
        StoreError: The index cannot be read, and `full` is not given.
    """
    ingestion = settings.ingestion
    base = _PlanBase() if full else _load_base(store, settings, settings.project or root.name)
    scan_result = scan(root, max_file_bytes=ingestion.max_file_bytes, exclude=ingestion.exclude)
    changes = find_changes(scan_result, base.manifest)
    unchanged = [record for record in changes.unchanged if record.outcome == "indexed"]
    reembedded = unchanged if base.reembed else []
    cached = _count_cached_texts(root, settings, store, reembedded)
    to_read = _sum_sizes(changes.changed)
    changed = sum(changes.get_indexed(candidate.path) is not None for candidate in changes.changed)
    processes = count_workers(ingestion.workers)
    return IndexPlan(
        root=str(root),
        directory=str(store.directory),
        generation=base.generation,
        rebuild=base.rebuild,
        total=_sum_sizes([*changes.changed, *unchanged]),
        to_read=to_read,
        new=to_read.files - changed,
        changed=changed,
        unchanged=len(unchanged),
        removed=len(changes.removed),
        languages=_sum_languages(root, changes.changed, unchanged),
        folders=_find_largest_folders([*changes.changed, *unchanged]),
        excluded=_list_exclusions(scan_result, changes),
        failed=[(record.path, record.reason) for record in scan_result.skipped if record.outcome == "failed"],
        processes=max(processes, 1),
        chunks=estimates.estimate_chunks(to_read.bytes, sum(record.chunks for record in unchanged)),
        seconds=estimates.estimate_seconds(
            len(scan_result.candidates), to_read.bytes, processes, _sum_sizes(reembedded).bytes
        ),
        memory=estimates.estimate_memory(to_read.bytes, processes),
        embedding=_plan_embedding(settings.embedding, to_read, reembedded, cached),
        reembed=base.reembed,
    )


class _PlanBase(NamedTuple):
    """Starting point of a run: the files of the last generation, or the reason to rebuild.

    Attributes:
        reembed: Why its vectors have to be replaced; empty if they stay.
    """

    generation: int = 0
    rebuild: str = ""
    reembed: str = ""
    manifest: Manifest | None = None


def _load_base(store: IndexStore, settings: Settings, repository: str) -> _PlanBase:
    try:
        pointer = store.read_pointer()
        if pointer is not None:
            Snapshot(store.directory, pointer).check_files()
    except IndexVersionError:
        raise
    except StoreError as error:
        return _PlanBase(rebuild=str(error))
    if pointer is None:
        return _PlanBase()
    configured = describe_configured_embedding(settings.embedding, pointer.embedding)
    is_model_changed = configured != pointer.embedding.name
    reembed = f"the embedding model changes from {pointer.embedding} to {configured}" if is_model_changed else ""
    remote = settings.embedding.provider != "embedded"
    mask = load_path_mask(settings.privacy, store.directory, make_key=False) if remote else None
    if get_settings_fingerprint(pointer) != compute_settings_fingerprint(settings, repository, mask):
        reason = "files are cut into chunks in another way than for the last generation"
        return _PlanBase(pointer.generation, reason, reembed)
    if is_model_changed and settings.ingestion.transformations:
        return _PlanBase(pointer.generation, reembed)
    return _PlanBase(pointer.generation, "", reembed, load_manifest(Snapshot(store.directory, pointer)))


def _sum_sizes(files: Iterable[FileCandidate | FileRecord]) -> FileTotals:
    sizes = [file.size for file in files]
    return FileTotals(len(sizes), sum(sizes))


def _sum_languages(
    root: Path, candidates: Iterable[FileCandidate], unchanged: Iterable[FileRecord]
) -> Mapping[str, FileTotals]:
    sizes: defaultdict[str, list[int]] = defaultdict(list)
    for candidate in candidates:
        sizes[_find_language(root, candidate.path)].append(candidate.size)
    for record in unchanged:
        sizes[record.language].append(record.size)
    sorted_sizes = sorted(sizes.items(), key=lambda item: (-sum(item[1]), item[0]))
    return {language: FileTotals(len(file_sizes), sum(file_sizes)) for language, file_sizes in sorted_sizes}


def _find_language(root: Path, path: str) -> str:
    """Detect a file's language by its name, and by its first line only if the name is not enough."""
    language = detect_language(path)
    if language != PLAIN_TEXT or path.lower().endswith(LANGUAGES[PLAIN_TEXT].extensions):
        return language
    try:
        data, _ = read_regular_file(root / path, _FIRST_LINE_BYTES)
    except OSError:  # indexing reports it
        return PLAIN_TEXT
    return detect_language(path, data.decode("utf-8", "replace").partition("\n")[0])


def _find_largest_folders(files: Iterable[FileCandidate | FileRecord]) -> Mapping[str, FileTotals]:
    """Find the folders with the most bytes, without those that one subfolder dominates."""
    files_in: Counter[str] = Counter()
    bytes_in: Counter[str] = Counter()
    for file in files:
        folder = file.path.rpartition("/")[0]
        while folder:
            files_in[folder] += 1
            bytes_in[folder] += file.size
            folder = folder.rpartition("/")[0]
    largest_children: dict[str, int] = {}
    for folder, size in bytes_in.items():
        parent = folder.rpartition("/")[0]
        largest_children[parent] = max(size, largest_children.get(parent, 0))
    informative = [
        candidate
        for candidate, size in bytes_in.items()
        if size > 0 and largest_children.get(candidate, 0) < _DOMINANT_SHARE * size
    ]
    informative.sort(key=lambda folder: (-bytes_in[folder], folder))
    return {f"{folder}/": FileTotals(files_in[folder], bytes_in[folder]) for folder in informative[:MAX_FOLDERS]}


def _list_exclusions(scan_result: Scan, changes: Changes) -> list[Exclusion]:
    excluded = [*scan_result.ignored, *((record.path, _normalize_reason(record.reason)) for record in scan_result.skipped
                                  if record.outcome == "skipped")]  # fmt: skip
    excluded += [(record.path, record.reason) for record in changes.unchanged if record.outcome == "skipped"]
    paths: defaultdict[str, list[str]] = defaultdict(list)
    for path, reason in excluded:
        paths[reason].append(path)
    exclusions = []
    for reason, reason_paths in paths.items():
        folders = sum(path.endswith("/") for path in reason_paths)
        exclusions.append(Exclusion(reason, len(reason_paths) - folders, folders, min(reason_paths)))
    return sorted(exclusions, key=lambda exclusion: (-exclusion.files - exclusion.folders, exclusion.reason))


def _normalize_reason(reason: str) -> str:
    """Normalize a reason: drop the part that differs for each file."""
    return "symbolic link inside the repository" if reason.startswith(_INTERNAL_LINK_PREFIX) else reason


def _count_cached_texts(root: Path, settings: Settings, store: IndexStore, reembedded: Sequence[FileRecord]) -> int:
    """Count the texts of re-embedded files with vectors in the content cache."""
    directory, limit = resolve_cache_directory(root, store.directory), settings.storage.cache_bytes
    if not (reembedded and limit and (directory / FILE_NAME).exists()) or settings.embedding.provider == "embedded":
        return 0
    from coderag.ingestion.reembedding import read_stored_batches  # noqa: PLC0415  # only a switch needs it

    try:
        model = make_dense_model(settings.embedding)
        assert isinstance(model, ProviderDense)
        model.mask = load_path_mask(settings.privacy, store.directory, make_key=False)
        if settings.privacy.redact_secrets:
            model.wrap_model(redact_remote)
        snapshot = store.open()
        with ContentCache(directory, limit_bytes=limit) as model.cache:
            batches = read_stored_batches(
                snapshot, model.mask, snapshot.read_terms(), {record.path for record in reembedded}
            )
            return sum(model.count_cached(batch) for _, batch in batches)
    except (ConfigurationError, ModelError):
        return 0  # the run itself reports an unusable model


def _plan_embedding(
    settings: EmbeddingSettings, to_read: FileTotals, reembedded: Sequence[FileRecord], cached: int
) -> EmbeddingPlan | None:
    """Plan the requests to a remote model for files to read and files to re-embed."""
    if settings.provider == "embedded":
        return None
    reembedded_totals, n_reembedded_texts = (
        _sum_sizes(reembedded),
        sum(record.chunks for record in reembedded) + len(reembedded),
    )
    share = 1 - cached / n_reembedded_texts if n_reembedded_texts else 0
    tokens = estimates.estimate_embedded_tokens(
        to_read.files + round(share * reembedded_totals.files), to_read.bytes + round(share * reembedded_totals.bytes)
    )
    price = settings.price_per_million_tokens
    return EmbeddingPlan(
        provider=settings.provider,
        model=get_model_name(settings),
        texts=estimates.estimate_embedded_texts(to_read.files, to_read.bytes, n_reembedded_texts - cached),
        tokens=tokens,
        price_per_million_tokens=price,
        cost=None if price is None else estimates.estimate_cost(tokens, price),
        cached=cached,
    )
