/** A file of the repository: its lines in the order in which they arrive, and what its code uses. */

import { api, type Schemas, unwrap } from "../../api/client";
import type { LineLink } from "../../components/code/LineTokens.svelte";
import { placeLinks } from "./link_spans";

export type FileView = Schemas["FileView"];
export type Chunk = Schemas["ChunkEntry"];

const MAX_CHUNKS = 2_000;
const CHUNK_PAGE = 500;
const MAX_LINKS = 5_000;

export class LoadedFile {
  view = $state.raw<FileView | null>(null);
  lines = $state.raw<string[]>([]);
  outline = $state.raw<Schemas["OutlineEntry"][]>([]);
  chunks = $state.raw<Chunk[]>([]);
  links = $state.raw<ReadonlyMap<number, LineLink[]>>(new Map());
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
    if (view.outcome === "indexed") void this.#loadIndexed();
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

  /** Load what the index adds; without it, the text stands alone. */
  async #loadIndexed(): Promise<void> {
    await Promise.allSettled([this.#loadOutline(), this.#loadChunks(), this.#loadLinks()]);
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

  async #loadChunks(): Promise<void> {
    let offset: number | null = 0;
    while (offset !== null && offset < MAX_CHUNKS) {
      const body = { root: this.root, path: this.path, limit: CHUNK_PAGE, offset } as Schemas["ChunksBody"];
      const page: Schemas["ChunkListing"] = await unwrap(
        api.POST("/api/v1/chunks", { body, signal: this.#abort.signal }),
      );
      this.chunks = [...this.chunks, ...page.chunks];
      offset = page.next_offset ?? null;
    }
  }

  async #loadLinks(): Promise<void> {
    const query = { root: this.root, path: this.path, limit: MAX_LINKS };
    const reply = await unwrap(api.GET("/api/v1/file/links", { params: { query }, signal: this.#abort.signal }));
    this.links = placeLinks(reply.links, (line) => this.lines[line - 1] ?? "", []);
  }
}
