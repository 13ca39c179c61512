/** Credentials and teams that a repository can have. */

import { isAbort } from "../../../api/client";
import { loadAll } from "../../../api/server";
import type { Credential, Team } from "../../../api/server_types";

export class Choices {
  credentials = $state.raw<Credential[]>([]);
  teams = $state.raw<Team[]>([]);
  error = $state.raw<unknown>(null);

  /** Load the choices; return the function that gives up. */
  load(): () => void {
    const abort = new AbortController();
    Promise.all([loadAll<Credential>("/credentials", abort.signal), loadAll<Team>("/teams", abort.signal)]).then(
      ([credentials, teams]) => {
        this.credentials = credentials;
        this.teams = teams;
      },
      (error: unknown) => {
        if (!isAbort(error)) this.error = error;
      },
    );
    return () => abort.abort();
  }
}
