"""Words of software in seven languages, with the English words that code uses for them (``lexicon.txt``)."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Final

from coderag.schema.vocabulary import HumanLanguage
from coderag.text.tokenizer import stem

LEXICON_LANGUAGES: Final[tuple[HumanLanguage, ...]] = ("de", "fr", "es", "pt", "ru", "zh", "ja")
"""Languages in the order of the columns, after English."""

English = tuple[str, ...]

_WORD_PARTS: Final = re.compile(r"[^\W\d_]+")
_MAX_ENDING_CHARS: Final = (0, 0, 1, 2, 4, 6)  # by the length of a stem; a longer stem may have a longer ending
_MAX_LONG_ENDING_CHARS: Final = 8
_MIN_STEM_CHARS, _MIN_PART_CHARS, _MIN_HEAD_CHARS = 2, 4, 5
_MAX_WORD_CHARS: Final = 60  # a longer one is no word
_MAX_PARTS: Final = 4

_GERMAN_ENDING: Final = re.compile(
    r"(?:ier)?(?:ung(?:s|en)?|end(?:e[nrsm]?)?|e?t(?:e[nrsm]?|est)?|e[nrsm]?|ern|n|s|st|bar(?:e[nrsm]?|keit)?|bare[nrs]?"
    r"|lich(?:e[nrsm]?|keit)?|(?:ig)?keit(?:en|s)?|heit(?:en|s)?|ig(?:e[nrsm]?)?|ene[nrsm]?|ion(?:en|s)?|or(?:en|s)?|nis(?:se)?n?|isch(?:e[nrsm]?)?)?"
)
_GERMAN_SHORT_ENDING: Final = re.compile(r"(?:e[nrs]?|s|n|t|st)?")
_RUSSIAN_SHORT_ENDING: Final = re.compile(r"(?:[аяыиуюеоь]|[оеиы]и|[оеы]м|[ая][мх]|[ая]ми|[ое]в|ью|ия|ие)?")
_GERMAN_PREFIXES: Final = (
    "herunter|zusammen|heraus|hinein|zuruck|hinzu|weiter|wieder|durch|unter|uber|fest|hoch|nach|auf|aus|bei|ein|her|hin|los|"
    "mit|vor|weg|ab|an|um|zu"
)
_GERMAN_INFIX: Final = re.compile(rf"^({_GERMAN_PREFIXES})?(?:ge|zu)(?=\w{{3}})")
_GERMAN_PREFIX: Final = re.compile(rf"^(?:{_GERMAN_PREFIXES})(?=\w{{4}})")
_GERMAN_PREFIX_WORD: Final = re.compile(_GERMAN_PREFIXES)
_GERMAN_UMLAUT: Final = re.compile(r"([aou])e(?![iu])")
_ACCENTS: Final = re.compile(r"[\u0300-\u036f]")

_TRADITIONAL: Final = (
    "網絡連線鏈接斷開務戶請應響頭體標報協議數據發傳輸監聽廣節點終徑擴開關閉讀寫儲載刪創複製動現臨時權許鏈內長壓縮編碼監視備還復"
    "盤當錄歸導圖張頁識別記憶號單詞語轉義換縮寫輸顯示渲選擇錯誤異捕獲處對驗證檢測決斷診搜尋詢比較區間獨衝絕獲設置獲調參默認環變"
    "義類庫賴註冊單態機鎖進線併發佈訂閱擊滾動題聲樣執構緩淘汰過濾順構總統計調試蹤務場範圍結構應為級優準嚴鑰簽會員項車價稅單"
    "運費貨幣額評論歷計鍵開啟兼檔軟歡屬層廠實現繼狀訊號觸滿空尋專業協隊組麼裡哪個這給從後來讓嗎還沒與則東"
)
_SIMPLIFIED_LETTERS: Final = (
    "网络连线链接断开务户请应响头体标报协议数据发传输监听广节点终径扩开关闭读写储载删创复制动现临时权许链内长压缩编码监视备还复"
    "盘当录归导图张页识别记忆号单词语转义换缩写输显示渲选择错误异捕获处对验证检测决断诊搜寻询比较区间独冲绝获设置获调参默认环变"
    "义类库赖注册单态机锁进线并发布订阅击滚动题声样执构缓淘汰过滤顺构总统计调试踪务场范围结构应为级优准严钥签会员项车价税单"
    "运费货币额评论历计键开启兼档软欢属层厂实现继状讯号触满空寻专业协队组么里哪个这给从后来让吗还没与则东"
)
_SIMPLIFIED: Final = str.maketrans(_TRADITIONAL, _SIMPLIFIED_LETTERS)


def fold_text(text: str, language: HumanLanguage) -> str:
    """Return lower-case text without accents; Chinese is simplified, Japanese as it is, ``ae`` is ``ä`` in German."""
    if language == "ja":
        return unicodedata.normalize("NFKC", text).lower()
    if language == "zh":
        return unicodedata.normalize("NFKC", text).lower().translate(_SIMPLIFIED)
    folded = fold_letters(text)
    return _GERMAN_UMLAUT.sub(r"\1", folded) if language == "de" else folded


def fold_letters(text: str) -> str:
    """Return lower-case text without accents."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKD", text.lower().replace("ß", "ss").replace("œ", "oe"))
    return _ACCENTS.sub("", folded)


class Lexicon:
    """Dictionary of one language: words, stems with endings, phrases and, for German, compounds.

    Args:
        language: Code of the language.
        rows: English words, and the words of the language.
    """

    def __init__(self, language: HumanLanguage, rows: Sequence[tuple[English, Sequence[str]]]) -> None:
        self._language = language
        self._is_segmented = language in ("zh", "ja")
        self._words: dict[str, English] = {}
        self._phrases: dict[str, list[tuple[tuple[str, ...], English]]] = {}
        for english, entries in rows:
            for entry in entries:
                self._add(entry, english)
        self._max_chars = max(map(len, self._words))

    def _add(self, entry: str, english: English) -> None:
        """Add an entry; words of several rows have the English words of all of them."""
        parts = (entry.replace("_", ""),) if self._is_segmented else tuple(_WORD_PARTS.findall(entry.replace("_", " ")))
        if len(parts) > 1:
            self._phrases.setdefault(parts[0], []).append((parts, english))
            return
        known = self._words.get(parts[0], ())
        self._words[parts[0]] = (*known, *(word for word in english if word not in known))
        if self._language == "ja" and parts[0].endswith("ー") and len(parts[0]) > _MIN_PART_CHARS - 1:
            self._words.setdefault(parts[0][:-1], self._words[parts[0]])

    def translate_word(self, word: str) -> list[English]:
        """Return the English words of a folded word, a tuple for each of its parts; empty if it is unknown."""
        if len(word) > _MAX_WORD_CHARS:
            return []
        if self._language != "de":
            return [english] if (english := self._find_inflected(word)) else []
        return self._translate_german(word)

    def match_phrase(self, words: Sequence[str], start: int) -> tuple[int, English]:
        """Return how many of the words from a position are a phrase of the lexicon, and its English words; 0 if none."""
        best: tuple[int, English] = (0, ())
        for first in _iterate_prefixes(words[start], 1):
            for parts, english in self._phrases.get(first, ()):
                following = words[start : start + len(parts)]
                if len(parts) > best[0] and len(following) == len(parts) and all(map(self._matches, parts, following)):
                    best = len(parts), english
        return best

    def find_separated_verb(self, words: Sequence[str]) -> tuple[int, str] | None:
        """Return the position of the German verb whose prefix ends a clause, and both as a word; None if there is none.

        In "legt der Server eine Datei an", it is "anlegt" at 0.
        """
        if self._language != "de" or not words or not _GERMAN_PREFIX_WORD.fullmatch(words[-1]):
            return None
        verbs = ((position, words[-1] + word) for position, word in enumerate(words[:-1]))
        return next((verb for verb in verbs if self._find_inflected(verb[1])), None)

    def segment(self, text: str, function_words: frozenset[str]) -> Iterator[tuple[str, English | None]]:
        """Yield the words of a text without spaces by longest match, with their English words.

        A function word has an empty tuple, a character that belongs to no word None. A word of one character beside such a
        character is part of an unknown word, and as unknown.
        """
        previous: English | None = ()
        segments = list(self._match_longest(text, function_words))
        for position, (word, english) in enumerate(segments):
            following = segments[position + 1][1] if position + 1 < len(segments) else ()
            is_part = len(word) == 1 and bool(english) and (previous is None or following is None)
            yield word, None if is_part else english
            previous = english

    def _match_longest(self, text: str, function_words: frozenset[str]) -> Iterator[tuple[str, English | None]]:
        position = 0
        while position < len(text):
            for length in range(min(self._max_chars, len(text) - position), 0, -1):
                word = text[position : position + length]
                if word in function_words:
                    yield word, ()
                    break
                if word in self._words:
                    yield word, self._words[word]
                    break
            else:
                length = 1
                yield text[position], None
            position += length

    def count_covered_characters(self, text: str, function_words: frozenset[str]) -> int:
        """Count the characters of a text that belong to words of several characters."""
        segments = self.segment(fold_text(text, self._language), function_words)
        return sum(len(word) for word, english in segments if english is not None and len(word) > 1)

    def _matches(self, entry: str, word: str) -> bool:
        return word == entry or (word.startswith(entry) and self._is_ending(entry, word[len(entry) :]))

    def _is_ending(self, stem_: str, ending: str) -> bool:
        length = len(stem_)
        if self._language == "de":
            pattern = _GERMAN_ENDING if length >= _MIN_PART_CHARS else _GERMAN_SHORT_ENDING
            return pattern.fullmatch(ending) is not None
        if self._language == "ru" and length < _MIN_PART_CHARS:
            return _RUSSIAN_SHORT_ENDING.fullmatch(ending) is not None
        limit = _MAX_ENDING_CHARS[length] if length < len(_MAX_ENDING_CHARS) else _MAX_LONG_ENDING_CHARS
        return len(ending) <= limit

    def _find_inflected(self, word: str) -> English:
        """Return the English words of the longest stem that the word is a form of."""
        for prefix in _iterate_prefixes(word, _MIN_STEM_CHARS):
            if (english := self._words.get(prefix)) and self._is_ending(prefix, word[len(prefix) :]):
                return english
        return ()

    def _translate_german(self, word: str) -> list[English]:
        for form in dict.fromkeys((word, _GERMAN_INFIX.sub(r"\1", word))):
            if english := self._find_inflected(form):
                return [english]
        parts = self._split_compound(word, _MAX_PARTS)
        for form in dict.fromkeys((_GERMAN_INFIX.sub("", word), _GERMAN_PREFIX.sub("", word))):
            if not parts and (english := self._find_inflected(form)):
                return [english]
        return parts or self._find_head(word)

    def _split_compound(self, word: str, limit: int) -> list[English]:
        """Split a compound at known parts, the longest first; empty if a part is unknown."""
        if english := self._find_inflected(word):
            return [english]
        if limit > 1:
            for end in range(len(word) - _MIN_PART_CHARS + 1, _MIN_PART_CHARS - 1, -1):
                if (first := self._find_inflected(word[:end])) and (
                    rest := self._split_compound(word[end:], limit - 1)
                ):
                    return [first, *rest]
        return []

    def _find_head(self, word: str) -> list[English]:
        """Return the longest known end of a compound with an unknown beginning: it says what kind of thing it is."""
        ends = (word[start:] for start in range(_MIN_PART_CHARS, len(word) - _MIN_HEAD_CHARS + 1))
        return [english for end in ends if (english := self._find_inflected(end))][:1]


def _iterate_prefixes(word: str, minimum: int) -> Iterator[str]:
    return (word[:length] for length in range(len(word), minimum - 1, -1))


@cache
def _read_columns() -> tuple[list[English], Mapping[HumanLanguage, list[str]]]:
    """Read the table: the English words of each row, and the cells of each language."""
    text = (resources.files("coderag.question") / "lexicon.txt").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in text.splitlines() if line and not line.startswith("#")]
    columns = {language: [row[number] for row in rows] for number, language in enumerate(LEXICON_LANGUAGES, 1)}
    return [tuple(row[0].split()) for row in rows], columns


@cache
def load_english_stems() -> frozenset[str]:
    """Load the stems of the English words of all rows."""
    return frozenset(stem(word) for english in _read_columns()[0] for word in english)


@cache
def load_lexicon(language: HumanLanguage) -> Lexicon:
    """Load the lexicon of a language; it takes some milliseconds the first time."""
    english, columns = _read_columns()
    cells = columns[language]
    cells = fold_text("\n".join(cells), language).split("\n")
    return Lexicon(language, list(zip(english, (cell.split() for cell in cells), strict=True)))
