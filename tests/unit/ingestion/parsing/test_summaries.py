import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import TextNode

from coderag.ingestion.parsing.summaries import extract_first_sentence, summarize
from coderag.integrations.llama_index.summarizer import ChunkSummarizer
from coderag.text.tokenizer import tokenize_text

LONGEST = 240


def metadata(**fields):
    empty = {
        "path": "shop/cart.py", "language": "python", "kind": "function", "name": "add", "qualified_name": "add",
        "signature": "", "docstring": "", "summary": "", "summary_source": "", "parent": "", "context": "",
        "symbols": [], "imports": [], "calls": [], "bases": [],
    }  # fmt: skip
    return {**empty, **fields}


def derived(**fields):
    summary, source = summarize(metadata(**fields))
    assert source == "derived"
    return summary


# The docstring


@pytest.mark.parametrize(
    ("docstring", "sentence"),
    [
        ("Put an item into the cart.", "Put an item into the cart."),
        ("Put an item in. It must fit.", "Put an item in."),
        ("Put an item\n   into the cart.\n\nMore.", "Put an item into the cart."),
        ("A title without a full stop\n\nThen more.", "A title without a full stop"),
        ("Is it open? Yes.", "Is it open?"),
        ('<summary>\nBuilds a <see cref="T:Policy" /> for <c>x</c>.\n</summary>', "Builds a Policy for x."),
        ("<p>Puts an {@link Item} into {@code a < b}.</p>", "Puts an Item into a < b."),
        ("Return List<Item> if a < b and c > d.", "Return List<Item> if a < b and c > d."),
        ("Version 1.2.3 of it. More.", "Version 1.2.3 of it."),
        ("把商品放进购物车。 然后结账。", "把商品放进购物车。"),
        ("\n\n  Indented.\n", "Indented."),
        ("", ""),
        ("-----", ""),
        ("@param options table", ""),
    ],
)
def test_the_first_sentence_of_a_docstring_in_one_line(docstring, sentence):
    assert extract_first_sentence(docstring) == sentence


def test_long_sentence_is_truncated_between_words():
    sentence = extract_first_sentence("word " * 200)
    assert len(sentence) <= LONGEST
    assert sentence.endswith("word…")


def test_docstring_takes_precedence_over_derived_summary():
    summary = summarize(metadata(docstring="Put it in.", calls=["append"]))
    assert summary == ("Put it in.", "docstring")


def test_docstring_without_text_is_skipped():
    assert summarize(metadata(docstring="=====")) == ("Function add.", "derived")


# Derived


@pytest.mark.parametrize(
    ("fields", "summary"),
    [
        ({"kind": "method", "name": "index_files", "parent": "Config", "calls": ["Ok", "Err"]},
         "Method index files of Config, calling Ok and Err."),
        ({"kind": "class", "name": "HTTPServer", "bases": ["Base", "Mixin"],
          "symbols": [{"name": "HTTPServer"}, {"name": "stop"}]},
         "Class http server, extending Base and Mixin, with stop."),
        ({"kind": "type_alias", "name": "UserId"}, "Type alias user id."),
        ({"kind": "impl", "name": "Level", "bases": ["FromStr"]}, "Implementation level, extending FromStr."),
        ({"kind": "module", "name": "cart", "imports": ["logging", "typing"]},
         "Module-level code of cart, importing logging and typing."),
        ({"kind": "section", "name": "Getting started", "path": "README.md"}, "Section Getting started of README.md."),
        ({"kind": "block", "name": "data", "path": "data/prices.csv"}, "Lines of data/prices.csv."),
        ({"kind": "method", "name": "<=>", "parent": "Price"}, "Method <=> of Price."),
        ({"kind": "function", "name": "解析配置"}, "Function 解析配置."),
    ],
)  # fmt: skip
def test_derived_summary_has_kind_name_parent_and_contents(fields, summary):
    assert derived(**fields) == summary


@pytest.mark.parametrize(
    ("language", "name", "signature", "parameters"),
    [
        ("sql", "owed", "CREATE FUNCTION shop.owed(customer_id bigint, OUT total numeric(10, 2))", "customer_id and total"),
        ("zig", "push", "pub fn push(self: *Self, comptime item: T) void", "item"),
        ("python", "load", "async def load(self, owner: str, *, timeout_s: float = 5.0) -> Cart:", "owner and timeout_s"),
        ("python", "f", "def f(table: dict[str, int] = {}, *args, **kwargs):", "table, args and kwargs"),
        ("go", "Get", "func (s *Store) Get(key string, limit int) ([]byte, error)", "key and limit"),
        ("go", "Pair", "func Pair[K comparable, V any](a, b K, rest ...V)", "a, b and rest"),
        ("java", "put", "public <T> T put(final Map<String, List<T>> index, @NonNull String name)", "index and name"),
        ("typescript", "sort", "sort<T>(items: Map<string, T>, by: (a: T, b: T) => number): T[]", "items and by"),
        ("typescript", "constructor", "constructor(private readonly pool: Pool, table = 'users')", "pool and table"),
        ("typescript", "Button", "function Button({ label, onPress = () => 1 }: Props)", "label and onPress"),
        ("javascript", "byName", "export const byName = (first, second) =>", "first and second"),
        ("rust", "push", "pub(crate) fn push(&mut self, line: impl Into<String>, mut level: Level)", "line and level"),
        ("cpp", "at", "const T& at(const std::string& key, std::size_t index = 0) const", "key and index"),
        ("c", "on_exit", "int on_exit(void (*hook)(int), void *data)", "hook and data"),
        ("c_sharp", "Read", "public T Read([FromBody] string text, params int[] sizes)", "text and sizes"),
        ("php", "find", "public function find(?string $name = null, int ...$ids): ?User", "name and ids"),
        ("ruby", "load", "def self.load(path, strict: false, &block)", "path, strict and block"),
        ("kotlin", "find", "fun <T> List<T>.find(code: String, noinline test: (T) -> Boolean = { true })", "code and test"),
        ("scala", "lend", "def lend[A](items: List[A], by: (A, Int) => B)(using lendable: Lendable[A]): Int", "items and by"),
        ("swift", "measure", "func measure(every interval: Duration, _ handler: Handler? = nil) async", "interval and handler"),
        ("elixir", "post", "def post(ledger, amount \\\\ nil)", "ledger and amount"),
        ("elixir", "put", "def put(%Conn{state: state} = conn, key)", "conn and key"),
        ("elixir", "load", "@callback load(path :: String.t()) :: term", "path"),
        ("lua", "post", "function M.post(account, amount)", "account and amount"),
        ("luau", "convert", "function Rates.convert(rate: Rate<Currency>, amount: number?): number", "rate and amount"),
    ],
)  # fmt: skip
def test_parameter_names_follow_the_language_syntax(language, name, signature, parameters):
    kind = "method" if "self" in signature else "function"
    summary = derived(language=language, kind=kind, name=name, signature=signature)
    assert summary.endswith(f", taking {parameters}.")


@pytest.mark.parametrize(
    ("language", "name", "signature"),
    [
        ("python", "close", "def close(self) -> None:"),
        ("c", "wait", "int wait(void)"),
        ("c", "add", "int add(int, int)"),
        ("rust", "warm_up", "pub(crate) fn warm_up()"),
        ("go", "Len", "func (l *List[T]) Len() int"),
        ("php", "flush", "public function flush(): int"),
        ("haskell", "apply", "apply :: (a -> b) -> a -> b"),
    ],
)
def test_summary_without_parameters_lists_none(language, name, signature):
    assert "taking" not in derived(language=language, name=name, signature=signature)


def test_base_class_is_not_a_parameter():
    summary = derived(kind="class", name="Money", signature="class Money(NamedTuple):", bases=["NamedTuple"])
    assert summary == "Class money, extending NamedTuple."


def test_long_lists_are_truncated():
    summary = derived(calls=[f"call{number}" for number in range(50)])
    assert "call0" in summary
    assert "call49" not in summary


NAMES = st.text(min_size=1, max_size=30).filter(str.strip)


@given(
    st.sampled_from(["function", "method", "class", "section", "block", "module", "macro", "impl"]),
    st.sampled_from(["python", "go", "c", "typescript", "php", "unheard-of", ""]),
    NAMES,
    st.text(alphabet="abc ()[]{}<>,:=-*&\n$…ü", max_size=80),
    st.text(max_size=20),
    st.lists(NAMES, max_size=8),
)
def test_a_summary_is_one_line_and_never_empty(kind, language, name, signature, parent, words):
    symbols = [{"name": word} for word in words]
    fields = {"kind": kind, "language": language, "name": name, "parent": parent, "calls": words, "bases": words}
    for text in (signature, name + signature):
        summary = derived(**fields, signature=text, symbols=symbols, imports=words)
        assert summary.strip()
        assert len(summary.splitlines()) == 1
        assert len(summary) <= LONGEST


@given(st.from_regex(r"[a-z]+(_[a-z]+|[A-Z][a-z]+){0,3}", fullmatch=True))
def test_summary_contains_the_words_of_the_name(name):
    parts = [term for term in tokenize_text(name) if not term.startswith("=")]
    assert set(parts) <= set(tokenize_text(derived(name=name)))


# The component


def test_component_fills_missing_summaries():
    nodes = [
        TextNode(text="x", metadata=metadata(docstring="Adds. Twice.")),
        TextNode(text="y", metadata=metadata(summary="By a model.", summary_source="llm")),
    ]
    done = ChunkSummarizer()(nodes)
    summaries = [(node.metadata["summary"], node.metadata["summary_source"]) for node in done]
    assert summaries == [("Adds.", "docstring"), ("By a model.", "llm")]
