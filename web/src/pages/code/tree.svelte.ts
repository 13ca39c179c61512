/** Folders that are open in the tree, each loaded when it is first opened. */

import { api, type Schemas, unwrap } from "../../api/client";
import { formatCount } from "../../text/format";

type Listing = Schemas["FolderListing"];

export interface Row {
  path: string;
  name: string;
  level: number;
  kind: "folder" | "file" | "more";
  isOpen: boolean;
  /** Number of files of a folder, or what is special about a file. */
  detail: string;
  title: string;
  /** Whether a file is searchable. */
  isIndexed: boolean;
}

const PAGE = 500;

export class Tree {
  #listings = $state.raw<ReadonlyMap<string, Listing>>(new Map());
  #open = $state.raw<ReadonlySet<string>>(new Set());
  error = $state<unknown>(null);
  #loading = new Map<string, Promise<boolean>>();

  constructor(private readonly root: string) {}

  get isLoaded(): boolean {
    return this.#listings.has("");
  }

  /** Rows of the open folders, top down. */
  get rows(): Row[] {
    const rows: Row[] = [];
    this.#collect("", 1, rows);
    return rows;
  }

  /** Open all folders around a path. */
  async reveal(path: string): Promise<void> {
    const parts = path.split("/");
    const folders = parts.map((_, index) => parts.slice(0, index).join("/"));
    await this.#load("");
    this.#open = new Set([...this.#open, ...folders.filter(Boolean)]);
    for (const folder of folders.slice(1)) if (!(await this.#load(folder))) return;
  }

  /** Load the loaded folders again; those that are gone disappear. */
  async refresh(): Promise<void> {
    const folders = [...this.#listings.keys()];
    const pages = await Promise.all(folders.map((folder) => this.#read(folder, 0)));
    const fresh = folders.map((folder, index) => [folder, pages[index]] as const);
    this.#listings = new Map(fresh.filter((entry): entry is [string, Listing] => Boolean(entry[1])));
    this.#loading.clear();
    for (const folder of this.#listings.keys()) this.#loading.set(folder, Promise.resolve(true));
  }

  async toggle(path: string, isOpen = !this.#open.has(path)): Promise<void> {
    const open = new Set(this.#open);
    if (isOpen) open.add(path);
    else open.delete(path);
    this.#open = open;
    if (isOpen) await this.#load(path);
  }

  async loadMore(folder: string): Promise<void> {
    const listing = this.#listings.get(folder);
    if (!listing?.next_offset) return;
    const page = await this.#read(folder, listing.next_offset);
    if (page) {
      const merged = { ...page, folders: [...listing.folders, ...page.folders], files: [...listing.files, ...page.files] };
      this.#listings = new Map(this.#listings).set(folder, merged);
    }
  }

  #load(folder: string): Promise<boolean> {
    const loading = this.#loading.get(folder) ?? this.#loadOnce(folder);
    this.#loading.set(folder, loading);
    return loading;
  }

  async #loadOnce(folder: string): Promise<boolean> {
    const listing = await this.#read(folder, 0);
    if (listing) this.#listings = new Map(this.#listings).set(folder, listing);
    return listing !== null;
  }

  async #read(path: string, offset: number): Promise<Listing | null> {
    try {
      const query = { root: this.root, path, offset, limit: PAGE };
      return await unwrap(api.GET("/api/v1/tree", { params: { query } }));
    } catch (error) {
      if (!path) this.error = error; // a folder that is gone stays closed
      this.#loading.delete(path);
      return null;
    }
  }

  #collect(folder: string, level: number, rows: Row[]): void {
    const listing = this.#listings.get(folder);
    if (!listing) return;
    for (const { name, path, totals } of listing.folders) {
      const isOpen = this.#open.has(path);
      const languages = Object.keys(totals.languages).slice(0, 3).join(", ");
      const title = `${path}: ${formatCount(totals.files, "file")}${languages ? `, ${languages}` : ""}`;
      rows.push({ path, name, level, kind: "folder", isOpen, detail: String(totals.files), title, isIndexed: true });
      if (isOpen) this.#collect(path, level + 1, rows);
    }
    for (const { name, path, outcome, reason } of listing.files) {
      const isIndexed = outcome === "indexed";
      const detail = isIndexed ? "" : outcome;
      rows.push({ path, name, level, kind: "file", isOpen: false, detail, title: reason ? `${path}: ${reason}` : path, isIndexed });
    }
    if (listing.next_offset) {
      const name = `${listing.total - listing.next_offset} more …`;
      rows.push({ path: folder, name, level, kind: "more", isOpen: false, detail: "", title: "", isIndexed: true });
    }
  }
}
