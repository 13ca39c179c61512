/** A conversation: its turns, and the answer that is being written. */

import { api, isAbort, type Schemas, unwrap } from "../../api/client";
import { streamEvents } from "../../api/events";

export type Answer = Schemas["Answer"];
export type Approval = Schemas["Approval"];
export type TraceEntry = { node: string; start_ns: number; ms: number; detail: Record<string, unknown> };

export interface Exchange {
  question: string;
  /** Question as it was searched, if a follow-up was completed. */
  searched: string;
  /** Text of the answer so far, in Markdown. */
  text: string;
  /** Unchecked words of the language model since the last checked part. */
  draft: string;
  /** Step that the query graph is in; empty when done. */
  stage: string;
  trace: TraceEntry[];
  /** The whole answer; null while it is written, and for one that was stored. */
  answer: Answer | null;
  /** Places of a stored answer. */
  cited: readonly string[];
  approval: Approval | null;
  error: unknown;
}

interface EventData {
  thread?: string;
  text?: string;
  trace?: TraceEntry[];
  answer?: Answer | null;
}

export class Conversation {
  thread = $state("");
  exchanges = $state<Exchange[]>([]);
  isBusy = $state(false);
  unanswered = $state("");
  #abort: AbortController | null = null;

  constructor(
    readonly root: string,
    private readonly onStart: (thread: string) => void,
  ) {}

  /** Load the turns of a stored conversation. */
  async open(thread: string): Promise<void> {
    this.stop();
    this.thread = thread;
    this.exchanges = [];
    if (!thread) return;
    const { turns, unanswered } = await unwrap(
      api.GET("/api/v1/chat/{thread}", { params: { path: { thread }, query: { root: this.root } } }),
    );
    if (this.thread !== thread) return;
    this.unanswered = unanswered;
    for (let index = 0; index + 1 < turns.length; index += 2) {
      const [question, answer] = [turns[index], turns[index + 1]];
      if (!question || !answer) break;
      const searched = question.question === question.text ? "" : question.question;
      this.exchanges.push({ ...newExchange(question.text), searched, text: answer.text, cited: answer.cited, stage: "" });
    }
  }

  /** Ask a question, and follow its answer. */
  async ask(text: string): Promise<void> {
    this.unanswered = "";
    this.exchanges.push(newExchange(text));
    await this.#follow({ text });
  }

  /** Decide on the prompt that waits for an approval. */
  async decide(approve: boolean): Promise<void> {
    const exchange = this.exchanges.at(-1);
    if (!exchange) return;
    Object.assign(exchange, { approval: null, stage: "answer" });
    await this.#follow({ approve });
  }

  /** Give up the answer that is being written. */
  stop(): void {
    this.#abort?.abort();
  }

  async #follow(request: { text: string } | { approve: boolean }): Promise<void> {
    const exchange = this.exchanges.at(-1);
    if (!exchange) return;
    const abort = (this.#abort = new AbortController());
    this.isBusy = true;
    try {
      const body = { root: this.root, thread: this.thread || null, ...request };
      for await (const { name, data } of streamEvents<EventData>("/api/v1/chat", { body, signal: abort.signal }))
        this.#take(exchange, name, data);
    } catch (error) {
      if (!isAbort(error)) exchange.error = error;
    } finally {
      exchange.stage = "";
      exchange.draft = "";
      if (this.#abort === abort) this.isBusy = false;
    }
  }

  #take(exchange: Exchange, name: string, data: EventData): void {
    if (name === "thread" && data.thread && !this.thread) {
      this.thread = data.thread;
      this.onStart(data.thread);
    } else if (name === "stage") {
      exchange.stage = data.text ?? "";
      exchange.trace.push(...(data.trace ?? []));
    } else if (name === "draft") {
      exchange.draft += data.text ?? "";
    } else if (name === "text") {
      exchange.draft = "";
      exchange.text += data.text ?? "";
    } else if (name === "approval") {
      exchange.approval = data as unknown as Approval;
    } else if (name === "answer" && data.answer) {
      exchange.answer = data.answer;
      exchange.text = data.answer.text;
    }
  }
}

function newExchange(question: string): Exchange {
  return {
    question,
    searched: "",
    text: "",
    draft: "",
    stage: "analyze",
    trace: [],
    answer: null,
    cited: [],
    approval: null,
    error: null,
  };
}
