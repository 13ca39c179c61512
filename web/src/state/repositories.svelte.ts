/** The known repositories, and the one that is shown. */

import { api, type Schemas, unwrap } from "../api/client";
import { router } from "./router.svelte";
import { session } from "./session.svelte";

export type Repository = Schemas["KnownRepository"];

class Repositories {
  list = $state.raw<Repository[]>([]);
  isLoaded = $state(false);

  /** Folder of the repository that is shown: that of the address, else the last one used. Empty without any.
   * A team server has no folders for users, and takes the name instead.
   */
  get root(): string {
    const named = router.route.query.get("repo") ?? "";
    const match = this.list.find((entry) => entry.root === named || entry.name === named);
    return match?.root ?? (named || this.#first?.root || "");
  }

  /** The one that was used last; a team server lists by name, and keeps no uses. */
  get #first(): Repository | undefined {
    const present = this.list.filter((entry) => entry.is_there);
    return (session.isTeamServer ? present.find((entry) => entry.is_indexed) : undefined) ?? present[0];
  }

  get current(): Repository | undefined {
    return this.list.find((entry) => entry.root === this.root);
  }

  async load(): Promise<void> {
    const { repositories: list } = await unwrap(api.GET("/api/v1/repositories"));
    this.list = session.isTeamServer ? list.map((entry) => ({ ...entry, root: entry.name })) : list;
    this.isLoaded = true;
  }

  /** Show another repository on the same page. */
  choose(root: string): void {
    const { page } = router.route;
    router.go(router.build(page, "", {}, new URLSearchParams({ repo: root })).replace(/repo=[^&]*/, `repo=${encodeURIComponent(root)}`));
  }
}

export const repositories = new Repositories();
