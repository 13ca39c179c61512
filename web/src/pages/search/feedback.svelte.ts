/** Feedback on the results of a repository: thumbs, and queries without an answer. */

import { api, type Schemas, unwrap } from "../../api/client";

export type FeedbackCase = Schemas["FeedbackCase"];
export type Verdict = "up" | "down";

export interface Place {
  path: string;
  start_line: number;
  end_line: number;
  symbol: string;
}

export class Feedback {
  cases = $state.raw<FeedbackCase[]>([]);
  error = $state.raw<unknown>(null);
  isLoaded = $state(false);

  constructor(readonly root: string) {}

  get complete(): number {
    return this.cases.filter(isComplete).length;
  }

  async load(): Promise<void> {
    await this.#try(async () => {
      const reply = await unwrap(api.GET("/api/v1/feedback", { params: { query: { root: this.root } } }));
      this.cases = reply.cases;
      this.isLoaded = true;
    });
  }

  find(query: string): FeedbackCase | undefined {
    const normalized = normalize(query);
    return this.cases.find((entry) => normalize(entry.query) === normalized);
  }

  findVerdict(query: string, place: Place): Verdict | null {
    const thumb = this.find(query)?.thumbs.find((entry) => isSame(entry.place, place));
    return thumb?.verdict ?? null;
  }

  /** Give a verdict on a result; the same one again withdraws it. */
  async toggle(query: string, place: Place, verdict: Verdict): Promise<void> {
    const next = this.findVerdict(query, place) === verdict ? "none" : verdict;
    await this.#send({ query, verdict: next, place });
  }

  async setUnanswerable(query: string, isUnanswerable: boolean): Promise<void> {
    await this.#send({ query, verdict: isUnanswerable ? "unanswerable" : "none", place: null });
  }

  async delete(entry: FeedbackCase): Promise<void> {
    await this.#try(async () => {
      await unwrap(
        api.DELETE("/api/v1/feedback/{case}", { params: { path: { case: entry.id }, query: { root: this.root } } }),
      );
      this.cases = this.cases.filter((other) => other.id !== entry.id);
    });
  }

  async #send(body: Pick<Schemas["FeedbackBody"], "query" | "verdict" | "place">): Promise<void> {
    await this.#try(async () => {
      const changed = await unwrap(api.POST("/api/v1/feedback", { body: { root: this.root, intent: "general", ...body } }));
      const others = this.cases.filter((entry) => entry.id !== changed.id);
      this.cases = changed.thumbs.length || changed.is_unanswerable ? [changed, ...others] : others;
    });
  }

  async #try(action: () => Promise<void>): Promise<void> {
    try {
      await action();
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  }
}

/** Return whether a case is a golden question: it has an answer, or the repository has none. */
export function isComplete(entry: FeedbackCase): boolean {
  return entry.is_unanswerable || entry.thumbs.some((thumb) => thumb.verdict === "up");
}

function normalize(query: string): string {
  return query.split(/\s+/).filter(Boolean).join(" ");
}

function isSame(left: { path: string; symbol?: string; start_line: number }, right: Place): boolean {
  const isSameName = left.symbol || right.symbol ? left.symbol === right.symbol : left.start_line === right.start_line;
  return left.path === right.path && isSameName;
}
