"""Edges of Elixir programs."""

import pytest

from tests.support.programs import Program, assert_same_graph, build, link, triples

_LIBRARY = {
    "lib/library.ex": """defmodule Library do
  use Application

  alias Library.{Catalogue, Loans.Desk}
  alias Library.Book, as: Volume
  import Library.Text, only: [clean: 1]
  require Library.Guards

  @default_shelf Library.Shelf
  @limit 3

  def start(_type, _args) do
    children = [{Desk, limit: @limit}, Library.Shelf]
    Supervisor.start_link(children, strategy: :one_for_one)
  end

  @spec find(String.t(), Volume.t()) :: Volume.t() | nil
  def find(title, %Volume{} = wanted) do
    title |> clean() |> Catalogue.search(wanted)
  end

  def find(title), do: find(title, %Volume{title: title})

  def labels(books), do: Enum.map(books, &Desk.label/1) ++ Enum.map(books, &short/1)

  def later(book), do: Task.start(Desk, :lend, [book, 1])

  def shelve(book), do: @default_shelf.put(book)

  defdelegate lend(book, days), to: Desk

  defp short(book), do: __MODULE__.Names.short(book)

  defmodule Names do
    def short(book), do: book.title
  end
end
""",
    "lib/library/book.ex": """defmodule Library.Book do
  @type t :: %__MODULE__{title: String.t()}
  defstruct [:title]

  defimpl String.Chars do
    def to_string(book), do: book.title
  end
end

defmodule Library.Catalogue do
  def search(text, wanted), do: {text, wanted}
  def search(text), do: text
end

defmodule Library.Shelf do
  def put(book), do: book
end
""",
    "lib/library/text.ex": """defmodule Library.Text do
  def clean(text), do: text
  def other(text), do: text
end

defmodule Library.Guards do
  defmacro is_open(shelf), do: quote(do: unquote(shelf))
end

defprotocol Library.Printable do
  def print(thing, device)
end

defimpl Library.Printable, for: Library.Book do
  def print(book, device), do: {book, device}
end
""",
    "lib/library/worker.ex": """defmodule Library.Worker do
  @callback perform(job :: term, keyword) :: :ok

  defmacro __using__(_opts) do
    quote do
      @behaviour Library.Worker
      alias Library.Catalogue
      import Library.Text

      def enqueue(job), do: Library.Worker.run(__MODULE__, job)
    end
  end

  def run(module, job), do: module.perform(job, [])
end

defmodule Library.Loans.Desk do
  use Library.Worker

  @impl true
  def perform(job, _options), do: other(Catalogue.search(job))

  def perform(job), do: job

  def label(book), do: book
  def lend(book, days), do: enqueue({book, days})
end
""",
    "test/library_test.exs": """defmodule LibraryTest do
  use ExUnit.Case
  alias Library.Loans.Desk

  setup :prepare

  describe "finding" do
    setup do
      :ok
    end

    test "returns the book" do
      assert Library.find("Emma")
      Desk.enqueue(:job)
    end
  end

  defp prepare(context), do: context
end
""",
}


def _collect(relation: str, program: Program = _LIBRARY) -> set[tuple[str, str]]:
    return {(source.rpartition("/")[2], target.rpartition("/")[2]) for source, _, target in triples(program, relation)}


def test_calls_follow_aliases_imports_pipes_and_used_macros() -> None:
    """Modules are found by their full names wherever they are declared; a pipe adds an argument."""
    calls = _collect("calls")
    assert calls >= {
        ("library.ex:Library.find", "text.ex:Library.Text.clean"),
        ("library.ex:Library.find", "book.ex:Library.Catalogue.search"),
        ("library.ex:Library.find", "library.ex:Library.find"),
        ("library.ex:Library.shelve", "book.ex:Library.Shelf.put"),
        ("library.ex:Library.lend", "worker.ex:Library.Loans.Desk.lend"),
        ("library.ex:Library.short", "library.ex:Library.Names.short"),
        ("worker.ex:Library.Loans.Desk", "worker.ex:Library.Worker.__using__"),
        ("worker.ex:Library.Loans.Desk.perform", "text.ex:Library.Text.other"),
        ("worker.ex:Library.Loans.Desk.perform", "book.ex:Library.Catalogue.search"),
        ("worker.ex:Library.Loans.Desk.lend", "worker.ex:Library.Worker.__using__.enqueue"),
        ("library_test.exs:LibraryTest.finding.returns the book", "library.ex:Library.find"),
        ("library_test.exs:LibraryTest.finding.returns the book", "worker.ex:Library.Worker.__using__.enqueue"),
    }
    assert not any(target.endswith(".setup") for _, target in calls)


def test_functions_of_one_name_differ_by_their_number_of_arguments() -> None:
    """Each call leads to the clause group that takes its arguments, and never to a callback's declaration."""
    graph = build(
        {
            "a.ex": "defmodule A do\n  def go(x), do: B.run(x)\n  def pipe(x), do: x |> B.run(1)\nend\n",
            "b.ex": "defmodule B do\n  @callback run(x, y, z) :: term\n  @doc false\n  def run(x), do: x\n"
            "  @doc false\n  def run(x, y \\\\ 1, z), do: {x, y, z}\nend\n",
        }
    )
    nodes = graph.nodes.to_pylist()
    targets = {
        nodes[edge["source"]]["name"]: nodes[edge["target"]]["start_line"]
        for edge in graph.edges.to_pylist()
        if edge["relation"] == "calls"
    }
    assert targets == {"go": 4, "pipe": 6}


def test_behaviours_and_protocols_are_implemented() -> None:
    """A behaviour counts that a used macro declares; functions override callbacks of their number of arguments."""
    assert _collect("implements") >= {
        ("worker.ex:Library.Loans.Desk", "worker.ex:Library.Worker"),
        ("text.ex:Library.Book", "text.ex:Library.Printable"),
    }
    assert _collect("overrides") == {
        ("worker.ex:Library.Loans.Desk.perform", "worker.ex:Library.Worker.perform"),
        ("text.ex:Library.Book.print", "text.ex:Library.Printable.print"),
    }


def test_modules_structs_types_and_functions_are_references() -> None:
    """Names that are passed as values are uses: modules, captures, attributes, functions by module and name."""
    references = _collect("references")
    assert references >= {
        ("library.ex:Library.start", "worker.ex:Library.Loans.Desk"),
        ("library.ex:Library.start", "book.ex:Library.Shelf"),
        ("library.ex:Library.start", "library.ex:Library.limit"),
        ("library.ex:Library.find", "book.ex:Library.Book.t"),
        ("library.ex:Library.find", "book.ex:Library.Book"),
        ("library.ex:Library.labels", "worker.ex:Library.Loans.Desk.label"),
        ("library.ex:Library.labels", "library.ex:Library.short"),
        ("library.ex:Library.later", "worker.ex:Library.Loans.Desk.lend"),
        ("library_test.exs:LibraryTest", "library_test.exs:LibraryTest.prepare"),
    }
    assert _collect("instantiates") == {("library.ex:Library.find", "book.ex:Library.Book")}


def test_a_module_in_a_variable_gives_candidates_only() -> None:
    """A call on a module that is a value is never certain."""
    edges = [edge for edge in link(_LIBRARY) if edge.source.endswith("Library.Worker.run") and edge.relation == "calls"]
    assert edges
    assert all(edge.confidence < 0.5 for edge in edges)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("def go(names), do: names.first", id="field"),
        pytest.param("def go(first), do: first", id="parameter"),
        pytest.param("def go(x) do\n    {:ok, first} = x\n    first\n  end", id="pattern"),
        pytest.param("def go(x), do: Enum.first(x)", id="external module"),
        pytest.param("def go(x), do: :lists.first(x)", id="Erlang module"),
        pytest.param("def go(x), do: first(x)", id="other number of arguments"),
        pytest.param("@spec first() :: term", id="head of a specification"),
    ],
)
def test_what_is_no_call_of_the_function_gives_no_edge(body: str) -> None:
    """Fields, variables, modules of other libraries and other arities are not confused with a function."""
    program = {"a.ex": f"defmodule A do\n  {body}\n\n  def first, do: 1\nend\n"}
    assert not triples(program, "calls", "references")


def test_calls_without_parentheses_are_calls() -> None:
    """A bare name that nothing binds is a call."""
    program = {
        "a.ex": "defmodule A do\n  def go(x) do\n    prepare\n    store x\n  end\n"
        "  def prepare, do: 1\n  def store(x), do: x\nend\n"
    }
    assert triples(program, "calls") == {
        ("a.ex:A.go", "calls", "a.ex:A.prepare"),
        ("a.ex:A.go", "calls", "a.ex:A.store"),
    }


def test_case_templates_give_their_imports_to_tests() -> None:
    """``using do`` of a template stands for its ``__using__`` macro."""
    program = {
        "test/support/data_case.ex": "defmodule App.DataCase do\n  use ExUnit.CaseTemplate\n\n  using do\n    quote do\n"
        "      import App.DataCase\n    end\n  end\n\n  def build!(name), do: name\nend\n",
        "test/a_test.exs": 'defmodule App.ATest do\n  use App.DataCase\n\n  test "a" do\n    build!(:user)\n  end\nend\n',
    }
    assert ("test/a_test.exs:App.ATest.a", "calls", "test/support/data_case.ex:App.DataCase.build!") in triples(
        program, "calls"
    )


def test_components_and_calls_in_templates_are_calls() -> None:
    """A template in a sigil uses components by their tags and functions in its expressions."""
    program = {
        "web.ex": 'defmodule Web.Parts do\n  def button(assigns), do: ~H"<b>{label(@kind)}</b>"\n\n'
        '  def page(assigns) do\n    ~H"""\n    <.button>Go <%= Web.Text.short(@name) %></.button>\n'
        '    <Web.Icons.icon name="x" />\n    """\n  end\n\n  defp label(kind), do: kind\nend\n\n'
        "defmodule Web.Icons do\n  def icon(assigns), do: assigns\nend\n\n"
        "defmodule Web.Text do\n  def short(text), do: text\nend\n"
    }
    assert {(source, target) for source, _, target in triples(program, "calls")} == {
        ("web.ex:Web.Parts.button", "web.ex:Web.Parts.label"),
        ("web.ex:Web.Parts.page", "web.ex:Web.Parts.button"),
        ("web.ex:Web.Parts.page", "web.ex:Web.Text.short"),
        ("web.ex:Web.Parts.page", "web.ex:Web.Icons.icon"),
    }


def test_routes_lead_to_the_functions_of_modules_in_their_scopes() -> None:
    """The scopes of a router give the start of the names of modules in it."""
    program = {
        "router.ex": 'defmodule Web.Router do\n  scope "/", Web do\n    get "/users", UserController, :index\n\n'
        '    scope "/admin", Admin do\n      resources "/roles", RoleController\n    end\n  end\nend\n',
        "user.ex": "defmodule Web.UserController do\n  def index(conn, _params), do: conn\nend\n",
        "role.ex": "defmodule Web.Admin.RoleController do\n  def index(conn, _params), do: conn\nend\n",
    }
    assert {(source, target) for source, _, target in triples(program, "references")} == {
        ("router.ex:Web.Router", "user.ex:Web.UserController"),
        ("router.ex:Web.Router", "user.ex:Web.UserController.index"),
        ("router.ex:Web.Router", "role.ex:Web.Admin.RoleController"),
    }


def test_incremental_build_equals_a_full_one() -> None:
    """A new module, a moved function and a changed macro reach the files that use them."""
    before = {path: text for path, text in _LIBRARY.items() if path != "lib/library/text.ex"}
    after = {
        **_LIBRARY,
        "lib/library/worker.ex": _LIBRARY["lib/library/worker.ex"].replace("enqueue(job)", "push(job)"),
    }
    graph = build(before)
    assert_same_graph(build(after, graph, before), build(after))
