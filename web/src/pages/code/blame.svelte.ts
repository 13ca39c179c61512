/** Authorship of the lines of a file, loaded in parts around what is on the screen. */

import { api, isAbort, type Schemas, unwrap } from "../../api/client";

export type CommitEntry = Schemas["CommitEntry"];

export interface BlamedLine {
  /** Null for a line that is not committed yet. */
  commit: CommitEntry | null;
  /** Whether it begins a run of lines of one commit. */
  isFirst: boolean;
  path: string;
  originalLine: number;
}

export class Blame {
  lines = $state.raw<ReadonlyMap<number, BlamedLine>>(new Map());
  notes = $state.raw<readonly string[]>([]);
  error = $state.raw<unknown>(null);
  isLoading = $state(false);
  #abort = new AbortController();

  constructor(
    readonly root: string,
    readonly path: string,
  ) {}

  /** Load all lines, part by part. */
  async load(): Promise<void> {
    this.isLoading = true;
    try {
      for (let next: number | null = 1; next; ) {
        const query = { root: this.root, path: this.path, start_line: next };
        const reply: Schemas["BlameReply"] = await unwrap(
          api.GET("/api/v1/history/blame", { params: { query }, signal: this.#abort.signal }),
        );
        this.#add(reply);
        next = reply.next_line ?? null;
      }
    } catch (error) {
      if (!isAbort(error)) this.error = error;
    }
    this.isLoading = false;
  }

  close(): void {
    this.#abort.abort();
  }

  #add(reply: Schemas["BlameReply"]): void {
    const lines = new Map(this.lines);
    let previous: number | null = null;
    for (const { start_line, end_line, commit, path, original_line } of reply.spans) {
      for (let line = start_line; line <= end_line; line++)
        lines.set(line, {
          commit: reply.commits[commit] ?? null,
          isFirst: line === start_line && commit !== previous,
          path,
          originalLine: original_line + line - start_line,
        });
      previous = commit;
    }
    this.lines = lines;
    this.notes = reply.notes;
  }
}
