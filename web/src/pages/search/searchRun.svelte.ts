/** Searches as they are typed: the newest wins, and what was typed to its end is recorded. */

import { api, isAbort, type Schemas, unwrap } from "../../api/client";
import type { FilterBody } from "./searchAddress";

export type Hit = Schemas["PreviewHit"];

export interface SearchRequest {
  root: string;
  query: string;
  filters: FilterBody | null;
  offset: number;
}

/** What is read of a result. */
function describeHit({ path, start_line, qualified_name, lines }: Hit): unknown[] {
  return [path, start_line, qualified_name, lines];
}

const SETTLED_MS = 2_500;

export class SearchRun {
  reply = $state.raw<Schemas["PreviewReply"] | null>(null);
  error = $state.raw<unknown>(null);
  isLoading = $state(false);
  /** Milliseconds from the request to the reply, as this browser saw it. */
  elapsedMs = $state(0);
  #recorded = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Search; return the function that gives it up. */
  start(request: SearchRequest): () => void {
    const controller = new AbortController();
    this.isLoading = true;
    void this.#search(request, controller.signal);
    return () => controller.abort();
  }

  /** Return whether a search has other results now; if not, what else the reply says is replaced. */
  async hasOtherResults(request: SearchRequest): Promise<boolean> {
    const shown = this.reply;
    const reply = await unwrap(api.POST("/api/v1/search/preview", { body: { ...request, record: false } }));
    if (this.reply !== shown || !shown) return false;
    if (JSON.stringify(reply.hits.map(describeHit)) !== JSON.stringify(shown.hits.map(describeHit))) return true;
    this.reply = reply;
    return false;
  }

  /** Forget what waits to be recorded. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  clear(): void {
    this.reply = null;
    this.error = null;
    this.isLoading = false;
  }

  /** Have a query recorded as soon as it has results and is not changed for a while. */
  recordWhenSettled(request: SearchRequest): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.record(request), SETTLED_MS);
  }

  /** Have a query recorded among the recent ones; once, however often it is shown. */
  record(request: SearchRequest): void {
    clearTimeout(this.#timer);
    const key = JSON.stringify(request);
    if (request.offset || key === this.#recorded) return;
    this.#recorded = key;
    void api.POST("/api/v1/search/preview", { body: { ...request, record: true } }).catch(() => undefined);
  }

  async #search(request: SearchRequest, signal: AbortSignal): Promise<void> {
    const started = performance.now();
    try {
      this.reply = await unwrap(api.POST("/api/v1/search/preview", { body: { ...request, record: false }, signal }));
      this.elapsedMs = performance.now() - started;
      this.error = null;
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      this.reply = null;
      this.error = error;
    }
    this.isLoading = false;
  }
}
