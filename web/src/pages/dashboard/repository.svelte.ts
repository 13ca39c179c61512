/** The repository of the dashboard: its statistics, its freshness and its indexing jobs, live. */

import { ApiError, api, isAbort, type Schemas, unwrap } from "../../api/client";
import { followStream } from "../../api/follow";
import type { Freshness } from "../../state/freshness.svelte";
import { repositories } from "../../state/repositories.svelte";
import { session } from "../../state/session.svelte";

export type Statistics = Schemas["IndexStatistics"];
export type Job = Schemas["JobReply"];

const ENDED = ["done", "failed", "cancelled"];

export function hasEnded(job: Job): boolean {
  return ENDED.includes(job.state);
}

export class DashboardRepository {
  statistics = $state.raw<Statistics | null>(null);
  jobs = $state.raw<Job[]>([]);
  /** Why there are no statistics; null while they load, or if nothing is wrong. */
  error = $state.raw<unknown>(null);
  /** Why an action did not succeed. */
  actionError = $state.raw<unknown>(null);
  #stopFollowing: (() => void)[] = [];
  #followedJob = "";
  #generation = -1;
  #controller = new AbortController();

  constructor(readonly root: string) {}

  get job(): Job | undefined {
    return this.jobs.find((job) => !hasEnded(job));
  }

  get isMissingIndex(): boolean {
    // A team server may have no folder of it yet, either: then nothing can be asked of it.
    if (session.isTeamServer && repositories.current?.is_indexed === false) return true;
    return this.error instanceof ApiError && this.error.type === "IndexNotFoundError";
  }

  /** Return whether a new run would mend the error: an index of another version, or a damaged one. */
  get isRepairable(): boolean {
    return this.error instanceof ApiError && ["IndexVersionError", "StoreError", "IndexModelError"].includes(this.error.type);
  }

  /** Load and follow the repository; return the function that ends that. */
  open(): () => void {
    void this.loadStatistics();
    if (!session.isTeamServer) void this.loadJobs(); // its jobs have their own list
    return () => this.close();
  }

  /** Stop following and give up open requests, none of which may open the repository again. */
  close(): void {
    this.#controller.abort();
    this.#stopFollowing.forEach((stop) => stop());
  }

  async index(full: boolean): Promise<void> {
    await this.#act(async () => {
      const job = await unwrap(api.POST("/api/v1/index", { body: { root: this.root, full } }));
      this.#replace(job);
      this.#followJob(job.id);
    });
  }

  async cancel(job: Job): Promise<void> {
    await this.#act(async () =>
      this.#replace(await unwrap(api.DELETE("/api/v1/jobs/{job_id}", { params: { path: { job_id: job.id } } }))),
    );
  }

  async loadStatistics(): Promise<void> {
    try {
      const { signal } = this.#controller;
      this.statistics = await unwrap(api.GET("/api/v1/statistics", { params: { query: { root: this.root } }, signal }));
      this.error = null;
    } catch (error) {
      if (isAbort(error)) return;
      this.statistics = null;
      this.error = error;
    }
  }

  async loadJobs(): Promise<void> {
    await this.#act(async () => {
      this.jobs = (await unwrap(api.GET("/api/v1/jobs", { params: { query: { root: this.root } } }))).jobs;
      if (this.job) this.#followJob(this.job.id);
    });
  }

  /** Take a new state of its freshness, or why there is none. */
  accept(state: Freshness | null, refusal: ApiError | null): void {
    if (refusal && !session.isTeamServer) this.error = refusal;
    if (!state) return;
    const isFirst = this.#generation < 0;
    const hasChanged = state.is_open && !isFirst && state.generation !== this.#generation;
    if (state.is_open) this.#generation = state.generation;
    if (hasChanged) void this.loadStatistics();
    if (isFirst && !repositories.current) void repositories.load().catch(() => undefined);
    if (!session.isTeamServer && state.is_open && state.job !== (this.job?.id ?? "")) void this.loadJobs();
  }

  #followJob(id: string): void {
    if (id === this.#followedJob) return;
    this.#followedJob = id;
    this.#stopFollowing.push(
      followStream<Job>(`/api/v1/jobs/${id}/events`, {
        onData: (job) => this.#replace(job),
        onRefusal: (error) => (this.actionError = error),
        isLast: hasEnded,
      }),
    );
  }

  #replace(job: Job): void {
    const others = this.jobs.filter((other) => other.id !== job.id);
    this.jobs = others.length === this.jobs.length ? [job, ...others] : this.jobs.map((other) => (other.id === job.id ? job : other));
    if (hasEnded(job)) {
      void repositories.load();
      void this.loadStatistics();
    }
  }

  async #act(action: () => Promise<void>): Promise<void> {
    this.actionError = null;
    try {
      await action();
    } catch (error) {
      if (!isAbort(error)) this.actionError = error;
    }
  }
}
