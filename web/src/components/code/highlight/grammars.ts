/** Grammars by the names that the index gives languages, each loaded when code in it is first shown. */

import type { LanguageRegistration } from "shiki/core";

type Module = { default: LanguageRegistration[] };
type Load = () => Promise<Module>;

const css: Load = () => import("shiki/langs/css.mjs");
const html: Load = () => import("shiki/langs/html.mjs");
const javascript: Load = () => import("shiki/langs/javascript.mjs");
const json: Load = () => import("shiki/langs/json.mjs");
const ocaml: Load = () => import("shiki/langs/ocaml.mjs");
const python: Load = () => import("shiki/langs/python.mjs");
const typescript: Load = () => import("shiki/langs/typescript.mjs");
const yaml: Load = () => import("shiki/langs/yaml.mjs");
const c: Load = () => import("shiki/langs/c.mjs");
const make: Load = () => import("shiki/langs/make.mjs");

/** The grammar of a language is the last one; those before it are for code that it embeds. */
const GRAMMARS: Record<string, Load[]> = {
  automake: [make],
  awk: [() => import("shiki/langs/awk.mjs")],
  batch: [() => import("shiki/langs/bat.mjs")],
  c: [c],
  c_sharp: [() => import("shiki/langs/csharp.mjs")],
  clojure: [() => import("shiki/langs/clojure.mjs")],
  cmake: [() => import("shiki/langs/cmake.mjs")],
  cpp: [() => import("shiki/langs/cpp.mjs")],
  css: [css],
  cython: [python],
  dart: [() => import("shiki/langs/dart.mjs")],
  diff: [() => import("shiki/langs/diff.mjs")],
  dockerfile: [() => import("shiki/langs/docker.mjs")],
  elixir: [() => import("shiki/langs/elixir.mjs")],
  elm: [() => import("shiki/langs/elm.mjs")],
  erlang: [() => import("shiki/langs/erlang.mjs")],
  fsharp: [() => import("shiki/langs/fsharp.mjs")],
  go: [() => import("shiki/langs/go.mjs")],
  graphql: [() => import("shiki/langs/graphql.mjs")],
  groovy: [() => import("shiki/langs/groovy.mjs")],
  haskell: [() => import("shiki/langs/haskell.mjs")],
  html: [javascript, css, html],
  ini: [() => import("shiki/langs/ini.mjs")],
  java: [() => import("shiki/langs/java.mjs")],
  javascript: [javascript],
  json: [json],
  jsonl: [json],
  julia: [() => import("shiki/langs/julia.mjs")],
  kotlin: [() => import("shiki/langs/kotlin.mjs")],
  lua: [() => import("shiki/langs/lua.mjs")],
  luau: [() => import("shiki/langs/luau.mjs")],
  make: [make],
  markdown: [() => import("shiki/langs/markdown.mjs")],
  nix: [() => import("shiki/langs/nix.mjs")],
  objective_c: [() => import("shiki/langs/objective-c.mjs")],
  ocaml: [ocaml],
  ocaml_interface: [ocaml],
  perl: [() => import("shiki/langs/perl.mjs")],
  php: [html, () => import("shiki/langs/php.mjs")],
  powershell: [() => import("shiki/langs/powershell.mjs")],
  protobuf: [() => import("shiki/langs/proto.mjs")],
  python: [python],
  r: [() => import("shiki/langs/r.mjs")],
  rst: [() => import("shiki/langs/rst.mjs")],
  ruby: [() => import("shiki/langs/ruby.mjs")],
  rust: [() => import("shiki/langs/rust.mjs")],
  scala: [() => import("shiki/langs/scala.mjs")],
  scss: [css, () => import("shiki/langs/scss.mjs")],
  shell: [() => import("shiki/langs/shellscript.mjs")],
  solidity: [() => import("shiki/langs/solidity.mjs")],
  sql: [() => import("shiki/langs/sql.mjs")],
  starlark: [python],
  svelte: [javascript, typescript, css, html, () => import("shiki/langs/svelte.mjs")],
  swift: [() => import("shiki/langs/swift.mjs")],
  terraform: [() => import("shiki/langs/terraform.mjs")],
  toml: [() => import("shiki/langs/toml.mjs")],
  tsx: [() => import("shiki/langs/tsx.mjs")],
  typescript: [typescript],
  vue: [
    javascript,
    typescript,
    css,
    html,
    () => import("shiki/langs/html-derivative.mjs"),
    () => import("shiki/langs/vue-directives.mjs"),
    () => import("shiki/langs/vue-interpolations.mjs"),
    () => import("shiki/langs/vue.mjs"),
  ],
  xml: [() => import("shiki/langs/xml.mjs")],
  yaml: [yaml],
  zig: [() => import("shiki/langs/zig.mjs")],
};

/** Load the grammars of a language, its own last; none if the language has no grammar here. */
export async function loadGrammars(language: string): Promise<LanguageRegistration[]> {
  const modules = await Promise.all((GRAMMARS[language] ?? []).map((load) => load()));
  return modules.map((module) => detachEmbedded(module.default.at(-1) as LanguageRegistration));
}

/** Return a grammar that does not insist on those of the code that it embeds: C++ alone would load four others. */
function detachEmbedded(grammar: LanguageRegistration): LanguageRegistration {
  return { ...grammar, embeddedLangs: [], embeddedLanguages: undefined };
}
