/** Kinds of tokens, as a theme whose colours stand for classes: the content security policy allows no inline styles. */

import type { ThemeRegistrationRaw } from "shiki/core";

export type TokenKind = "" | "keyword" | "string" | "number" | "comment" | "function" | "type" | "heading" | "link";

export interface Token {
  text: string;
  kind: TokenKind;
}

const SCOPES: [TokenKind, string[]][] = [
  ["", ["keyword.operator", "punctuation", "meta.brace", "storage.modifier.import", "storage.modifier.package", "string meta.template", "meta.interpolation", "meta.embedded"]],
  ["comment", ["comment", "punctuation.definition.comment", "string.comment", "string.quoted.docstring", "markup.quote"]],
  ["string", ["string", "punctuation.definition.string", "constant.character", "constant.other.symbol", "string.regexp", "markup.inline.raw", "markup.inserted"]],
  ["number", ["constant.numeric", "constant.language", "constant.other", "variable.language", "support.constant", "keyword.other.unit", "markup.deleted"]],
  ["keyword", ["keyword", "storage", "keyword.operator.word", "keyword.operator.new", "keyword.operator.logical.python", "keyword.operator.expression", "entity.name.tag", "support.type.property-name.json", "markup.bold", "markup.italic"]],
  ["function", ["entity.name.function", "support.function", "meta.function-call.generic", "entity.name.tag.yaml", "support.type.property-name.toml", "entity.other.attribute-name", "support.type.property-name.css"]],
  ["type", ["entity.name.type", "entity.name.class", "entity.other.inherited-class", "support.class", "support.type", "entity.name.namespace", "storage.type.primitive", "storage.type.built-in", "storage.type.java", "storage.type.cs"]],
  ["heading", ["markup.heading", "entity.name.section"]],
  ["link", ["markup.underline.link"]],
];

export const THEME_NAME = "token-kinds";
const PLAIN_COLOR = "#000000";

export const TOKEN_THEME: ThemeRegistrationRaw = {
  name: THEME_NAME,
  type: "light",
  fg: PLAIN_COLOR,
  bg: "#ffffff",
  settings: [
    { settings: { foreground: PLAIN_COLOR, background: "#ffffff" } },
    ...SCOPES.map(([, scope], index) => ({ scope, settings: { foreground: toColor(index) } })),
  ],
};

const KINDS = new Map(SCOPES.map(([kind], index) => [toColor(index), kind]));

/** Return the kind of token that a colour of the theme stands for. */
export function readKind(color: string | undefined): TokenKind {
  return KINDS.get(color?.toLowerCase() ?? "") ?? "";
}

function toColor(index: number): string {
  return `#0000${(index + 1).toString(16).padStart(2, "0")}`;
}
