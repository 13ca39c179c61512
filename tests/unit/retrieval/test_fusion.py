import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.retrieval.channels import Channel
from coderag.retrieval.fusion import fuse_ranks, fuse_scores, normalize_scores
from tests.support.corpora import make_corpus


@pytest.fixture(scope="module")
def corpus():
    """Four chunks in three files: two in the first, one in each of the others."""
    built = make_corpus(
        {
            "a.py": "def one():\n    return 1\n\n\ndef two():\n    return 2\n",
            "b.py": "def three():\n    return 3\n",
            "c.py": "def four():\n    return 4\n",
        }
    )
    assert built.chunk_files.tolist() == [0, 0, 1, 2]
    return built


def channel(name, values, weight=1.0):
    level = "chunk" if len(values) == 4 else "file"
    return Channel(name, level, np.asarray(values, np.float32), weight)


def test_fused_score_is_a_weighted_mean_of_normalized_scores(corpus):
    fused = fuse_scores(
        corpus,
        [
            channel("lexical", [2, 4, 8, 0], 1.0),
            channel("dense", [0.3, 0, 0, 0.6], 2.0),
            channel("docs", [1, 0, 0], 1.0),
        ],
    )
    # Files: a has 4/8 lexical and 0.3/0.6 dense at best, b 8/8 lexical, c 0.6/0.6 dense.
    assert fused.files.tolist() == pytest.approx([(0.5 + 2 * 0.5 + 1) / 4, 1 / 4, 2 / 4])
    # Chunks: a channel over files has no part.
    assert fused.chunks.tolist() == pytest.approx([(0.25 + 2 * 0.5) / 3, 0.5 / 3, 1 / 3, 2 / 3])


def test_fused_rank_is_a_normalized_sum_of_reciprocals(corpus):
    fused = fuse_ranks(corpus, [channel("lexical", [2, 4, 8, 0]), channel("dense", [0.3, 0, 0, 0.6])], k=60)
    chunks = np.array([1 / 63 + 1 / 62, 1 / 62, 1 / 61, 1 / 61])
    assert fused.chunks.tolist() == pytest.approx(chunks / chunks.max())
    files = np.array([1 / 62 + 1 / 62, 1 / 61, 1 / 61])
    assert fused.files.tolist() == pytest.approx(files / files.max())


def test_small_k_lets_the_first_rank_decide(corpus):
    channels = [channel("lexical", [9, 8, 0, 0]), channel("dense", [0, 8, 9, 0]), channel("names", [0, 0, 0, 9])]
    steep, flat = fuse_ranks(corpus, channels, k=1).chunks, fuse_ranks(corpus, channels, k=1000).chunks
    assert steep[3] / steep[1] > flat[3] / flat[1]


def test_unfound_chunks_score_zero(corpus):
    channels = [channel("lexical", [0, 0, 0, 0]), channel("dense", [-0.5, 0, 0, -0.1])]
    for fuse in (fuse_scores, fuse_ranks):
        fused = fuse(corpus, channels)
        assert not fused.chunks.any()
        assert not fused.files.any()


def test_no_channels_score_zero(corpus):
    for fuse in (fuse_scores, fuse_ranks):
        assert not fuse(corpus, []).files.any()


def test_negative_cosines_are_not_found():
    assert normalize_scores(np.array([-1, 0, 2], np.float32)).tolist() == [0, 0, 1]


SCORES = st.lists(st.integers(0, 1000).map(lambda value: value / 8), min_size=4, max_size=4)


@given(SCORES, SCORES, st.sampled_from([0.25, 0.5, 2, 64, 1024]))
@pytest.mark.parametrize("fuse", [fuse_scores, fuse_ranks])
def test_scale_of_a_channel_does_not_matter(corpus, fuse, lexical, dense, factor):
    as_is = fuse(corpus, [channel("lexical", lexical), channel("dense", dense)])
    scaled = fuse(corpus, [channel("lexical", lexical), channel("dense", np.array(dense) * factor)])
    np.testing.assert_allclose(scaled.files, as_is.files, rtol=1e-6)
    np.testing.assert_allclose(scaled.chunks, as_is.chunks, rtol=1e-6)


@given(SCORES, SCORES)
@pytest.mark.parametrize("fuse", [fuse_scores, fuse_ranks])
def test_empty_channel_keeps_the_proportions(corpus, fuse, lexical, dense):
    channels = [channel("lexical", lexical), channel("dense", dense)]
    without, with_zeros = fuse(corpus, channels), fuse(corpus, [*channels, channel("names", [0, 0, 0, 0])])
    np.testing.assert_allclose(normalize_scores(with_zeros.files), normalize_scores(without.files), rtol=1e-5)
    np.testing.assert_allclose(normalize_scores(with_zeros.chunks), normalize_scores(without.chunks), rtol=1e-5)


@given(SCORES, SCORES)
@pytest.mark.parametrize("fuse", [fuse_scores, fuse_ranks])
def test_scores_stay_between_0_and_1(corpus, fuse, lexical, dense):
    fused = fuse(corpus, [channel("lexical", lexical, 3.0), channel("dense", dense, 0.5)])
    for scores in (fused.files, fused.chunks):
        assert scores.min() >= 0
        assert scores.max() <= 1 + 1e-6
