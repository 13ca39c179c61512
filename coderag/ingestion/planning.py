"""What indexing would do, before anything is done: files are listed, but hardly any is opened and nothing is written."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from coderag.config.sections import EmbeddingSettings
from coderag.config.settings import Settings
from coderag.errors import ConfigurationError, ModelError
from coderag.ingestion import estimates
from coderag.ingestion.cache_directory import cache_directory
from coderag.ingestion.files.candidates import Candidate
from coderag.ingestion.files.changes import Changes, find_changes
from coderag.ingestion.files.scanner import Scan, scan
from coderag.ingestion.files.source import read_regular
from coderag.ingestion.parsing.languages import LANGUAGES, TEXT, detect_language
from coderag.ingestion.root_hash import fingerprint, fingerprint_of
from coderag.ingestion.workers.worker_pool import number_of_workers
from coderag.models.dense import ProviderDense
from coderag.models.providers import configured_embedding, make_dense_model, model_name
from coderag.models.redacting import without_secrets
from coderag.schema.chunks import FileRecord
from coderag.schema.index_plan import EmbeddingPlan, Exclusion, FileTotals, IndexPlan
from coderag.stores.content_cache import FILE_NAME, ContentCache
from coderag.stores.index_store import IndexStore
from coderag.stores.manifest import Manifest, load_manifest
from coderag.stores.path_key import load_path_mask
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
    base = _Base() if full else _last_generation(store, settings, settings.project or root.name)
    found = scan(root, max_file_bytes=ingestion.max_file_bytes, exclude=ingestion.exclude)
    changes = find_changes(found, base.manifest)
    kept = [record for record in changes.kept if record.outcome == "indexed"]
    embedded_again = kept if base.reembed else []
    cached = _count_cached_texts(root, settings, store, embedded_again)
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
        seconds=estimates.seconds(len(found.candidates), to_read.bytes, processes, _totals(embedded_again).bytes),
        memory=estimates.memory(to_read.bytes, processes),
        embedding=_embedding_plan(settings.embedding, to_read, embedded_again, cached),
        reembed=base.reembed,
    )


class _Base(NamedTuple):
    """What the run would start from: the files of the last generation, or none and the reason for that.

    Attributes:
        reembed: Why its vectors cannot stay; empty if they can.
    """

    generation: int = 0
    rebuild: str = ""
    reembed: str = ""
    manifest: Manifest | None = None


def _last_generation(store: IndexStore, settings: Settings, repository: str) -> _Base:
    pointer = store.read_pointer()
    if pointer is None:
        return _Base()
    configured = configured_embedding(settings.embedding, pointer.embedding)
    is_other = configured != pointer.embedding.name
    reembed = f"the embedding model changes from {pointer.embedding} to {configured}" if is_other else ""
    remote = settings.embedding.provider != "embedded"
    mask = load_path_mask(settings.privacy, store.directory, make_key=False) if remote else None
    if fingerprint_of(pointer) != fingerprint(settings, repository, mask):
        reason = "files are cut into chunks in another way than for the last generation"
        return _Base(pointer.generation, reason, reembed)
    if is_other and settings.ingestion.transformations:
        return _Base(pointer.generation, reembed)
    snapshot = Snapshot(store.directory, pointer)
    snapshot.check_files()
    return _Base(pointer.generation, "", reembed, load_manifest(snapshot))


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


def _count_cached_texts(root: Path, settings: Settings, store: IndexStore, again: Sequence[FileRecord]) -> int:
    """Return of how many texts of files that are embedded again the content cache has the vectors."""
    directory, limit = cache_directory(root, store.directory), settings.storage.cache_bytes
    if not (again and limit and (directory / FILE_NAME).exists()) or settings.embedding.provider == "embedded":
        return 0
    from coderag.ingestion.reembedding import stored_batches  # noqa: PLC0415  # only a switch needs it

    try:
        model = make_dense_model(settings.embedding)
        assert isinstance(model, ProviderDense)
        model.mask = load_path_mask(settings.privacy, store.directory, make_key=False)
        if settings.privacy.redact_secrets:
            model.send_through(without_secrets)
        snapshot = store.open()
        with ContentCache(directory, limit_bytes=limit) as model.cache:
            batches = stored_batches(snapshot, model.mask, snapshot.read_terms(), {record.path for record in again})
            return sum(model.count_kept(batch) for _, batch in batches)
    except (ConfigurationError, ModelError):
        return 0  # that the model cannot be used is for the run to tell


def _embedding_plan(
    settings: EmbeddingSettings, to_read: FileTotals, again: Sequence[FileRecord], cached: int
) -> EmbeddingPlan | None:
    """Return what a model on a server would be sent of files that are read, and of files that are embedded again."""
    if settings.provider == "embedded":
        return None
    known, n_known = _totals(again), sum(record.chunks for record in again) + len(again)
    share = 1 - cached / n_known if n_known else 0
    tokens = estimates.embedded_tokens(
        to_read.files + round(share * known.files), to_read.bytes + round(share * known.bytes)
    )
    price = settings.price_per_million_tokens
    return EmbeddingPlan(
        provider=settings.provider,
        model=model_name(settings),
        texts=estimates.embedded_texts(to_read.files, to_read.bytes, n_known - cached),
        tokens=tokens,
        price_per_million_tokens=price,
        cost=None if price is None else estimates.cost(tokens, price),
        cached=cached,
    )
