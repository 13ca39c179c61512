"""Declarations of C and C++ around macros, which their grammars cannot parse."""

import pytest

from coderag.ingestion.parsing.chunking import parse_file
from coderag.ingestion.parsing.declarations import Syntax, read_syntax
from coderag.ingestion.parsing.languages import LANGUAGES, detect_language


def read(text: str, language: str = "cpp") -> Syntax:
    return read_syntax(text.encode(), LANGUAGES[language], timeout_s=5)


def names(text: str, language: str = "cpp") -> list[str]:
    return [declaration.qualified_name for declaration in read(text, language).declarations]


@pytest.mark.parametrize(
    ("head", "kind", "bases"),
    [
        ("class DOCK_EXPORT Panel final : public Surface", "class", ["Surface"]),
        ("struct DOCK_API Panel : Surface", "struct", ["Surface"]),
        ("struct dock_api Panel : Surface", "struct", ["Surface"]),
        ("class DOCK_ABI Panel : public Tree<Panel>, Other", "class", ["Tree", "Other"]),
        ("template <class T> class DOCK_EXPORT_T Panel", "class", []),
        ('class DOCK_DEPRECATED("use Pane") DOCK_API Panel : private ui::Surface', "class", ["Surface"]),
        ("class DOCK_EXPORT Panel SK_FINAL : public Surface", "class", ["Surface"]),
        ("class Panel : public DOCK_BASE Surface", "class", ["Surface"]),
        ("class alignas(16) DOCK_EXPORT Panel", "class", []),
        ("union DOCK_EXPORT Panel", "union", []),
        ("class __declspec(dllexport) Panel : Surface", "class", ["Surface"]),
        ("class [[nodiscard]] Panel", "class", []),
        ('class __attribute__((visibility("default"))) Panel', "class", []),
        ('class __declspec(dllexport) __attribute__((visibility("default"))) Panel : Surface', "class", ["Surface"]),
        ("class Panel : public Base<int(int)>", "class", ["Base"]),
    ],
)
def test_macros_in_the_head_of_a_type_hide_neither_name_nor_bases_nor_members(head, kind, bases):
    syntax = read(
        f"namespace dock {{\n{head} {{\n public:\n  int width() const {{ return 1; }}\n}};\nvoid after();\n}}\n"
    )
    assert [(item.qualified_name, item.kind) for item in syntax.declarations] == [
        ("dock", "namespace"), ("dock.Panel", kind), ("dock.Panel.width", "method"), ("dock.after", "function"),
    ]  # fmt: skip
    assert syntax.declarations[1].bases == bases
    assert syntax.note == ""


def test_macros_around_an_enumeration_and_its_enumerators():
    text = 'UENUM(BlueprintType)\nenum class GAME_API EMood : uint8 { Calm UMETA(DisplayName = "c"), Wild UMETA(Hidden) };\n'
    assert names(text) == ["EMood", "EMood.Calm", "EMood.Wild"]
    assert names("enum class DOCK_EXPORT Side { Left, Right };") == ["Side", "Side.Left", "Side.Right"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("struct stat info;", ["info"]),
        ("struct LIST head;", ["head"]),
        ("struct options defaults { 1 };", ["defaults"]),
        ("struct item* FIND(int key) { return look(key); }", ["FIND"]),
        ("enum mood MOOD(int key) { return pick(key); }", ["MOOD"]),
        ("struct bits { unsigned ON : 1; unsigned off : 2; };", ["bits"]),
        ("class DOCK_EXPORT Panel;", []),
        ("HANDLE open_device(DWORD mode);", ["open_device"]),
        ("FILE *log_file = NULL;", ["log_file"]),
        ("SOCKET\naccept_one(SOCKET s)\n{\n  return s;\n}", ["accept_one"]),
        ("int x = LIMIT(3);", ["x"]),
        ("class URL { URL(const char* text); URL(int port); };", ["URL", "URL.URL", "URL.URL"]),
    ],
)
def test_ordinary_declarations_in_capitals_are_left_alone(text, expected):
    assert names(text) == expected


def test_members_of_a_class_of_qt():
    syntax = read("""class DOCK_EXPORT Gauge : public QWidget
{
    Q_OBJECT
    Q_PROPERTY(int level READ level WRITE setLevel NOTIFY levelChanged)
    Q_DISABLE_COPY(Gauge)
public:
    explicit Gauge(QWidget *parent = nullptr);
    int level() const;
public slots:
    void setLevel(int level) { emit levelChanged(level); }
private Q_SLOTS:
    void refresh();
signals:
    void levelChanged(int level);
Q_SIGNALS:
    void emptied();
};
""")
    methods = ("Gauge", "level", "setLevel", "refresh", "levelChanged", "emptied")
    assert [item.qualified_name for item in syntax.declarations] == ["Gauge", *(f"Gauge.{name}" for name in methods)]
    assert len(syntax.calls) == 1  # the emitted signal
    assert syntax.note == ""


def test_members_of_a_class_of_unreal():
    text = """UCLASS(Blueprintable, meta = (Short = "h"))
class GAME_API AKnight : public ACharacter
{
    GENERATED_BODY()

public:
    AKnight();

    UPROPERTY(EditAnywhere, Category = "Fight", meta = (ClampMin = "0"))
    float Stamina = 1.0f;

    UFUNCTION(BlueprintCallable, Category = "Fight")
    void Strike(UPARAM(ref) FHit& Hit, int32 Count);

    UFUNCTION(BlueprintPure) bool IsTired() const;
};
"""
    assert names(text) == ["AKnight", "AKnight.AKnight", "AKnight.Strike", "AKnight.IsTired"]
    assert read(text).note == ""


@pytest.mark.parametrize(
    "text",
    [
        "DOCK_API void run();",
        "DOCK_API Panel run(int n);",
        "DOCK_API const char* run(void);",
        "DOCK_NODISCARD DOCK_API Panel* run(int n) { return 0; }",
        'DOCK_DEPRECATED("no") void run();',
        "void run() DOCK_NOEXCEPT;",
        "void run() dock_noexcept;",
        "int run() dock_noexcept { return 1; }",
        "void run(int n) DOCK_LOCKS(mutex) DOCK_COLD;",
        "HRESULT WINAPI run(int n);",
        "DOCK_API HRESULT WINAPI run(int n);",
        "static inline DOCK_UNUSED int run(int n) { return n; }",
        "static int __init run(void) { return 0; }",
        "JNIEXPORT jint JNICALL run(JNIEnv *env) { return 1; }",
        "PyAPI_FUNC(int) run(void);",
        "LIB_API int (run) (int n);",
        'extern "C" DOCK_API int run(int n);',
    ],
)
@pytest.mark.parametrize("language", ["c", "cpp"])
def test_macros_around_a_function_do_not_hide_its_name(text, language):
    syntax = read(f"{text}\nint after(int n) {{ return n; }}\n", language)
    assert [(item.qualified_name, item.kind) for item in syntax.declarations] == [
        ("run", "function"),
        ("after", "function"),
    ]
    assert syntax.note == ""


def test_annotations_of_members_are_not_methods():
    text = """class Queue {
  void push(int n) EXCLUDES(mutex_);
  int size() const REQUIRES(mutex_) { return n_; }
  Queue(int n) EXCLUDES(mutex_) : n_(n) {}
  int n_ GUARDED_BY(mutex_);
  std::map<int, int> slots_ GUARDED_BY(mutex_) = {};
  Mutex mutex_ ACQUIRED_AFTER(other_);
  DISALLOW_COPY(Queue);
};
"""
    assert names(text) == ["Queue", "Queue.push", "Queue.size", "Queue.Queue"]


def test_statement_of_a_macro_in_a_class_is_a_call_of_what_it_registers():
    text = 'class Users {\n    ROUTES_BEGIN\n    ADD_ROUTE(Users::list, "/users");\n    ROUTES_END\n\n    void list();\n};\n'
    syntax = read(text)
    assert [item.qualified_name for item in syntax.declarations] == ["Users", "Users.list"]
    assert [text[start:end] for start, end in syntax.calls] == ["ADD_ROUTE"]


def test_macros_on_their_own_lines_do_not_hide_the_declaration_below():
    text = """DOCK_NAMESPACE_BEGIN(ui)
class Panel { void show(); };
DOCK_NAMESPACE_END(ui)
DOCK_BEGIN_NAMESPACE
Panel make();
DOCK_END_NAMESPACE

Scene::Scene(QWidget *parent) : QWidget(parent)
{
}
Q_DECLARE_METATYPE(Panel)
static int count(int n) { return n; }
TEST(Panel, Shows)
{
  EXPECT_EQ(1, 1);
}
"""
    assert names(text) == ["Panel", "Panel.show", "make", "Scene.Scene", "count", "Panel.Shows"]


@pytest.mark.parametrize(
    "text",
    [
        "class Panel {};\nDOCK_DECLARE_METATYPE(Panel*)\n",
        "class Panel {};\nDOCK_DECLARE_METATYPE(Panel*)\nDOCK_DECLARE_FLAGS(Panel)\n",
        "DOCK_DECLARE_DELEGATE_OneParam(FOnShown, Panel*, Shown);\nclass Panel {};\n",
        "class Panel {};\nDOCK_IMPLEMENT(Panel&, ui);\n",
    ],
)
def test_statements_of_macros_with_pointer_types_are_no_functions(text):
    assert names(text) == ["Panel"]


def test_statements_of_macros_with_products_or_names_are_calls():
    text = "DOCK_CHECK(SIZE * COUNT);\nint *DOCK_make(int *size);\nDOCK_HANDLE open(Panel *panel);\n"
    assert names(text) == ["DOCK_make", "open"]


@pytest.mark.parametrize("language", ["c", "cpp"])
def test_statements_below_macros_without_semicolons_are_no_functions(language):
    text = """int drain(int level) {
    HOLD(level)
    {
        TRACE_DRAIN
        if (level > 1) { level = lower(level); }
    }
    BEGIN_COUNT
    while (level) { level = lower(level); }
    END_COUNT
    return (level = lower(level)) ? 1 : 0;
}
TEST_OF(drain) { lower(2); }
"""
    syntax = read(text, language)
    assert [declaration.qualified_name for declaration in syntax.declarations][:-1] == ["drain"]  # the last is the test
    assert [text[start:end] for start, end in syntax.calls].count("lower") >= 3


def test_mocked_methods_are_methods():
    text = """class MockQueue : public Queue {
 public:
  MOCK_METHOD(int, size, (), (const, override));
  MOCK_METHOD(void, push, (const Item& item, int n), (override));
  MOCK_METHOD((std::map<int, Item>), items, (int n));
  MOCK_METHOD1(drop, bool(int n));
  MOCK_CONST_METHOD0(last, int());
};
"""
    assert names(text) == ["MockQueue", *(f"MockQueue.{name}" for name in ("size", "push", "items", "drop", "last"))]
    assert read(text).note == ""


def test_macros_in_namespaces_aliases_and_operators():
    text = """namespace ui DOCK_HIDDEN {
namespace DOCK_EXPORT detail { void draw(); }
using Size DOCK_DEPRECATED = int;
DOCK_API bool operator<(Panel a, Panel b) DOCK_NOEXCEPT;
}
using namespace ui;
"""
    qualified = ["ui", "ui.detail", "ui.detail.draw", "ui.Size", "ui.operator<"]
    assert names(text) == qualified


def test_text_that_looks_like_macros_in_comments_strings_and_directives_stays():
    text = (
        "// class DOCK_EXPORT Fake : public X {\n/* signals:\n  Q_OBJECT */\n"
        '#define WRAP(x) class DOCK_EXPORT x {\nconst char* text = "class DOCK_EXPORT Fake {";\n'
        'const char* raw = R"(class DOCK_EXPORT Fake { )";\nint after(int n);\n'
    )
    assert names(text) == ["WRAP", "text", "raw", "after"]


def test_kernel_launches_and_device_functions_of_cuda():
    text = """__global__ void scale(float *x, int n) { x[0] = twice(x[0]); }
template <typename T> __device__ __forceinline__ T twice(T x) { return x + x; }
__global__ void __launch_bounds__(256) clear(float *x) {}
void run(float *x) {
  scale<<<blocks(4), 256>>>(x, length(x));
  copy<float><<<dim3(1), 32, 0, stream>>>(x);
}
"""
    assert detect_language("gpu.cu", text) == detect_language("gpu.cuh", text) == "cpp"
    syntax = read(text)
    assert [item.qualified_name for item in syntax.declarations] == ["scale", "twice", "clear", "run"]
    calls = [text[start:end] for start, end in syntax.calls]
    assert calls == ["twice", "scale", "blocks", "length", "copy", "dim3"]
    assert syntax.note == ""


@pytest.mark.parametrize(
    "text",
    [
        "struct LIB_API view : base {\n  int size;\n};\n",
        "class Panel\n{\n  int width;\n};\n",
        "enum class Side { Left };\n",
        "UENUM()\nenum class ESide : uint8\n{\n  Left\n};\n",
    ],
)
def test_headers_with_types_of_cpp_are_cpp(text):
    assert detect_language("panel.h", f"#pragma once\n{text}") == "cpp"


def test_header_of_c_stays_c():
    assert (
        detect_language("list.h", "struct list {\n  int flags : 3;\n  struct list *next;\n};\nint class_of(int n);\n")
        == "c"
    )


def test_macros_above_a_declaration_belong_to_its_chunk_and_do_not_hide_its_comment():
    text = """int first(int n) { return n; }

// Runs it.
DOCK_DEPRECATED("no")
DOCK_API int run(int n)
{
  return n;
}
DOCK_END_NAMESPACE

#if LAST
// Last.
int last(int n) { return n; }
#endif
"""
    parsed = parse_file("a.cpp", text, "cpp", "source", max_tokens=25, min_tokens=1, timeout_s=None)
    chunks = {chunk.metadata["name"]: (chunk.metadata["docstring"], chunk.text) for chunk in parsed.chunks}
    assert chunks["run"][0] == "Runs it."
    assert 'DOCK_DEPRECATED("no")\nDOCK_API int run' in chunks["run"][1]
    assert chunks["last"][0] == "Last."
    assert "".join(chunk.text for chunk in parsed.chunks) == text
