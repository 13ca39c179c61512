/** Account of the team server that is signed in: its teams, its levels on repositories and its quotas. */

import { getFrom } from "../api/server";
import type { Me, VisibleLevel } from "../api/server_types";
import { repositories } from "./repositories.svelte";
import { session } from "./session.svelte";

const LEVELS: VisibleLevel[] = ["none", "read", "index", "administer"];

/** Level that an action needs on its repository. */
const ACTION_LEVELS: Record<string, VisibleLevel> = {
  "repository.read": "read",
  "repository.converse": "read",
  "repository.index": "index",
  "repository.administer": "administer",
};

class Account {
  me = $state.raw<Me | null>(null);

  /** Load the account; the local service has none. */
  async load(): Promise<void> {
    if (session.isTeamServer) this.me = await getFrom<Me>("/me");
  }

  /** Return whether an action is allowed, on the repository that is shown if it is one on a repository.
   * An unknown repository counts as one with every level: the server refuses it with the reason.
   */
  may(action: string): boolean {
    const isKnown = this.me?.repositories[repositories.root] !== undefined;
    return session.may(action) && (!isKnown || this.#hasLevel(action, repositories.root));
  }

  /** Return whether an action on a repository is allowed. */
  mayOn(action: string, repository: string): boolean {
    return session.may(action) && (!session.isTeamServer || this.#hasLevel(action, repository));
  }

  #hasLevel(action: string, repository: string): boolean {
    const needed = ACTION_LEVELS[action];
    const level = this.me?.repositories[repository] ?? "none";
    return needed === undefined || LEVELS.indexOf(level) >= LEVELS.indexOf(needed);
  }
}

export const account = new Account();
