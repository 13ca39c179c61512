/** Address of the view: every state that is worth a link is in the path or the query. */

export interface Route {
  /** Name of the page: the first segment of the path. */
  page: string;
  /** Rest of the path, decoded; such as a file for the page `code`. */
  rest: string;
  query: URLSearchParams;
}

function parseLocation(): Route {
  const [page = "", ...rest] = location.pathname.slice(1).split("/");
  return { page, rest: rest.map(decodeSegment).join("/"), query: new URLSearchParams(location.search) };
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

class Router {
  route = $state.raw<Route>(parseLocation());

  constructor() {
    addEventListener("popstate", () => (this.route = parseLocation()));
  }

  /** Go to an address of this site; `replace` keeps the history as short as it is. */
  go(address: string, { replace = false }: { replace?: boolean } = {}): void {
    if (address === location.pathname + location.search) return;
    history[replace ? "replaceState" : "pushState"](null, "", address);
    this.route = parseLocation();
  }

  /** Change parameters of the query; `null` removes one. */
  setQuery(changes: Record<string, string | null>, options: { replace?: boolean } = { replace: true }): void {
    this.go(this.build(this.route.page, this.route.rest, changes, this.route.query), options);
  }

  /** Build the address of a page of the current repository. */
  build(
    page: string,
    rest = "",
    parameters: Record<string, string | number | null | undefined> = {},
    base: URLSearchParams = new URLSearchParams(),
  ): string {
    const query = new URLSearchParams(base);
    const repository = this.route.query.get("repo");
    if (repository) query.set("repo", repository);
    for (const [name, value] of Object.entries(parameters)) {
      if (value === null || value === undefined || value === "") query.delete(name);
      else query.set(name, String(value));
    }
    const path = [page, ...rest.split("/").filter(Boolean).map(encodeURIComponent)].join("/");
    const text = query.toString();
    return `/${path}${text ? `?${text}` : ""}`;
  }
}

export const router = new Router();

/** Follow a click on a link of this site without loading the page again. */
export function followLink(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)
    return;
  const link = (event.target as Element).closest?.("a[href]");
  if (!(link instanceof HTMLAnchorElement) || link.target || link.origin !== location.origin || link.hasAttribute("download"))
    return;
  event.preventDefault();
  router.go(link.pathname + link.search);
}
