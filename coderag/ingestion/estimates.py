"""How long indexing takes and how much it makes, from figures that were measured.

The one place for them: measure again when chunking or the division of work changes. Each is a pair of bounds, between
which almost all of some twenty public repositories are (0.3 to 4 MB of text each); times and memory were checked against 21
of them together (19.5 MB) and a million lines. Times are processor time of one of two virtual cores, so they hold where
nothing else runs; memory is the most that was resident.
"""

from coderag.schema.index_plan import Estimate

_CHUNKS_PER_KB = 1.1, 2.1  # of text, by the default settings
_TOKENS_PER_BYTE = 0.30, 0.46  # of text, with what is said of each chunk; cl100k_base
_TOKENS_PER_PATH = 3.0, 9.0
_SECONDS_PER_FILE = 8e-6, 40e-6  # to list it
_STARTUP_S = 0.5, 1.5  # to load what is needed, and to write a generation however small
_PARSE_S_PER_MB = 0.6, 1.5  # in one process: read, parse, summarise, count
_STORE_S_PER_MB = 0.05, 0.15  # in the main process: embed and write
_MAIN_MEMORY_BYTES = 200e6, 300e6  # bytes
_WORKER_MEMORY_BYTES = 100e6, 350e6
_MEMORY_PER_TEXT_BYTE = 5.0, 20.0  # in the main process, for a byte of text


def estimate_chunks(size: int, existing: int = 0) -> Estimate:
    """Return how many chunks some bytes of files make, in addition to some that are known."""
    return _sum_bounds((_CHUNKS_PER_KB, size / 1e3), ((existing, existing), 1))


def estimate_embedded_texts(files: int, size: int, existing: int = 0) -> Estimate:
    """Return how many texts an embedding model gets for some files, in addition to some: their chunks and their paths."""
    return estimate_chunks(size, files + existing)


def estimate_embedded_tokens(files: int, size: int) -> Estimate:
    """Return how many tokens those texts have."""
    return _sum_bounds((_TOKENS_PER_BYTE, size), (_TOKENS_PER_PATH, files))


def estimate_cost(tokens: Estimate, price_per_million: float) -> Estimate:
    """Return what some tokens cost."""
    return Estimate(tokens.low * price_per_million / 1e6, tokens.high * price_per_million / 1e6)


def estimate_seconds(listed_files: int, size: int, processes: int, reembedded_bytes: int = 0) -> Estimate:
    """Return how long a run takes that lists some files and reads some bytes of them.

    Args:
        listed: Number of files that are looked at.
        size: Bytes of the files that are read.
        processes: That parse; 0 if the main process does.
        embedded_again: Bytes of the files whose chunks get new vectors without being read.
    """
    stored_bytes = size + reembedded_bytes
    work_terms = (_STARTUP_S, 1 if stored_bytes else 0), (_PARSE_S_PER_MB, size / 1e6 / max(processes, 1))
    return _sum_bounds((_SECONDS_PER_FILE, listed_files), *work_terms, (_STORE_S_PER_MB, stored_bytes / 1e6))


def estimate_memory(size: int, processes: int) -> Estimate:
    """Return how many bytes of memory all processes together take at most. Arguments as for `seconds`."""
    return _sum_bounds((_MAIN_MEMORY_BYTES, 1), (_WORKER_MEMORY_BYTES, processes), (_MEMORY_PER_TEXT_BYTE, size))


def _sum_bounds(*terms: tuple[tuple[float, float], float]) -> Estimate:
    """Return the sum of some figures, each times an amount."""
    low = sum(bounds[0] * amount for bounds, amount in terms)
    high = sum(bounds[1] * amount for bounds, amount in terms)
    return Estimate(low, high)
