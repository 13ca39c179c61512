/** Session of this browser: signed in by the one-time code in the fragment, kept by a cookie that scripts cannot read. */

const PATH = "/web/session";

interface SessionReply {
  signed_in: boolean;
  csrf?: string;
  version?: string;
}

class Session {
  state = $state<"opening" | "signed in" | "signed out" | "unreachable">("opening");
  version = $state("");
  csrf = "";
  /** Why a code did not sign in; empty if none was refused. */
  refusal = $state("");

  /** Sign in with the code of the address, if there is one; else continue the session of the cookie. */
  async open(): Promise<void> {
    const code = new URLSearchParams(location.hash.slice(1)).get("code");
    if (code) history.replaceState(null, "", location.pathname + location.search);
    try {
      if (code) await this.#signIn(code);
      if (this.state !== "signed in") this.#accept(await (await fetch(PATH)).json());
    } catch {
      this.state = "unreachable";
    }
  }

  async signOut(): Promise<void> {
    await fetch(PATH, { method: "DELETE", headers: { "x-coderag-csrf": this.csrf } });
    this.expire();
  }

  /** Show that this browser has to sign in again. */
  expire(): void {
    this.state = "signed out";
  }

  async #signIn(code: string): Promise<void> {
    const response = await fetch(PATH, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code }),
    });
    if (response.ok) this.#accept(await response.json());
    else this.refusal = "The code of this address was used before or is older than two minutes.";
  }

  #accept(reply: SessionReply): void {
    this.csrf = reply.csrf ?? "";
    this.version = reply.version ?? "";
    this.state = reply.signed_in ? "signed in" : "signed out";
  }
}

export const session = new Session();
