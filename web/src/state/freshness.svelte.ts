/** Freshness of the index that is shown, followed while the page is visible. */

import type { ApiError, Schemas } from "../api/client";
import { followStream } from "../api/follow";

export type Freshness = Schemas["IndexFreshness"];

class FreshnessFollower {
  state = $state.raw<Freshness | null>(null);
  /** Why nothing is followed. */
  refusal = $state.raw<ApiError | null>(null);
  isLive = $state(false);
  #generation = "";
  #listeners = new Set<() => void>();
  #stop: () => void = () => undefined;

  /** Whether the repository is known to have no index that can be read. */
  get isMissingIndex(): boolean {
    return this.state !== null && this.state.is_open && this.state.generation === 0;
  }

  /** Follow a repository instead of the last one; return the function that ends it. */
  follow(root: string): () => void {
    this.stop();
    this.state = this.refusal = null;
    this.#generation = "";
    this.#stop = followStream<Freshness>(`/api/v1/freshness/events?${new URLSearchParams({ root })}`, {
      onData: (state) => this.#accept(state),
      onRefusal: (error) => (this.refusal = error),
      onLive: (isLive) => (this.isLive = isLive),
    });
    return () => this.stop();
  }

  stop(): void {
    this.#stop();
    this.isLive = false;
  }

  /** Call a function whenever the index has a new generation; return the function that ends it. */
  onGeneration(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #accept(state: Freshness): void {
    this.state = state;
    if (!state.is_open) return;
    const generation = `${state.generation} ${state.created}`;
    const hasChanged = this.#generation !== "" && generation !== this.#generation;
    this.#generation = generation;
    if (hasChanged) this.#listeners.forEach((listener) => listener());
  }
}

export const freshness = new FreshnessFollower();
