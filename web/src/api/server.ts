/** Requests to the administration of the team server, below `/api/v1/server`. */

import { session } from "../state/session.svelte";
import { makeUnreachableError, toApiError } from "./client";
import type { Page } from "./server_types";

const PREFIX = "/api/v1/server";
const MAX_PAGES = 40;

type Query = Record<string, string | number | boolean | null | undefined>;

interface Options {
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
}

/** Build the address of a request; parameters without a value are left out. */
export function buildServerAddress(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return `${PREFIX}${path}${text ? `?${text}` : ""}`;
}

/** Send a request and return its reply; throws an `ApiError` for a refusal, and the abort of the signal. */
export async function sendRequest<Reply>(method: string, path: string, options: Options = {}): Promise<Reply> {
  const headers: Record<string, string> = { accept: "application/json" };
  if (method !== "GET") headers["x-coderag-csrf"] = session.csrf;
  if (options.body !== undefined) headers["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(buildServerAddress(path, options.query), {
      method,
      headers,
      body: options.body === undefined ? null : JSON.stringify(options.body),
      signal: options.signal ?? null,
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw makeUnreachableError();
  }
  const reply: unknown = await response.json().catch(() => undefined);
  if (response.ok) return reply as Reply;
  if (response.status === 401) session.expire();
  throw toApiError(response.status, reply);
}

export function getFrom<Reply>(path: string, query?: Query, signal?: AbortSignal): Promise<Reply> {
  return sendRequest("GET", path, { ...(query && { query }), ...(signal && { signal }) });
}

/** Load the items of a list from its first page to its last, as choices of a form. */
export async function loadAll<Item>(path: string, signal?: AbortSignal): Promise<Item[]> {
  const items: Item[] = [];
  let cursor: string | null = null;
  for (let count = 0; count < MAX_PAGES; count += 1) {
    const page: Page<Item> = await getFrom(path, { cursor }, signal);
    items.push(...page.items);
    cursor = page.next;
    if (cursor === null) return items;
  }
  return items;
}
