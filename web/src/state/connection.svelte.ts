/** Whether the service answers. A page that lost it tries again until it is back, and reloads what it shows. */

import { session } from "./session.svelte";

const CHECK_MS = 5_000;
const RETRY_MS = 1_500;

class Connection {
  isLost = $state(false);
  /** Counts how often the service came back: what depends on it is loaded again. */
  epoch = $state(0);

  /** Check the service from now on; return the function that ends it. */
  watch(): () => void {
    let timer: ReturnType<typeof setTimeout>;
    const check = async () => {
      if (document.visibilityState === "visible") await this.#check();
      timer = setTimeout(check, this.isLost ? RETRY_MS : CHECK_MS);
    };
    timer = setTimeout(check, CHECK_MS);
    return () => clearTimeout(timer);
  }

  async #check(): Promise<void> {
    const isUp = await fetch(session.isTeamServer ? "/healthz" : "/health").then((response) => response.ok).catch(() => false);
    if (isUp && this.isLost) {
      await session.open();
      this.epoch += 1;
    }
    this.isLost = !isUp;
  }
}

export const connection = new Connection();
