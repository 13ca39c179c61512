import pytest

from coderag.stores.translations import find_translations

ENGLISH = ["docs/config/README.md", "README.md", "guide/en/intro.md", "site/faq.en.md"]


@pytest.mark.parametrize(
    "path",
    [
        "docs/zh-CN/config/README.md",
        "docs/ckb-IR/config/README.md",
        "docs/config/de/README.md",
        "README.zh-CN.md",
        "README_es.md",
        "README-ja.md",
        "guide/fr/intro.md",
        "site/faq.pt-br.md",
    ],
)
def test_document_beside_its_english_original_is_a_translation(path):
    assert find_translations([*ENGLISH, path]) == [len(ENGLISH)]


@pytest.mark.parametrize(
    "path", ["docs/zh-CN/only.md", "docs/go/config/README.md", "docs/guide.md", "README.rst", "de/other.md"]
)
def test_other_documents_are_not_translations(path):
    assert find_translations([*ENGLISH, path]) == []


def test_originals_are_not_translations():
    assert find_translations(ENGLISH) == []
