/** Repeat a request while the page is visible. */

/** Run now and then every `intervalMs` after the last run has ended; return the function that ends it. */
export function pollWhileVisible(run: () => Promise<void>, intervalMs: number): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  let isRunning = false;

  async function tick(): Promise<void> {
    clearTimeout(timer);
    if (isOver || isRunning || document.visibilityState !== "visible") return;
    isRunning = true;
    await run();
    isRunning = false;
    if (!isOver) timer = setTimeout(() => void tick(), intervalMs);
  }

  const adapt = () => void tick();
  document.addEventListener("visibilitychange", adapt);
  adapt();
  return () => {
    isOver = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", adapt);
  };
}
