/** States of jobs. */

import type { Job } from "../../../api/server_types";

export const STATES: Job["state"][] = ["queued", "running", "done", "failed", "cancelled"];

const STAGES: Record<string, string> = {
  fetching: "Fetching",
  preparing: "Preparing the fetch",
  receiving: "Receiving",
  "checking out": "Writing the files",
  indexing: "Indexing",
  scan: "Looking for files",
  chunk: "Reading files",
  embed: "Embedding chunks",
  commit: "Writing the index",
  link: "Linking the code graph",
  sources: "Synchronising sources",
};

export const REASONS: Record<string, string> = { add: "added", push: "push", schedule: "schedule", manual: "by hand" };

export function hasEnded(job: Job): boolean {
  return job.state === "done" || job.state === "failed" || job.state === "cancelled";
}

/** Return the kind of tag of a state. */
export function gradeState(state: Job["state"]): "good" | "warn" | "bad" | "" {
  return ({ queued: "", running: "warn", done: "good", failed: "bad", cancelled: "" } as const)[state];
}

export function describeStage(job: Job): string {
  const stage = job.progress.stage ?? job.progress.phase ?? "";
  return STAGES[stage] ?? (stage || "Starting");
}
