"""How long indexing takes and how much it makes, from figures that were measured.

The one place for them: measure again when chunking or the division of work changes. Each is a pair of bounds, between
which almost all of some twenty public repositories are (0.3 to 4 MB of text each); times and memory were checked against 21
of them together (19.5 MB) and a million lines. Times are processor time of one of two virtual cores, so they hold where
nothing else runs; memory is the most that was resident.
"""

from coderag.schema.index_plan import Estimate

_CHUNKS_A_KB = 1.1, 2.1  # of text, by the default settings
_TOKENS_A_BYTE = 0.30, 0.46  # of text, with what is said of each chunk; cl100k_base
_TOKENS_A_PATH = 3.0, 9.0
_SECONDS_A_FILE = 8e-6, 40e-6  # to list it
_START_S = 0.5, 1.5  # to load what is needed, and to write a generation however small
_PARSE_S_A_MB = 0.6, 1.5  # in one process: read, parse, summarise, count
_STORE_S_A_MB = 0.05, 0.15  # in the main process: embed and write
_MAIN_MEMORY = 200e6, 300e6  # bytes
_WORKER_MEMORY = 100e6, 350e6
_MEMORY_A_BYTE = 5.0, 20.0  # in the main process, for a byte of text


def chunks(size: int, known: int = 0) -> Estimate:
    """Return how many chunks some bytes of files make, in addition to some that are known."""
    return _sum((_CHUNKS_A_KB, size / 1e3), ((known, known), 1))


def embedded_texts(files: int, size: int, known: int = 0) -> Estimate:
    """Return how many texts an embedding model gets for some files, in addition to some: their chunks and their paths."""
    return chunks(size, files + known)


def embedded_tokens(files: int, size: int) -> Estimate:
    """Return how many tokens those texts have."""
    return _sum((_TOKENS_A_BYTE, size), (_TOKENS_A_PATH, files))


def cost(tokens: Estimate, price_per_million: float) -> Estimate:
    """Return what some tokens cost."""
    return Estimate(tokens.low * price_per_million / 1e6, tokens.high * price_per_million / 1e6)


def seconds(listed: int, size: int, processes: int, embedded_again: int = 0) -> Estimate:
    """Return how long a run takes that lists some files and reads some bytes of them.

    Args:
        listed: Number of files that are looked at.
        size: Bytes of the files that are read.
        processes: That parse; 0 if the main process does.
        embedded_again: Bytes of the files whose chunks get new vectors without being read.
    """
    stored = size + embedded_again
    working = (_START_S, 1 if stored else 0), (_PARSE_S_A_MB, size / 1e6 / max(processes, 1))
    return _sum((_SECONDS_A_FILE, listed), *working, (_STORE_S_A_MB, stored / 1e6))


def memory(size: int, processes: int) -> Estimate:
    """Return how many bytes of memory all processes together take at most. Arguments as for `seconds`."""
    return _sum((_MAIN_MEMORY, 1), (_WORKER_MEMORY, processes), (_MEMORY_A_BYTE, size))


def _sum(*parts: tuple[tuple[float, float], float]) -> Estimate:
    """Return the sum of some figures, each times an amount."""
    low = sum(bounds[0] * amount for bounds, amount in parts)
    high = sum(bounds[1] * amount for bounds, amount in parts)
    return Estimate(low, high)
