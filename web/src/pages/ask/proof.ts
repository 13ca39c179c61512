/** What the check of an answer says of its statements and citations. */

import type { Schemas } from "../../api/client";

export type Citation = Schemas["Citation"];
export type Proof = "proved" | "moved" | "dropped" | "unproved";

/** Class of the tag that shows a proof. */
export const PROOF_TONE: Record<Proof, string> = { proved: "good", moved: "warn", dropped: "bad", unproved: "bad" };

export const PROOF_MEANING: Record<Proof, string> = {
  proved: "The cited lines are in the file, and they say it.",
  moved: "The cited lines are in the file, at another place than when it was indexed.",
  dropped: "The cited lines do not say it, so the answer leaves it out.",
  unproved: "Nothing in the files proves it.",
};

/** Judge a citation by the lines on disk. */
export function judgeCitation(citation: Citation): Proof {
  if (!citation.verified) return "unproved";
  return citation.moved_from === null || citation.moved_from === undefined ? "proved" : "moved";
}

/** Judge a claim of an answer that a language model wrote. */
export function judgeClaim(claim: Schemas["AnswerClaim"], citations: readonly Citation[]): Proof {
  if (!claim.shown) return "dropped";
  if (claim.status !== "verified") return "unproved";
  return worst(claim.citations.flatMap((index) => citations[index] ?? []).map(judgeCitation));
}

/** Judge a statement of an answer without a model: its citations are its proof. Null if it cites nothing. */
export function judgeStatement(indexes: readonly number[], citations: readonly Citation[]): Proof | null {
  const cited = indexes.flatMap((index) => citations[index] ?? []);
  return cited.length ? worst(cited.map(judgeCitation)) : null;
}

function worst(proofs: Proof[]): Proof {
  return (["unproved", "dropped", "moved"] as const).find((proof) => proofs.includes(proof)) ?? "proved";
}
