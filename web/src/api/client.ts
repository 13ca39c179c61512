/** Typed requests to the service. All types come from its OpenAPI description. */

import createClient from "openapi-fetch";
import type { components, paths } from "./schema";
import { session } from "../state/session.svelte";

export type Schemas = components["schemas"];
export type Problem = Schemas["Problem"];

/** Error of a request: the problem that the service replied with, or that it could not be reached (`status` 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly hint = "",
    readonly type = "",
  ) {
    super(message);
  }
}

export const api = createClient<paths>({ baseUrl: "" });

api.use({
  onRequest({ request }) {
    if (request.method !== "GET") request.headers.set("x-coderag-csrf", session.csrf);
    return request;
  },
  onResponse({ response }) {
    if (response.status === 401) session.expire();
    return undefined;
  },
});

/** Return the data of a reply, or throw its error. */
export async function unwrap<Data>(reply: Promise<{ data?: Data; error?: unknown; response: Response }>): Promise<Data> {
  let settled;
  try {
    settled = await reply;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw makeUnreachableError();
  }
  if (settled.response.ok && settled.data !== undefined) return settled.data;
  throw toApiError(settled.response.status, settled.error);
}

/** Make the error of a service that does not answer. */
export function makeUnreachableError(): ApiError {
  const hint = session.isTeamServer ? "Try again in a moment." : "Start it with `coderag web`.";
  return new ApiError(0, "The service does not answer.", hint);
}

export function toApiError(status: number, problem: unknown): ApiError {
  const { detail = `The service replied with status ${status}.`, hint = "", type = "" } = (problem ?? {}) as Partial<Problem>;
  return new ApiError(status, detail, hint ?? "", type);
}

/** Return whether an error is that of a request that was given up. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
