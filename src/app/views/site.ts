import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../core/base/errors.ts";
import type { RunEvent } from "../../core/engine/event/event.ts";
import { headlineIn } from "../../core/engine/finding/finding.ts";
import { stateOf as stateAfter } from "../../core/engine/fold/fold.ts";
import type { EarlierQuestion } from "../../core/engine/record/ask.ts";
import { type RunSummary, summarizeRun } from "../../core/engine/record/run-summary.ts";
import { endOf, takesUp } from "../../core/engine/result/waiting.ts";
import { stateOf } from "../../reports/model/account.ts";
import type { RunList } from "../../reports/site/runs.ts";
import { tailRun } from "../../stores/file/run-lines.ts";
import { filesOfRun } from "../../stores/file/store.ts";
import { isDriven } from "../adapters/stores.ts";
import type { Workspace } from "../host.ts";
import { earlierQuestions } from "../runs/afterwards/ask.ts";
import { skimAll } from "../runs/afterwards/skims.ts";
import { collectStats, DAY_MS, type Stats } from "../runs/afterwards/stats.ts";
import { reportOf } from "../runs/inspect.ts";
import { type Report, renderReport } from "./reports.ts";

export type { RunList, Stats };

export type Site = ReturnType<typeof openSite>;

export interface ListView {
  readonly page: number;
  /** State that a run must have. Empty for all. */
  readonly state: string;
  /** Text that the id, the name, the workflow or the verdict must contain, in any case. Empty for all. */
  readonly text: string;
}

export interface SiteRun {
  readonly report: Report;
  readonly html: string;
  readonly isUnderWay: boolean;
  /** Questions that were asked about the run. Undefined if it cannot be asked, because it has not ended or is itself a question. */
  readonly questions: readonly EarlierQuestion[] | undefined;
}

const PAGE = 50;
/** Number of runs that a filter searches, the newest first. */
const MOST_SEARCHED = 500;
const MOST_HEADLINES = 1000;
const MOST_KEPT = 8;
const POLL_MS = 200;

export function openSite(workspace: Workspace) {
  const { store } = workspace;
  /** Cache of reports by run. A report is valid while the number of events stays the same. */
  const drawn = new Map<string, { readonly length: number; readonly underWay: boolean; readonly html: string }>();
  const isUnderWay = (id: string) => isDriven(workspace, id);
  const headlines = new Map<string, string | undefined>();
  const headlineOf = async ({ id, endedAt }: RunSummary): Promise<string | undefined> => {
    const key = `${id} ${endedAt}`;
    if (endedAt === null || headlines.has(key)) return headlines.get(key);
    const stored = await store.read(id).catch(() => undefined);
    if (!stored) return undefined;
    headlines.set(key, headlineIn(stateAfter(stored), stored.record));
    for (const oldest of headlines.keys()) if (headlines.size > MOST_HEADLINES) headlines.delete(oldest);
    return headlines.get(key);
  };
  const summarizeAll = async (ids: readonly string[]) => {
    const runs: RunSummary[] = [];
    const problems: { id: string; message: string }[] = [];
    for (const [index, found] of (await skimAll(store, ids, summarizeRun)).entries()) {
      if (found.status === "rejected") problems.push({ id: ids[index] ?? "", message: messageOf(found.reason) });
      else if (found.value.kind !== "backtest") runs.push(found.value);
    }
    const underWay: string[] = [];
    for (const { id, endedAt } of runs) if (endedAt === null && (await isUnderWay(id))) underWay.push(id);
    return { runs, problems, underWay };
  };
  const read = async (id: string) => reportOf(await store.read(id));
  return {
    async list({ page, state, text }: ListView): Promise<RunList> {
      const ids = await store.list();
      const isFiltered = state !== "" || text !== "";
      const { runs, problems, underWay } = await summarizeAll(
        isFiltered ? ids.slice(0, MOST_SEARCHED) : pageOf(ids, page),
      );
      const wanted = text.toLowerCase();
      const found = runs.filter((run) => {
        const own = underWay.includes(run.id) ? "running" : stateOf(run);
        const texts = [run.id, run.name, run.workflow, run.verdict ?? ""];
        return (state === "" || own === state) && texts.some((each) => each.toLowerCase().includes(wanted));
      });
      const shown = isFiltered ? pageOf(found, page) : found;
      const named = [];
      for (const run of shown) named.push({ ...run, headline: (await headlineOf(run)) ?? null });
      const total = isFiltered ? found.length : ids.length;
      const pages = pagesOf(total);
      const searched = isFiltered && ids.length > MOST_SEARCHED ? { searched: MOST_SEARCHED } : {};
      const at = Math.min(Math.max(1, page), pages);
      return { runs: named, underWay, problems, page: at, pages, total, ...searched };
    },
    /** Throws `run.unknown` if there is no such run. */
    async run(id: string): Promise<SiteRun> {
      const stored = await read(id);
      const underWay = endOf(stored.events) === undefined && (await isUnderWay(id));
      const report = { ...stored, isUnderWay: underWay };
      const { length } = report.events;
      const known = drawn.get(id);
      const html =
        known?.length === length && known.underWay === underWay ? known.html : await renderReport("html", report);
      drawn.delete(id);
      drawn.set(id, { length, underWay, html });
      for (const oldest of drawn.keys()) if (drawn.size > MOST_KEPT) drawn.delete(oldest);
      const { record, events } = report;
      const isAsked = endOf(events) !== undefined && record.about === undefined;
      const questions = isAsked ? await earlierQuestions(workspace, record) : undefined;
      return { report, html, isUnderWay: underWay, questions };
    },
    result: async (id: string) => (await read(id)).result,
    stats: (days: number) => collectStats(workspace, Date.now() - days * DAY_MS),
    /** Yields the events after a position, and new ones until the run ends. */
    follow: (id: string, after: number, signal: AbortSignal) => follow(workspace, { id, after }, signal),
  };
}

const pagesOf = (count: number) => Math.max(1, Math.ceil(count / PAGE));

function pageOf<Item>(items: readonly Item[], page: number): readonly Item[] {
  const at = Math.min(Math.max(1, page), pagesOf(items.length));
  return items.slice((at - 1) * PAGE, at * PAGE);
}

async function* follow(
  workspace: Workspace,
  { id, after }: { readonly id: string; readonly after: number },
  signal: AbortSignal,
): AsyncGenerator<RunEvent> {
  const { store, storeDirectory, queue } = workspace;
  let seen = -1;
  const whole = async () => (await store.read(id)).events.slice(seen + 1);
  await store.skim(id); // throws if there is no such run
  const tail = storeDirectory === undefined ? queue?.tail(id) : tailRun(filesOfRun(storeDirectory, id).path);
  const read = tail ?? whole;
  let over = false;
  while (!signal.aborted) {
    const news = await read();
    for (const event of news) {
      seen = event.seq;
      if (takesUp(event)) over = false;
      if (event.type === "workflow:end") over = true;
      if (event.seq > after) yield event;
    }
    if (over && news.length === 0) return;
    if (!over) await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}
