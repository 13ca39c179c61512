/** Authors and ages of commits, for small places. */

/** Days up to a week, a month, half a year, two years, and five years. */
const AGE_DAYS = [7, 30, 182, 730, 1_826];

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

/** Return the age of an ISO time as a step from 0, the last week, to 5, more than five years. */
export function gradeAge(time: string): number {
  const days = (Date.now() - Date.parse(time)) / 86_400_000;
  return AGE_DAYS.filter((limit) => days > limit).length;
}

export function shortenId(id: string): string {
  return id.slice(0, 9);
}
