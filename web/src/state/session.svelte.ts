/** Session of this browser, kept by a cookie that scripts cannot read.
 *
 * The local service opens one with the one-time code in the fragment, the team server with a key or at its provider.
 */

const PATH = "/web/session";

export type Method = "key" | "oidc";

interface SessionReply {
  signed_in: boolean;
  csrf?: string;
  version?: string;
  is_team_server?: boolean;
  methods?: Method[];
  provider?: string;
  user?: { id: string; name: string; role: string };
  actions?: string[];
}

class Session {
  state = $state<"opening" | "signed in" | "signed out" | "unreachable">("opening");
  version = $state("");
  csrf = "";
  /** Why a code or a key did not sign in; empty if none was refused. */
  refusal = $state("");
  isTeamServer = $state(false);
  /** Ways to sign in to a team server. */
  methods = $state.raw<Method[]>([]);
  /** Host of the OpenID Connect provider; empty without one. */
  provider = $state("");
  user = $state.raw<{ id: string; name: string; role: string } | null>(null);
  /** What the role of the account allows. */
  actions = $state.raw<ReadonlySet<string>>(new Set());

  /** Sign in with the code of the address, if there is one; else continue the session of the cookie. */
  async open(): Promise<void> {
    const code = new URLSearchParams(location.hash.slice(1)).get("code");
    if (code) history.replaceState(null, "", location.pathname + location.search);
    try {
      if (code) await this.#signInWithCode(code);
      if (this.state !== "signed in") this.#accept(await (await fetch(PATH)).json());
    } catch {
      this.state = "unreachable";
    }
  }

  /** Sign in to a team server with an API key. */
  async signInWithKey(key: string): Promise<void> {
    this.refusal = "";
    try {
      const response = await this.#post({ key });
      const reply: unknown = await response.json().catch(() => ({}));
      if (response.ok) this.#accept(reply as SessionReply);
      else this.refusal = describeRefusal(response.status, reply);
    } catch {
      this.refusal = "The server does not answer. Try again in a moment.";
    }
  }

  async signOut(): Promise<void> {
    await fetch(PATH, { method: "DELETE", headers: { "x-coderag-csrf": this.csrf } });
    if (this.isTeamServer) location.assign("/"); // nothing of the account stays in memory
    else this.expire();
  }

  /** Show that this browser has to sign in again. */
  expire(): void {
    if (this.isTeamServer && this.state === "signed in") void this.#reopen();
    else this.state = "signed out";
  }

  /** Return whether the account's role allows an action; the local service allows everything. */
  may(action: string): boolean {
    return !this.isTeamServer || this.actions.has(action);
  }

  /** Ask for the ways to sign in, after a session has ended. */
  async #reopen(): Promise<void> {
    this.state = "opening";
    this.refusal = "Your session has ended. Sign in again.";
    try {
      const reply: SessionReply = await (await fetch(PATH)).json();
      if (reply.methods) this.methods = reply.methods;
      this.provider = reply.provider ?? "";
      this.state = "signed out";
    } catch {
      this.state = "unreachable";
    }
  }

  async #signInWithCode(code: string): Promise<void> {
    const response = await this.#post({ code });
    if (response.ok) this.#accept(await response.json());
    else this.refusal = "The code of this address was used before or is older than two minutes.";
  }

  #post(body: object): Promise<Response> {
    return fetch(PATH, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  }

  #accept(reply: SessionReply): void {
    this.csrf = reply.csrf ?? "";
    this.version = reply.version ?? "";
    this.isTeamServer = Boolean(reply.is_team_server || reply.methods);
    this.methods = reply.methods ?? [];
    this.provider = reply.provider ?? "";
    this.user = reply.user ?? null;
    this.actions = new Set(reply.actions);
    this.state = reply.signed_in ? "signed in" : "signed out";
    if (reply.signed_in) this.refusal = "";
  }
}

function describeRefusal(status: number, reply: unknown): string {
  const { detail = "", hint = "" } = (reply ?? {}) as { detail?: string; hint?: string };
  if (status === 401) return "This key does not sign in. Check that it is whole, not expired and not revoked.";
  return detail ? [detail, hint].filter(Boolean).join(". ").replace("..", ".") : `The server replied with status ${status}.`;
}

export const session = new Session();
