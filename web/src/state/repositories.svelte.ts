/** The known repositories, and the one that is shown. */

import { api, type Schemas, unwrap } from "../api/client";
import { router } from "./router.svelte";

export type Repository = Schemas["KnownRepository"];

class Repositories {
  list = $state.raw<Repository[]>([]);
  isLoaded = $state(false);

  /** Folder of the repository that is shown: that of the address, else the last one used. Empty without any. */
  get root(): string {
    const named = router.route.query.get("repo") ?? "";
    const match = this.list.find((entry) => entry.root === named || entry.name === named);
    return match?.root ?? (named || this.list.find((entry) => entry.is_there)?.root || "");
  }

  get current(): Repository | undefined {
    return this.list.find((entry) => entry.root === this.root);
  }

  async load(): Promise<void> {
    this.list = (await unwrap(api.GET("/api/v1/repositories"))).repositories;
    this.isLoaded = true;
  }

  /** Show another repository on the same page. */
  choose(root: string): void {
    const { page } = router.route;
    router.go(router.build(page, "", {}, new URLSearchParams({ repo: root })).replace(/repo=[^&]*/, `repo=${encodeURIComponent(root)}`));
  }
}

export const repositories = new Repositories();
