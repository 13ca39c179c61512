/** Lists that the server sends in parts. */

import { isAbort } from "./client";
import { getFrom } from "./server";
import type { Page } from "./server_types";

type Query = Record<string, string | number | null | undefined>;

/** A list that grows by its next part on demand. */
export class PagedList<Item> {
  items = $state.raw<Item[]>([]);
  next = $state<string | null>(null);
  isLoaded = $state(false);
  isLoading = $state(false);
  error = $state.raw<unknown>(null);
  #controller = new AbortController();

  /**
   * @param path Address of the list below `/api/v1/server`.
   * @param query Filters of the list.
   * @param cursor Name of the parameter that takes `next`.
   */
  constructor(
    readonly path: string,
    readonly query: () => Query = () => ({}),
    readonly cursor = "cursor",
  ) {}

  /** Load the first part, instead of what was loaded before. */
  async load(): Promise<void> {
    await this.#fetch(null);
  }

  async loadMore(): Promise<void> {
    await this.#fetch(this.next);
  }

  /** Give up what is being loaded. */
  close(): void {
    this.#controller.abort();
  }

  async #fetch(cursor: string | null): Promise<void> {
    this.close();
    this.#controller = new AbortController();
    const { signal } = this.#controller;
    this.isLoading = true;
    try {
      const page = await getFrom<Page<Item>>(this.path, { ...this.query(), [this.cursor]: cursor }, signal);
      this.items = cursor === null ? page.items : [...this.items, ...page.items];
      this.next = page.next;
      this.error = null;
      this.isLoaded = true;
    } catch (error) {
      if (isAbort(error)) return;
      this.error = error;
    }
    this.isLoading = false;
  }
}
