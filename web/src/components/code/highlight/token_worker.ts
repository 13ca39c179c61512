/** Worker that tokenizes texts, those shown last first, so that the page never waits for a grammar. */

import type { Token } from "./token_theme";
import { TokenizedText } from "./tokenized_text";
import { loadTokenizer } from "./tokenizer";

/** `lines` come with the first message about a text; a message without a range ends it. */
export interface TokenRequest {
  id: number;
  language?: string;
  lines?: string[];
  range?: [number, number];
  kept?: number[];
}

export interface TokenReply {
  id: number;
  block: number;
  tokens: Token[][];
}

const texts = new Map<number, Promise<TokenizedText | null>>();
const queue: number[] = [];
let isRunning = false;
const SLICE_MS = 20; // messages arrive in between

addEventListener("message", ({ data }: MessageEvent<TokenRequest>) => {
  const { id, language, lines, range, kept = [] } = data;
  removeFromQueue(id);
  if (lines) texts.set(id, open(lines, language ?? ""));
  if (!range) texts.delete(id);
  else void texts.get(id)?.then((text) => text && schedule(id, text, range, kept));
});

async function open(lines: string[], language: string): Promise<TokenizedText | null> {
  const tokenize = await loadTokenizer(language).catch(() => null); // without its grammar, code stays plain
  return tokenize && new TokenizedText(lines, tokenize);
}

function schedule(id: number, text: TokenizedText, range: [number, number], kept: readonly number[]): void {
  if (!texts.has(id)) return;
  text.show(...range, kept);
  removeFromQueue(id);
  queue.push(id);
  if (!isRunning) void run();
}

async function run(): Promise<void> {
  isRunning = true;
  let deadline = performance.now() + SLICE_MS;
  for (let id = queue.at(-1); id !== undefined; id = queue.at(-1)) {
    const text = await texts.get(id);
    const step = text?.step();
    if (!step) removeFromQueue(id);
    else if (step.tokens) postMessage({ id, block: step.block, tokens: step.tokens } satisfies TokenReply);
    if (performance.now() < deadline) continue;
    await new Promise((resolve) => setTimeout(resolve));
    deadline = performance.now() + SLICE_MS;
  }
  isRunning = false;
}

function removeFromQueue(id: number): void {
  const index = queue.indexOf(id);
  if (index >= 0) queue.splice(index, 1);
}
