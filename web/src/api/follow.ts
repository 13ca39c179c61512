/** A server-sent stream that is followed while the page is visible, so that hidden pages hold no connection. */

import { ApiError } from "./client";
import { streamEvents } from "./events";

const RETRY_MS = 2_000;

interface Follower<Data> {
  onData: (data: Data) => void;
  /** Called with a refusal, after which nothing more comes. */
  onRefusal: (error: ApiError) => void;
  /** Called when the stream begins or breaks off; it is then tried again. */
  onLive?: (isLive: boolean) => void;
  /** Return whether the stream has ended for good after this item. */
  isLast?: (data: Data) => boolean;
}

/** Follow a stream from now on; return the function that ends it. */
export function followStream<Data>(path: string, follower: Follower<Data>): () => void {
  let controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;

  async function run(): Promise<void> {
    controller = new AbortController();
    const { signal } = controller;
    try {
      for await (const event of streamEvents<Data>(path, { signal })) {
        if (signal.aborted) return;
        follower.onLive?.(true);
        follower.onData(event.data);
        if (follower.isLast?.(event.data)) isOver = true;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429) {
        isOver = true;
        follower.onRefusal(error);
      }
    }
    if (signal.aborted || isOver) return;
    follower.onLive?.(false);
    timer = setTimeout(run, RETRY_MS);
  }

  function adapt(): void {
    controller.abort();
    clearTimeout(timer);
    if (!isOver && document.visibilityState === "visible") void run();
  }

  document.addEventListener("visibilitychange", adapt);
  adapt();
  return () => {
    isOver = true;
    document.removeEventListener("visibilitychange", adapt);
    adapt();
  };
}
