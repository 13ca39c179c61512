/** Offer to show what has changed since the page was loaded: nothing that is read moves unasked. */

import { freshness } from "./freshness.svelte";

interface Offer {
  text: string;
  /** Shows the changes; without it, the text says what is being done. */
  run?: () => void;
}

class UpdateOffer {
  offer = $state.raw<Offer | null>(null);

  propose(text: string, run?: () => void): void {
    this.offer = run ? { text, run } : { text };
  }

  accept(): void {
    const run = this.offer?.run;
    if (!run) return;
    this.offer = null;
    run();
  }

  dismiss(): void {
    this.offer = null;
  }
}

export const update = new UpdateOffer();

interface Options {
  text?: string;
  /** Shows the new state. */
  show: () => void;
  /** Returns whether something that is shown differs; what does not is replaced without a word. */
  differs?: () => Promise<boolean>;
}

/** Offer to show the new state after each new generation of the index; return the function that ends it. */
export function followUpdates({ text = "The index was updated.", show, differs }: Options): () => void {
  let isOver = false;
  const stop = freshness.onGeneration(async () => {
    const hasChanges = differs ? await differs().catch(() => true) : true;
    if (hasChanges && !isOver) update.propose(text, show);
  });
  return () => {
    isOver = true;
    stop();
    update.dismiss();
  };
}
