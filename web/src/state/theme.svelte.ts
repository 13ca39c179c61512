/** Light or dark: as the system says, unless the user chose. */

const KEY = "coderag-theme";
type Choice = "system" | "light" | "dark";

class Theme {
  choice = $state<Choice>((localStorage.getItem(KEY) as Choice | null) ?? "system");
  #system = matchMedia("(prefers-color-scheme: dark)");
  #systemIsDark = $state(this.#system.matches);

  constructor() {
    this.#system.addEventListener("change", (event) => (this.#systemIsDark = event.matches));
  }

  get isDark(): boolean {
    return this.choice === "system" ? this.#systemIsDark : this.choice === "dark";
  }

  /** Go to the next choice. */
  cycle(): void {
    this.choice = ({ system: "light", light: "dark", dark: "system" } as const)[this.choice];
    localStorage.setItem(KEY, this.choice);
  }
}

export const theme = new Theme();

/** Return the value of a colour of the style sheet, for canvases: hex or rgb. */
export function readColor(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
