/** Tokens of code: shiki's core with the JavaScript regex engine. It runs in a worker, as a grammar takes long to compile. */

import { codeToTokensBase, createShikiPrimitive, getLastGrammarState, type GrammarState } from "shiki/core";
import { createJavaScriptRegexEngine } from "shiki/engine/javascript";
import { loadGrammars } from "./grammars";
import { readKind, THEME_NAME, TOKEN_THEME, type Token } from "./token_theme";

/** Where the grammar is at the end of a line, such as in a comment of several lines. */
export type LineState = GrammarState | undefined;

/** Return the tokens of each line, and the state after the last one. */
export type Tokenize = (lines: readonly string[], state: LineState) => { lines: Token[][]; state: LineState };

const MAX_LINE_CHARS = 2_000; // a longer line is minified or data, and stays plain
const MAX_LINE_MS = 2_000; // the first lines include the time to compile the grammar

const primitive = createShikiPrimitive({
  engine: createJavaScriptRegexEngine({ forgiving: true }),
  themes: [TOKEN_THEME],
  langs: [],
});
const loading = new Map<string, Promise<Tokenize | null>>();

/** Load the tokenizer of a language as the index names it; null if there is none. */
export function loadTokenizer(language: string): Promise<Tokenize | null> {
  let loaded = loading.get(language);
  if (!loaded) {
    loaded = load(language);
    loading.set(language, loaded);
    loaded.catch(() => loading.delete(language)); // the next file tries again
  }
  return loaded;
}

async function load(language: string): Promise<Tokenize | null> {
  const grammars = await loadGrammars(language);
  const own = grammars.at(-1);
  if (!own) return null;
  primitive.loadLanguageSync(...grammars);
  return (lines, grammarState) => {
    const tokens = codeToTokensBase(primitive, lines.join("\n"), {
      lang: own.name,
      theme: THEME_NAME,
      tokenizeMaxLineLength: MAX_LINE_CHARS,
      tokenizeTimeLimit: MAX_LINE_MS,
      ...(grammarState ? { grammarState } : {}),
    });
    return { lines: tokens.map(mergeTokens), state: getLastGrammarState(primitive, tokens) };
  };
}

function mergeTokens(tokens: readonly { content: string; color?: string }[]): Token[] {
  const merged: Token[] = [];
  for (const { content, color } of tokens) {
    const kind = readKind(color);
    const last = merged.at(-1);
    if (last && (last.kind === kind || !content.trim())) last.text += content;
    else merged.push({ text: content, kind });
  }
  return merged;
}
