/** Schedules of fetches. */

import { formatCount } from "../../../text/format";

const MINUTES_PER_DAY = 1_440;

export const SCHEDULES: { minutes: number; title: string }[] = [
  { minutes: 0, title: "only on a push or by hand" },
  { minutes: 15, title: "every 15 minutes" },
  { minutes: 60, title: "every hour" },
  { minutes: 360, title: "every 6 hours" },
  { minutes: MINUTES_PER_DAY, title: "every day" },
];

/** Return an interval in words. */
export function describeSchedule(minutes: number): string {
  const known = SCHEDULES.find((schedule) => schedule.minutes === minutes);
  return known?.title ?? `every ${formatCount(minutes, "minute")}`;
}

/** Return the usual schedules, with the given one among them. */
export function listSchedules(minutes: number): { minutes: number; title: string }[] {
  const isKnown = SCHEDULES.some((schedule) => schedule.minutes === minutes);
  return isKnown ? SCHEDULES : [...SCHEDULES, { minutes, title: describeSchedule(minutes) }];
}
