"""Estimates of the duration and size of an indexing run, from measured figures.

Measure again when chunking or the division of work changes. Each figure is a pair of bounds that holds for almost all of
some twenty public repositories (0.3 to 4 MB of text each). Times and memory were checked against 21 of them together (19.5
MB) and against a million lines. Times are CPU time of one of two virtual cores on an idle machine. Memory is peak resident
memory.
"""

from coderag.schema.index_plan import Estimate

_CHUNKS_PER_KB = 1.1, 2.1  # of text, with default settings
_TOKENS_PER_BYTE = 0.30, 0.46  # of text, metadata included; cl100k_base
_TOKENS_PER_PATH = 3.0, 9.0
_SECONDS_PER_FILE = 8e-6, 40e-6  # to list it
_STARTUP_S = 0.5, 1.5  # imports, and the smallest commit
_PARSE_S_PER_MB = 0.6, 1.5  # in one process: read, parse, summarize, count
_STORE_S_PER_MB = 0.05, 0.15  # in the main process: embed and write
_MAIN_MEMORY_BYTES = 200e6, 300e6  # bytes
_WORKER_MEMORY_BYTES = 100e6, 350e6
_MEMORY_PER_TEXT_BYTE = 5.0, 20.0  # in the main process, per byte of text


def estimate_chunks(size: int, existing: int = 0) -> Estimate:
    """Estimate the number of chunks of some bytes of files, in addition to existing chunks."""
    return _sum_bounds((_CHUNKS_PER_KB, size / 1e3), ((existing, existing), 1))


def estimate_embedded_texts(files: int, size: int, existing: int = 0) -> Estimate:
    """Estimate the number of texts for an embedding model: chunks and paths, in addition to existing texts."""
    return estimate_chunks(size, files + existing)


def estimate_embedded_tokens(files: int, size: int) -> Estimate:
    """Estimate the number of tokens of those texts."""
    return _sum_bounds((_TOKENS_PER_BYTE, size), (_TOKENS_PER_PATH, files))


def estimate_cost(tokens: Estimate, price_per_million: float) -> Estimate:
    """Compute the cost of some tokens."""
    return Estimate(tokens.low * price_per_million / 1e6, tokens.high * price_per_million / 1e6)


def estimate_seconds(listed_files: int, size: int, processes: int, reembedded_bytes: int = 0) -> Estimate:
    """Estimate the duration of a run that lists some files and reads some bytes of them.

    Args:
        listed_files: Number of files that the scan lists.
        size: Bytes of the files that are read.
        processes: Worker processes; 0 if the main process parses.
        reembedded_bytes: Bytes of unchanged files whose chunks get new vectors.
    """
    stored_bytes = size + reembedded_bytes
    work_terms = (_STARTUP_S, 1 if stored_bytes else 0), (_PARSE_S_PER_MB, size / 1e6 / max(processes, 1))
    return _sum_bounds((_SECONDS_PER_FILE, listed_files), *work_terms, (_STORE_S_PER_MB, stored_bytes / 1e6))


def estimate_memory(size: int, processes: int) -> Estimate:
    """Estimate the peak memory of all processes together, in bytes. Arguments as for `estimate_seconds`."""
    return _sum_bounds((_MAIN_MEMORY_BYTES, 1), (_WORKER_MEMORY_BYTES, processes), (_MEMORY_PER_TEXT_BYTE, size))


def _sum_bounds(*terms: tuple[tuple[float, float], float]) -> Estimate:
    """Sum bounds, each multiplied by an amount."""
    low = sum(bounds[0] * amount for bounds, amount in terms)
    high = sum(bounds[1] * amount for bounds, amount in terms)
    return Estimate(low, high)
