/** Authors and ages of commits, for small places. */

const AGES = 6;
const OLDEST_DAYS = 1_500;

/** Return the initials of an author, at most two letters. */
export function formatInitials(author: string): string {
  const words = author.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const letters = words.length > 1 ? [words[0]!, words.at(-1)!].map(([first]) => first) : [...(words[0] ?? "?")].slice(0, 2);
  return letters.join("").toUpperCase();
}

/** Return the day of an ISO time as its author wrote it. */
export function formatDay(time: string): string {
  return time.slice(0, 10);
}

/** Return the age of an ISO time as a step from 0, the newest, to 5, by its logarithm. */
export function gradeAge(time: string): number {
  const days = Math.max(0, (Date.now() - Date.parse(time)) / 86_400_000);
  return Math.min(AGES - 1, Math.floor((Math.log1p(days) / Math.log1p(OLDEST_DAYS)) * AGES));
}

export function shortenId(id: string): string {
  return id.slice(0, 9);
}
