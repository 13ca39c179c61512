/** A file of the repository: its lines in the order in which they arrive, and what its code uses. */

import { api, type Schemas, unwrap } from "../../api/client";
import type { LineLink } from "../../components/code/LineTokens.svelte";
import { placeLinks } from "./link_spans";

export type FileView = Schemas["FileView"];
export type Chunk = Schemas["ChunkEntry"];

const SPAN_LINES = 1_000;
const MAX_CHUNKS = 500;
const MAX_LINKS = 5_000;

/** Return whether a chunk is a declaration, rather than a part of a file. */
export function isDeclaration({ name, kind }: Chunk): boolean {
  return Boolean(name) && !["module", "section", "block"].includes(kind);
}

function listLines(span: number): { start_line: number; end_line: number } {
  return { start_line: span * SPAN_LINES + 1, end_line: (span + 1) * SPAN_LINES };
}

export class LoadedFile {
  view = $state.raw<FileView | null>(null);
  lines = $state.raw<string[]>([]);
  outline = $state.raw<Schemas["OutlineEntry"][]>([]);
  /** Chunks of the lines that were on the screen. */
  chunks = $state.raw<Chunk[]>([]);
  links = $state.raw<ReadonlyMap<number, LineLink[]>>(new Map());
  #spans = new Set<number>();
  #chunksBySpan = new Map<number, Chunk[]>();
  #linksBySpan = new Map<number, ReadonlyMap<number, LineLink[]>>();
  #abort = new AbortController();

  constructor(
    readonly root: string,
    readonly path: string,
  ) {}

  /** Load the first lines; the others, the outline and the chunks follow without being waited for. */
  async load(): Promise<void> {
    const view = await this.#read(1);
    this.view = view;
    this.lines = view.text || view.end_line ? view.text.split("\n") : [];
    void this.#loadRest(view.next_line ?? null);
    if (view.outcome === "indexed") void this.#loadOutline().catch(() => undefined); // the text stands alone
  }

  /** Return whether the file on disk differs from what is shown; if not, what the index says of it is read again. */
  async hasChanged(): Promise<boolean> {
    const fresh = new LoadedFile(this.root, this.path);
    fresh.view = await fresh.#read(1);
    fresh.lines = fresh.view.text || fresh.view.end_line ? fresh.view.text.split("\n") : [];
    if (fresh.view.size !== this.view?.size || fresh.view.total_lines !== this.view.total_lines) return true;
    await fresh.#loadRest(fresh.view.next_line ?? null);
    const isSame =
      fresh.view.state === this.view?.state &&
      fresh.lines.length === this.lines.length &&
      fresh.lines.every((line, index) => line === this.lines[index]);
    if (isSame) this.#renew(fresh.view);
    return !isSame;
  }

  /** Read again what the index says, for the same text. */
  #renew(view: FileView): void {
    this.view = view;
    const spans = [...this.#spans];
    this.#spans.clear();
    for (const span of spans) this.showLine(span * SPAN_LINES + SPAN_LINES / 2);
    if (view.outcome === "indexed") void this.#loadOutline().catch(() => undefined); // as above
  }

  close(): void {
    this.#abort.abort();
  }

  async #loadRest(next: number | null): Promise<void> {
    try {
      while (next) {
        const view: FileView = await this.#read(next);
        this.lines = [...this.lines, ...view.text.split("\n")];
        next = view.next_line ?? null;
      }
    } catch {
      // the lines that came are there; going there again loads the file anew
    }
  }

  /** Load what the index knows of lines around one. */
  showLine(line: number): void {
    if (this.view?.outcome !== "indexed") return;
    for (const near of [line - SPAN_LINES / 4, line + SPAN_LINES / 4]) {
      const span = Math.floor(Math.max(0, near - 1) / SPAN_LINES);
      if (this.#spans.has(span) || span * SPAN_LINES >= this.lines.length) continue;
      this.#spans.add(span);
      void Promise.allSettled([this.#loadChunks(span), this.#loadLinks(span)]); // the text stands alone
    }
  }

  async #read(startLine: number): Promise<FileView> {
    const query = { root: this.root, path: this.path, start_line: startLine };
    return unwrap(api.GET("/api/v1/file", { params: { query }, signal: this.#abort.signal }));
  }

  async #loadOutline(): Promise<void> {
    const body = { root: this.root, path: this.path };
    const reply = await unwrap(api.POST("/api/v1/graph/outline", { body, signal: this.#abort.signal }));
    if (reply.path === this.path) this.outline = reply.results;
  }

  async #loadChunks(span: number): Promise<void> {
    const body = { root: this.root, path: this.path, limit: MAX_CHUNKS, ...listLines(span) } as Schemas["ChunksBody"];
    const page = await unwrap(api.POST("/api/v1/chunks", { body, signal: this.#abort.signal }));
    this.#chunksBySpan.set(span, page.chunks);
    this.chunks = [...this.#chunksBySpan.values()].flat();
  }

  async #loadLinks(span: number): Promise<void> {
    const query = { root: this.root, path: this.path, limit: MAX_LINKS, ...listLines(span) };
    const reply = await unwrap(api.GET("/api/v1/file/links", { params: { query }, signal: this.#abort.signal }));
    this.#linksBySpan.set(span, placeLinks(reply.links, (line) => this.lines[line - 1] ?? "", []));
    this.links = new Map([...this.#linksBySpan.values()].flatMap((links) => [...links]));
  }
}
