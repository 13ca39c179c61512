/** Text whose lines get their tokens in blocks: first those on the screen, then those before them. */

import type { Token } from "./token_theme";
import type { LineState, Tokenize } from "./tokenizer";

export const BLOCK_LINES = 50;
/** Blocks tokenized from the beginning before lines are first shown; further down they are guessed, then corrected. */
const MAX_DIRECT_BLOCKS = 6;

export class TokenizedText {
  /** State at the beginning of each block; those of the first blocks are known. */
  #states: LineState[] = [undefined];
  #sent = new Set<number>();
  #guessed = new Set<number>();
  #range: [number, number] = [0, 0];

  constructor(
    private readonly lines: readonly string[],
    private readonly tokenize: Tokenize,
  ) {}

  /** Choose the blocks to tokenize, without those that were sent and are `kept`. */
  show(first: number, end: number, kept: readonly number[]): void {
    this.#range = [first, Math.min(end, Math.ceil(this.lines.length / BLOCK_LINES))];
    this.#sent = new Set(kept);
  }

  /** Tokenize the next block; null if nothing is left to do. `tokens` are those of a block to show. */
  step(): { block: number; tokens: Token[][] | null } | null {
    const block = this.#findNext();
    if (block === null) return null;
    const start = block * BLOCK_LINES;
    const { lines, state } = this.tokenize(this.lines.slice(start, start + BLOCK_LINES), this.#states[block]);
    const isExact = block < this.#states.length;
    if (block + 1 === this.#states.length) this.#states.push(state);
    const [first, end] = this.#range;
    if (block < first || block >= end) return { block, tokens: null };
    this.#sent.add(block);
    if (isExact) this.#guessed.delete(block);
    else this.#guessed.add(block);
    return { block, tokens: lines };
  }

  /** Return the block to tokenize next: one to show, else the first one whose end state leads to those. */
  #findNext(): number | null {
    const [first, end] = this.#range;
    const known = this.#states.length;
    for (let block = first; block < end; block += 1) {
      const isSent = this.#sent.has(block);
      if (!isSent && (block < known || block - known >= MAX_DIRECT_BLOCKS)) return block;
      if (isSent && this.#guessed.has(block) && block < known) return block;
    }
    return known < end ? known - 1 : null;
  }
}
