/** Sources of settings, in the words of the page. */

import type { Schemas } from "../../api/client";

export type Setting = Schemas["EffectiveSetting"];

interface SourceText {
  title: string;
  kind: string;
  /** Whether it is one of the sources that override one another, lowest first. */
  isOrdered: boolean;
}

export const SOURCES: Record<Setting["source"], SourceText> = {
  default: { title: "default", kind: "", isOrdered: true },
  "committed file": { title: ".coderag.yaml", kind: "good", isOrdered: true },
  "local file": { title: ".coderag.local.yaml", kind: "good", isOrdered: true },
  environment: { title: "environment", kind: "good", isOrdered: true },
  argument: { title: "argument", kind: "good", isOrdered: true },
  restriction: { title: "for lack of trust", kind: "warn", isOrdered: false },
};

export function isChanged(setting: Setting): boolean {
  return setting.source !== "default";
}

/** Return whether a setting has all words of a search. */
export function matchesText(setting: Setting, text: string): boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const { key, value, description, place, variable, source } = setting;
  const content = [key, value, description, place, variable, SOURCES[source].title].join("\n").toLowerCase();
  return words.every((word) => content.includes(word));
}

/** Return the lines that set a setting in a YAML file, with its possible values as the value. */
export function formatYaml(setting: Setting): string {
  return setting.key
    .split(".")
    .map((part, depth) => `${"  ".repeat(depth)}${part}:`)
    .join("\n");
}
