/** Server-sent events of a request: unlike `EventSource`, with a body and with errors that have a status. */

import { session } from "../state/session.svelte";
import { makeUnreachableError, toApiError } from "./client";

export interface ServerEvent<Data> {
  name: string;
  data: Data;
}

/** Yield the events of a stream until it ends; an event `error` is thrown. */
export async function* streamEvents<Data>(
  path: string,
  { body, signal }: { body?: unknown; signal?: AbortSignal } = {},
): AsyncGenerator<ServerEvent<Data>> {
  const response = await send(path, body, signal);
  if (!response.ok || !response.body) throw toApiError(response.status, await response.json().catch(() => undefined));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      buffer += value;
      const blocks = buffer.split("\n\n");
      buffer = blocks.pop() ?? "";
      for (const block of blocks) {
        const event = parseEvent<Data>(block);
        if (event?.name === "error") throw toApiError(500, event.data);
        if (event) yield event;
      }
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

async function send(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { accept: "text/event-stream", "x-coderag-csrf": session.csrf };
  if (body !== undefined) headers["content-type"] = "application/json";
  try {
    return await fetch(path, {
      method: body === undefined ? "GET" : "POST",
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: signal ?? null,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw makeUnreachableError();
  }
}

function parseEvent<Data>(block: string): ServerEvent<Data> | null {
  let name = "message";
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data += line.slice(5).trim();
  }
  return data ? { name, data: JSON.parse(data) as Data } : null;
}
