/** Numbers, sizes and times for people. */

const NUMBER = new Intl.NumberFormat("en");
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

export function formatNumber(value: number): string {
  return NUMBER.format(value);
}

/** Return a count with its noun, such as `1 file` or `1,200 files`. */
export function formatCount(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatNumber(count)} ${count === 1 ? noun : plural}`;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const power = Math.min(3, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1_000 ** power).toFixed(1)} ${["B", "kB", "MB", "GB"][power]}`;
}

export function formatMilliseconds(ms: number): string {
  return ms < 1_000 ? `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/** Return how long ago an ISO time is, such as `2 hours ago`. */
export function formatAgo(time: string): string {
  const seconds = (Date.parse(time) - Date.now()) / 1_000;
  if (Number.isNaN(seconds)) return "";
  for (const [unit, size] of UNITS) if (Math.abs(seconds) >= size) return RELATIVE.format(Math.round(seconds / size), unit);
  return "just now";
}
