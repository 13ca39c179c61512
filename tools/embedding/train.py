"""Train word vectors on pairs of (words, code), from the distilled ones: words must find their code among a batch's.

Both sides are bags of words over one table: ``normalise(sum of log(1 + count) * weight * vector)``, as the engine
computes them. The loss is InfoNCE in both directions with the other pairs of the batch as negatives; the terms' weights
are learned with their vectors, and terms are dropped at random. Whole packages are held out, and both models are
measured on them: mean reciprocal rank of the right code among up to 2,048 of the same kind of pair.

Source: InfoNCE, van den Oord et al. (2018), arXiv:1807.03748. Temperature and dropout were found on other repositories.
"""

import argparse
import hashlib
import time
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from asset import describe_sources, write_asset
from distil import ENCODER
from numpy.typing import NDArray
from pairs import KINDS
from torch import Tensor
from torch.nn import functional

_TEMPERATURE = 0.05
_WEIGHTS_RATE = 5.0  # the logarithms of the weights learn so much faster than the vectors
_SMALLEST_WEIGHT = 0.05
_WARM_UP_STEPS = 50
_REPORT_STEPS = 25
_HELD_OUT_SHARE = 0.05  # of the packages
_HELD_OUT_PAIRS = 2_048  # of each kind


class Bags(NamedTuple):
    """Texts as counts of terms, in compressed sparse rows."""

    ids: NDArray[np.uint16]
    counts: NDArray[np.uint8]
    lengths: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, pairs: "np.lib.npyio.NpzFile", prefix: str) -> Self:
        """Take one side of the pairs that pairs.py wrote."""
        lengths = pairs[f"{prefix}_lengths"].astype(np.int64)
        return cls(pairs[f"{prefix}_ids"], pairs[f"{prefix}_counts"], lengths, np.cumsum(lengths) - lengths)

    def take(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor, Tensor]:
        """Return ids, dampened counts and offsets of some texts, as an embedding bag wants them."""
        lengths = self.lengths[rows]
        offsets = np.cumsum(lengths) - lengths
        positions = np.arange(lengths.sum()) + np.repeat(self.starts[rows] - offsets, lengths)
        dampened = np.log1p(self.counts[positions].astype(np.float32))
        return (
            torch.from_numpy(self.ids[positions].astype(np.int64)),
            torch.from_numpy(dampened),
            torch.from_numpy(offsets),
        )


class BagEncoder(torch.nn.Module):
    """Word vectors and weights that make a vector of a bag of words."""

    def __init__(self, vectors: NDArray[np.float32], weights: NDArray[np.float32]) -> None:
        super().__init__()
        self.bag = torch.nn.EmbeddingBag.from_pretrained(torch.tensor(vectors), freeze=False, mode="sum")
        self.log_weights = torch.nn.Parameter(torch.tensor(weights).clamp(min=_SMALLEST_WEIGHT).log())

    def forward(self, ids: Tensor, dampened: Tensor, offsets: Tensor) -> Tensor:
        """Return normalised vectors, shape (n_texts, dim)."""
        return functional.normalize(
            self.bag(ids, offsets, per_sample_weights=dampened * self.log_weights[ids].exp()), dim=1
        )


def hold_out(package_names: list[str], packages: NDArray[np.uint16]) -> NDArray[np.bool_]:
    """Return which pairs are held out, shape (n_pairs,): those of packages chosen by a hash of their names."""
    limit = round(_HELD_OUT_SHARE * 2**32)
    chosen = [int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") < limit for name in package_names]
    held_out: NDArray[np.bool_] = np.array(chosen)[packages]
    return held_out


@torch.inference_mode()
def measure(
    model: BagEncoder, queries: Bags, codes: Bags, kinds: NDArray[np.uint8], held_out: NDArray[np.bool_]
) -> dict[str, float]:
    """Return the mean reciprocal rank of the right code, for each kind of held-out pairs and their mean."""
    figures = {}
    for kind, name in enumerate(KINDS):
        rows = np.flatnonzero(held_out & (kinds == kind))
        rows = np.random.default_rng(0).permutation(rows)[:_HELD_OUT_PAIRS]
        scores = model(*queries.take(rows)) @ model(*codes.take(rows)).T
        ranks = (scores >= scores.diagonal()[:, None]).sum(dim=1)
        figures[name] = round(float((1 / ranks).mean()), 4)
    return {**figures, "mean": round(sum(figures.values()) / len(figures), 4)}


class Recipe(NamedTuple):
    """How to train.

    Attributes:
        epochs: Passes over the pairs.
        batch_size: Pairs in a batch: one right code and ``batch_size - 1`` wrong ones for each query.
        rate: Adam's largest learning rate; it rises for some steps and then falls to zero.
        dropout: Share of the terms of a text that are left out.
    """

    epochs: int
    batch_size: int
    rate: float
    dropout: float


def train(model: BagEncoder, queries: Bags, codes: Bags, rows: NDArray[np.int64], recipe: Recipe) -> None:
    """Train a model on pairs, given by their rows."""
    epochs, batch_size, rate, dropout = recipe
    rng = np.random.default_rng(0)
    optimiser = torch.optim.Adam(
        [{"params": model.bag.parameters(), "lr": rate}, {"params": [model.log_weights], "lr": rate * _WEIGHTS_RATE}]
    )
    steps = epochs * (len(rows) // batch_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / _WARM_UP_STEPS) * (1 - step / steps)
    )
    target = torch.arange(batch_size)
    started = time.perf_counter()
    losses: list[float] = []
    for _ in range(epochs):
        shuffled = rng.permutation(rows)
        for start in range(0, len(rows) - batch_size + 1, batch_size):
            batch = shuffled[start : start + batch_size]
            sides = []
            for bags in (queries, codes):
                ids, dampened, offsets = bags.take(batch)
                kept = torch.from_numpy(rng.random(len(ids), dtype=np.float32) >= dropout)
                sides.append(model(ids, dampened * kept, offsets))
            scores = sides[0] @ sides[1].T / _TEMPERATURE
            loss = (functional.cross_entropy(scores, target) + functional.cross_entropy(scores.T, target)) / 2
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            schedule.step()
            losses.append(loss.item())
            if len(losses) % _REPORT_STEPS == 0 or len(losses) == steps:
                recent = np.mean(losses[-_REPORT_STEPS:])
                elapsed_s = time.perf_counter() - started
                print(f"step {len(losses)} of {steps}: loss {recent:.3f}, {elapsed_s:.0f} s", flush=True)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("distilled", type=Path, help="npz file that distil.py wrote")
    parser.add_argument("pairs", type=Path, help="npz file that pairs.py wrote")
    parser.add_argument("output", type=Path, help="folder to write")
    parser.add_argument("--manifest", type=Path, required=True, help="manifest.json of the corpus, for the model card")
    parser.add_argument("--name", default="coderag-words-v0")
    parser.add_argument("--version", default="0.1.0")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=4096)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--dropout", type=float, default=0.15)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(arguments.threads)

    start = np.load(arguments.distilled)
    pairs = np.load(arguments.pairs)
    queries, codes, kinds = Bags.of(pairs, "query"), Bags.of(pairs, "code"), pairs["kinds"]
    held_out = hold_out(pairs["package_names"].tolist(), pairs["packages"])
    model = BagEncoder(start["vectors"], start["weights"])
    rows = np.flatnonzero(~held_out)
    print(f"{len(rows)} pairs to train on, {held_out.sum()} held out", flush=True)
    figures: dict[str, Any] = {"distilled": measure(model, queries, codes, kinds, held_out)}
    print(figures, flush=True)
    recipe = Recipe(arguments.epochs, arguments.batch_size, arguments.rate, arguments.dropout)
    train(model, queries, codes, rows, recipe)
    figures["trained"] = measure(model, queries, codes, kinds, held_out)
    print(figures, flush=True)
    card = {
        "name": arguments.name,
        "version": arguments.version,
        "training": "distilled, then contrastive",
        "encoder": ENCODER,
        "corpus": describe_sources(arguments.manifest),
        "pairs": len(rows),
        "recipe": recipe._asdict(),
        "held_out_mrr": figures,
    }
    write_asset(
        arguments.output,
        terms=start["terms"].tolist(),
        vectors=model.bag.weight.detach().numpy(),
        weights=model.log_weights.detach().exp().numpy(),
        card=card,
    )


if __name__ == "__main__":
    main()
