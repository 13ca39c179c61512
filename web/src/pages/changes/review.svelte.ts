/** Review of the change that the address names. */

import { api, isAbort, type Schemas, unwrap } from "../../api/client";

export type Review = Schemas["ChangeReview"];
export type ReviewedDeclaration = Schemas["ReviewedDeclaration"];
export type NamingLine = Schemas["NamingLine"];

export interface Target {
  from: string;
  to: string;
  /** Whether only what `to` changed since both parted is reviewed. */
  isSinceFork: boolean;
  isStaged: boolean;
}

export function parseTarget(query: URLSearchParams): Target {
  const [from, to] = [query.get("from")?.trim() ?? "", query.get("to")?.trim() ?? ""];
  return { from, to, isSinceFork: query.get("fork") === "1", isStaged: query.get("staged") === "1" && !from && !to };
}

/** Return the revisions as the service takes them; empty for the working tree against HEAD. */
export function formatRevisions({ from, to, isSinceFork }: Target): string {
  if (!to) return from;
  return `${from || "HEAD"}${isSinceFork ? "..." : ".."}${to}`;
}

const MAX_TESTS = 100;

export class ReviewRun {
  reply = $state.raw<Schemas["ChangesReply"] | null>(null);
  error = $state.raw<unknown>(null);
  isLoading = $state(false);

  /** Review; return the function that gives it up. */
  start(root: string, target: Target): () => void {
    const abort = new AbortController();
    this.isLoading = true;
    void this.#load(root, target, abort.signal);
    return () => abort.abort();
  }

  async #load(root: string, target: Target, signal: AbortSignal): Promise<void> {
    try {
      const body = { root, revisions: formatRevisions(target), staged: target.isStaged, patch: "", max_tests: MAX_TESTS, depth: 1 };
      this.reply = await unwrap(api.POST("/api/v1/changes", { body, signal }));
      this.error = null;
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      this.reply = null;
      this.error = error;
    }
    this.isLoading = false;
  }
}
