/** Plain words for the channels and features of the ranking. Unknown ones keep their name. */

interface SignalWords {
  label: string;
  meaning: string;
}

const WORDS: Record<string, SignalWords> = {
  lexical: { label: "words", meaning: "the words of the question are in the code" },
  dense: { label: "meaning", meaning: "the code is about the same, in other words" },
  cosine: { label: "similarity", meaning: "similarity of the meaning, not relative to the best" },
  coverage: { label: "coverage", meaning: "how many of the question's words it has" },
  callers: { label: "its callers", meaning: "what calls it matches the question" },
  callees: { label: "what it calls", meaning: "what it calls matches the question" },
  definition: { label: "named", meaning: "it declares a name of the question" },
  literal: { label: "literal text", meaning: "it has a text of the question as it is written" },
  length: { label: "length", meaning: "longer code answers more often" },
  broad_coverage: { label: "coverage, broad question", meaning: "coverage counts otherwise for questions of few words" },
  broad_length: { label: "length, broad question", meaning: "length counts more for questions of few words" },
  path_hints: { label: "kind of path", meaning: "its path is that of legacy code, data or a translation" },
  kind: { label: "kind", meaning: "functions answer more often than fields" },
  role: { label: "role of the file", meaning: "source comes before tests, docs and examples" },
  file_lexical: { label: "words in the file", meaning: "the best match of words in its file" },
  file_dense: { label: "meaning of the file", meaning: "the best match of meaning in its file" },
  path: { label: "path", meaning: "its path is about the question" },
  file_name: { label: "file name", meaning: "the file's name has words of the question" },
  file_of_name: { label: "file of that name", meaning: "the file is called like a name of the question" },
  file_size: { label: "file size", meaning: "larger files answer more often" },
  names: { label: "names", meaning: "channel: words in names of declarations" },
  docs: { label: "documentation", meaning: "channel: words in the documentation of files" },
  lookup: { label: "symbol table", meaning: "found by name or by the code graph, not by similarity" },
  barrel: { label: "re-exports", meaning: "files that only export others step back" },
  declarations_only: { label: "declarations only", meaning: "files without code of their own step back" },
  legacy: { label: "legacy", meaning: "files that are called legacy or deprecated step back" },
  data: { label: "data files", meaning: "files in no known language step back" },
  hints: { label: "named language", meaning: "files outside the language that the question names step back" },
  frames: { label: "stack trace", meaning: "it is in a stack trace of the report" },
  frame_files: { label: "files of the trace", meaning: "its file is in a stack trace of the report" },
  mentions: { label: "mentioned names", meaning: "the report mentions it" },
  mentioned_path: { label: "mentioned path", meaning: "the report mentions its file" },
  reranker: { label: "reranker", meaning: "score of the model that reordered the first results" },
  chunk: { label: "the code itself", meaning: "share of the code in the score of a report" },
  file: { label: "its file", meaning: "share of the file in the score of a report" },
};

/** Signals that are scores of their own, not parts of the sum. */
export const OWN_SCORES: ReadonlySet<string> = new Set(["reranker"]);

const SERIES = Array.from({ length: 8 }, (_, index) => `var(--series-${index + 1})`);
const COLORS = [...SERIES, ...SERIES.map((color) => `color-mix(in srgb, ${color} 50%, var(--background))`)];

export const OTHERS = "others";

export function labelSignal(name: string): string {
  return WORDS[name]?.label ?? name.replaceAll("_", " ");
}

export function explainSignal(name: string): string {
  return WORDS[name]?.meaning ?? "";
}

export type Contributions = readonly { name: string; value: number }[];

/** Return the contributions of a result, those of little weight summed up as `others`. */
export function sumContributions(signals: Readonly<Record<string, number>>, named: readonly string[]): Contributions {
  const values = named.map((name) => ({ name, value: signals[name] ?? 0 })).filter(({ value }) => value !== 0);
  let others = 0;
  for (const [name, value] of Object.entries(signals)) if (!named.includes(name) && !OWN_SCORES.has(name)) others += value;
  return Math.abs(others) < 0.005 ? values : [...values, { name: OTHERS, value: others }];
}

/** Choose the signals that have a colour of their own: those that contribute most to all results. */
export function chooseNamed(results: readonly { signals?: Readonly<Record<string, number>> }[]): string[] {
  const totals = new Map<string, number>();
  for (const { signals = {} } of results)
    for (const [name, value] of Object.entries(signals))
      if (!OWN_SCORES.has(name)) totals.set(name, (totals.get(name) ?? 0) + Math.abs(value));
  const sorted = [...totals].filter(([, total]) => total > 0.005).sort((left, right) => right[1] - left[1]);
  // In a fixed order, so that a signal keeps its colour when weights change.
  const order = Object.keys(WORDS);
  return sorted
    .slice(0, COLORS.length)
    .map(([name]) => name)
    .sort((left, right) => order.indexOf(left) - order.indexOf(right));
}

export function colorSignal(name: string, named: readonly string[]): string {
  return COLORS[named.indexOf(name)] ?? "var(--muted)";
}

/** Lengths of the longest bars to the left and to the right of zero, by which all bars are scaled. */
export interface BarScale {
  left: number;
  right: number;
}

export function measureScale(all: readonly Contributions[]): BarScale {
  const sumSigned = (sign: number) => (contributions: Contributions) =>
    contributions.reduce((sum, { value }) => sum + Math.max(sign * value, 0), 0);
  return { left: Math.max(0, ...all.map(sumSigned(-1))), right: Math.max(0.01, ...all.map(sumSigned(1))) };
}
