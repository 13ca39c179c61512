"""C: edges of small programs."""

import pytest

from tests.support.programs import Program, assert_same_graph, build, link, triples

LIST = {
    "src/list.h": "#define MAX(a, b) pick(a, b)\n#define LIMIT 8\nenum mode { MODE_FAST, MODE_SAFE };\n"
    "typedef struct list list_t;\nextern int list_count;\nint list_len(list_t *l);\n"
    "static inline int pick(int a, int b) { return a; }\n",
    "src/list.c": '#include "list.h"\n#include <stdio.h>\nstruct list { int n; };\nint list_count = 0;\n'
    "static int helper(void) { return 1; }\n"
    'int list_len(list_t *l) { printf("x"); list_count++; return helper() + MAX(1, 2); }\n',
    "src/main.c": '#include "list.h"\n'
    "int main(void) { list_t *l = 0; return list_len(l) + helper() + MODE_SAFE + LIMIT; }\n",
    "other/other.c": "int helper(void) { return 2; }\nstatic int list_len(void) { return 0; }\n",
}  # fmt: skip


def collect_targets(program: Program, source: str, *relations: str, least: float = 0.5) -> set[str]:
    """Return the targets of the edges from a declaration."""
    return {target for start, _, target in triples(program, *relations, least=least) if start == source}


def test_calls_lead_through_prototypes_to_definitions() -> None:
    assert collect_targets(LIST, "src/main.c:main", "calls") == {"src/list.c:list_len"}
    assert collect_targets(LIST, "src/list.c:list_len", "calls") == {"src/list.c:helper", "src/list.h:MAX"}


def test_static_function_is_visible_in_its_own_file_only() -> None:
    assert ("src/main.c:main", "calls", "src/list.c:helper") not in triples(LIST, least=0.0)
    assert ("src/main.c:main", "calls", "other/other.c:list_len") not in triples(LIST, least=0.0)


def test_function_without_a_visible_prototype_is_a_candidate() -> None:
    [edge] = [edge for edge in link(LIST) if edge.target == "other/other.c:helper"]
    assert (edge.source, edge.relation, edge.resolver) == ("src/main.c:main", "calls", "unique")
    assert edge.confidence < 0.5


def test_standard_function_is_not_one_that_a_file_replaces() -> None:
    program = {"wrap.c": "int fclose(void *f) { return 0; }\n", "a.c": "int f(void *x) { return fclose(x); }\n"}
    assert collect_targets(program, "a.c:f", least=0.0) == set()


def test_types_macros_globals_and_constants_are_references() -> None:
    assert collect_targets(LIST, "src/main.c:main", "references") == {
        "src/list.h:list_t",
        "src/list.h:mode.MODE_SAFE",
        "src/list.h:LIMIT",
    }
    assert collect_targets(LIST, "src/list.c:list_len", "references") == {"src/list.h:list_t", "src/list.c:list_count"}


def test_typedef_of_its_own_name_and_extern_variable_lead_to_definitions() -> None:
    program = {
        "a.h": "typedef struct node node;\nextern int count;\n",
        "b.h": "typedef struct node node;\nstruct node { node *next; };\n",
        "a.c": '#include "a.h"\nint f(node *n) { return count; }\n',
        "b.c": '#include "a.h"\nint count = 1;\n',
    }
    assert collect_targets(program, "a.c:f", "references") == {"b.h:node", "b.c:count"}


def test_prototype_has_no_edges_beside_those_of_its_definition() -> None:
    assert [edge for edge in link(LIST) if edge.source == "src/list.h:list_len"] == []


def test_macro_bodies_call_and_name_declarations() -> None:
    assert collect_targets(LIST, "src/list.h:MAX", "calls") == {"src/list.h:pick"}
    program = {
        "a.h": '#define LOG(x) do { write_log("skip(1)", x->emit(x)); NAME##_init(); } while (0)\n'
        "void write_log(const char *s, int n);\nvoid skip(int n);\nvoid emit(void);\nvoid NAME_init(void);\n"
        "#define DONE finish\nvoid finish(void);\n",
    }
    assert collect_targets(program, "a.h:LOG") == {"a.h:write_log"}
    assert collect_targets(program, "a.h:DONE") == {"a.h:finish"}


HANDLERS = (
    "static void on_read(int x) {}\nstatic void on_write(int x) {}\n"
    "struct port { void (*read)(int); void (*write)(int); };\n"
)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("struct port p = { .read = on_read };", "p"),
        ("struct port p = { .read = &on_read };", "p"),
        ("struct port p = { on_write, on_read };", "p"),
        ("static void (*const table[])(int) = { on_read };", "table"),
        ("void set(struct port *p) { p->read = on_read; }", "set"),
        ("void set(void) { add(1, on_read); }", "set"),
        ("void set(void) { add(&on_read); }", "set"),
        ("void set(void) { add((void *)on_read); }", "set"),
        ("void set(void) { void (*f)(int) = on_read; f(1); }", "set"),
        ("void set(int n) { add(n ? on_read : 0); }", "set"),
        ("void *get(void) { return on_read; }", "get"),
        ("int same(void *f) { return f == on_read; }", "same"),
    ],
)
def test_function_that_is_a_value_is_a_reference(text: str, source: str) -> None:
    program = {"a.c": f"{HANDLERS}void add();\n{text}\n"}
    assert (f"a.c:{source}", "references", "a.c:on_read") in triples(program)


def test_local_name_hides_a_function_of_that_name() -> None:
    program = {"a.c": f"{HANDLERS}void add(int n);\nvoid f(int on_read) {{ add(on_read); }}\n"}
    assert collect_targets(program, "a.c:f", least=0.0) == {"a.c:add"}


def test_call_through_a_field_may_run_what_tables_of_its_type_hold() -> None:
    program = {
        "a.c": f"{HANDLERS}struct other {{ void (*read)(int); }};\nstatic void elsewhere(int x) {{}}\n"
        "static struct port p = { .read = on_read, .write = on_write };\nstatic struct other o = { .read = elsewhere };\n"
        "void go(struct port *q) { q->read(1); }\n"
    }
    edges = [edge for edge in link(program) if edge.source == "a.c:go" and edge.relation == "calls"]
    assert [edge.target for edge in edges] == ["a.c:on_read"]
    assert edges[0].confidence < 0.5


def test_type_is_referenced_by_signatures_fields_casts_and_sizes() -> None:
    program = {
        "a.h": "struct node { int n; };\ntypedef struct { int m; } pair_t;\nunion word { int w; };\n",
        "a.c": '#include "a.h"\nstruct tree { struct node *root; };\npair_t make(const struct node *n) { return n->p; }\n'
        "int size(void) { return sizeof(pair_t); }\nint cast(void *p) { return ((union word *)p)->w; }\n"
        "void local(void) { struct node n; }\n",
    }
    assert {(source, target) for source, _, target in triples(program, "references")} == {
        ("a.c:tree", "a.h:node"),
        ("a.c:make", "a.h:pair_t"),
        ("a.c:make", "a.h:node"),
        ("a.c:size", "a.h:pair_t"),
        ("a.c:cast", "a.h:word"),
        ("a.c:local", "a.h:node"),
    }


def test_same_function_in_several_files_is_the_one_beside_its_header() -> None:
    program = {
        "unix/port.h": "void port_open(void);\n",
        "unix/port.c": '#include "port.h"\nvoid port_open(void) {}\n',
        "win/port.c": "void port_open(void) {}\n",
        "main.c": '#include "unix/port.h"\nint main(void) { port_open(); }\n',
    }
    assert collect_targets(program, "main.c:main", "calls") == {"unix/port.c:port_open"}


def test_includes_lead_to_files_by_path_folder_and_unique_suffix() -> None:
    program = {
        "include/lib/a.h": "void a(void);\n",
        "src/b.h": "void b(void);\n",
        "src/c.c": '#include "b.h"\n#include <lib/a.h>\n#include "../lib/a.h"\n#include "string.h"\n#include "gone.h"\n',
        "compat/string.h": "void s(void);\n",
    }
    assert triples(program, "imports") == {
        ("src/c.c", "imports", "src/b.h"),
        ("src/c.c", "imports", "include/lib/a.h"),
        ("src/c.c", "imports", "string.h"),
        ("src/c.c", "imports", "gone.h"),
    }


def test_names_hidden_by_macros_are_no_declarations() -> None:
    program = {
        "api.h": "API int (lib_open) (int n);\n#define none void\n",
        "a.c": '#include "api.h"\nnone f(none) {}\n',
    }
    assert {target for _, _, target in triples(program, "references", "calls")} <= {"api.h:none"}


@pytest.mark.parametrize("path", list(LIST))
def test_incremental_build_equals_full_build(path: str) -> None:
    without = {name: text for name, text in LIST.items() if name != path}
    changed = LIST | {path: LIST[path].replace("list_len", "list_size").replace('#include "list.h"\n', "")}
    for before, after in ((without, LIST), (LIST, without), (LIST, changed), (changed, LIST)):
        assert_same_graph(build(after, build(before), before), build(after))
