/** Tokens of the lines on the screen, from a worker. Until they come, and without a grammar, lines are plain. */

import { SvelteMap } from "svelte/reactivity";
import type { Token } from "./token_theme";
import type { TokenReply, TokenRequest } from "./token_worker";

const BLOCK_LINES = 50; // as in `tokenized_text.ts`, which only the worker loads
const MAX_KEPT_BLOCKS = 60;

let worker: Worker | undefined;
let lastId = 0;
const open = new Map<number, LineHighlighter>();

function send(request: TokenRequest): void {
  if (!worker) {
    worker = new Worker(new URL("./token_worker.ts", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data }: MessageEvent<TokenReply>) => open.get(data.id)?.accept(data));
  }
  worker.postMessage(request);
}

export class LineHighlighter {
  readonly #id = (lastId += 1);
  #blocks = new SvelteMap<number, Token[][]>();
  #range: [number, number] | null = null;

  constructor(
    private readonly lines: readonly string[],
    private readonly language: string,
  ) {}

  /** Return the tokens of a line, by its index; undefined as long as they are unknown. */
  getTokens(index: number): Token[] | undefined {
    return this.#blocks.get(Math.floor(index / BLOCK_LINES))?.[index % BLOCK_LINES];
  }

  /** Compute the tokens of the lines from `start` up to `end`, by index. */
  show(start: number, end: number): void {
    const range: [number, number] = [Math.floor(start / BLOCK_LINES), Math.ceil(end / BLOCK_LINES)];
    if (this.#range && this.#range[0] === range[0] && this.#range[1] === range[1]) return;
    const isFirst = this.#range === null;
    this.#range = range;
    this.#dropDistantBlocks();
    open.set(this.#id, this);
    const text = isFirst ? { language: this.language, lines: [...this.lines] } : {};
    send({ id: this.#id, ...text, range, kept: [...this.#blocks.keys()] });
  }

  accept({ block, tokens }: TokenReply): void {
    this.#blocks.set(block, tokens);
  }

  close(): void {
    if (open.delete(this.#id)) send({ id: this.#id });
  }

  #dropDistantBlocks(): void {
    const [first, end] = this.#range ?? [0, 0];
    for (const block of [...this.#blocks.keys()]) {
      if (this.#blocks.size <= MAX_KEPT_BLOCKS) return;
      if (block < first || block >= end) this.#blocks.delete(block);
    }
  }
}
