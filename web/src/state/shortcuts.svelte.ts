/** Keyboard shortcuts: of the whole site, and of the page that is shown. `g` begins a sequence of two keys. */

export interface Shortcut {
  /** Key, or two keys separated by a space. */
  keys: string;
  meaning: string;
  run: () => void;
}

const SEQUENCE_MS = 1_500;

class Shortcuts {
  list = $state.raw<Shortcut[]>([]);
  isHelpOpen = $state(false);
  #prefix = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Add shortcuts; return the function that removes them. */
  add(added: Shortcut[]): () => void {
    this.list = [...this.list, ...added];
    return () => (this.list = this.list.filter((shortcut) => !added.includes(shortcut)));
  }

  handle(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const keys = this.#prefix ? `${this.#prefix} ${event.key}` : event.key;
    this.#prefix = "";
    clearTimeout(this.#timer);
    const shortcut = this.list.findLast((candidate) => candidate.keys === keys);
    if (shortcut) {
      event.preventDefault();
      shortcut.run();
    } else if (this.list.some((candidate) => candidate.keys.startsWith(`${keys} `))) {
      this.#prefix = keys;
      this.#timer = setTimeout(() => (this.#prefix = ""), SEQUENCE_MS);
    }
  }
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

export const shortcuts = new Shortcuts();
