import { createHash, randomBytes } from "node:crypto";
import * as z from "zod";
import { SkillflowError } from "../../core/base/errors.ts";
import { defined, LONGEST_TIMER_MS, lazy } from "../../core/base/values.ts";
import type { ListenFile } from "../../core/document/listen/listen-file.ts";
import type { Waiting } from "../../core/engine/event/end.ts";
import type { Intake, StoredRun } from "../../core/engine/ports.ts";
import { endOf, type Said, waitsIn } from "../../core/engine/result/waiting.ts";
import type { Workspace } from "../host.ts";
import { recordWord } from "../runs/drive.ts";
import { entriesIn, ifKnown, savedEntry, turns } from "./kept.ts";

/**
 * One-time approval links of waiting runs. The state keeps only the digest of a link's random token, with the run, the
 * node and the time of the question, so that a link answers exactly one question.
 */

/** Link for an approver. Only this object contains the token. */
export interface Link {
  readonly run: string;
  readonly waiting: Waiting;
  readonly by: string;
  readonly token: string;
}

/** Run and question that a token refers to, or the reason why it cannot be used. */
export type Asked =
  | { readonly kind: "open"; readonly link: Omit<Link, "token">; readonly stored: StoredRun }
  | { readonly kind: "unknown" }
  | { readonly kind: "late"; readonly until: string }
  | { readonly kind: "over"; readonly how: string };

export interface Word {
  readonly approved: boolean;
  readonly note?: string | undefined;
}

const STATE = "_listen_links";
const KEPT = { keepMs: 365 * 24 * 60 * 60 * 1000, maxEntries: 10_000 };
/** Name of the approver if the configuration lists none. */
const ANYBODY = "one-time link";

export function openLinks(workspace: Workspace, intake: Intake, { approvals }: ListenFile) {
  const { state } = workspace;
  const inTurn = turns();
  const goOn = (run: string) => intake.requeue(run).catch(ignoreLocked);
  const deadlines = openDeadlines(goOn);
  const answer = async (run: string, said: Said): Promise<string | undefined> => {
    try {
      await recordWord(workspace, run, said, { later: false });
    } catch (error) {
      if (!(error instanceof SkillflowError) || error.code !== "usage.invalid") throw error;
      return error.hint ?? error.message;
    }
    await goOn(run);
    return undefined;
  };

  return {
    find: (token: string) => findLink(workspace, token),
    /** Records the decision. Returns the state of the link before it, which shows whether the decision counted. */
    async decide(token: string, { approved, note }: Word): Promise<Asked> {
      return inTurn("", async () => {
        const asked = await findLink(workspace, token);
        if (asked.kind !== "open") return asked;
        const { run, by, waiting } = asked.link;
        const how = await answer(run, { node: waiting.node, approved, by, note });
        return how === undefined ? asked : { kind: "over", how };
      });
    },
    /** Records a decision and continues the run. Returns why it did not count. */
    answer: (run: string, said: Said) => inTurn("", () => answer(run, said)),
    /** Creates links for all pending approvals that have none yet. */
    async issue({ record: { run }, events }: StoredRun): Promise<readonly Link[]> {
      const waits = waitsIn(events);
      if (waits.length === 0) return [];
      for (const wait of waits) deadlines.watch(run, wait);
      const known = await keptIn(workspace);
      const isNew = ({ node, since }: Waiting) =>
        !known.some((kept) => kept.run === run && kept.node === node && kept.since === since);
      const links = waits.filter(isNew).flatMap((waiting) =>
        (approvals?.to ?? [ANYBODY]).map((by): Link => {
          return { run, waiting, by, token: randomBytes(32).toString("base64url") };
        }),
      );
      if (links.length > 0) await keep(workspace, run, links);
      return links;
    },
    /** Restores timers after a restart, requeues runs that did not end, and removes links of ended runs. */
    async restore(): Promise<void> {
      const known = await keptIn(workspace);
      const over: string[] = [];
      for (const run of new Set(known.map((kept) => kept.run))) {
        const stored = await ifKnown(() => workspace.store.read(run));
        const end = stored && endOf(stored.events);
        if (stored && end === undefined) await goOn(run);
        for (const wait of stored ? waitsIn(stored.events) : []) deadlines.watch(run, wait);
        if (stored && end?.status === "waiting") continue;
        if (!stored || end) over.push(...known.filter((kept) => kept.run === run).map(({ key }) => key));
      }
      if (over.length > 0) await state.forget(STATE, over.slice(KEPT_OVER));
    },
    close: deadlines.close,
  };
}

/** Requeues a run when an approval's deadline passes, so that its timeout applies. */
function openDeadlines(goOn: (run: string) => Promise<void>) {
  const timers = new Map<string, NodeJS.Timeout>();
  const watch = (run: string, { node, until }: Pick<Waiting, "node" | "until">) => {
    if (until === undefined) return;
    const key = `${run}\n${node}`;
    clearTimeout(timers.get(key));
    const ms = Date.parse(until) - Date.now();
    const again = () => (ms > LONGEST_TIMER_MS ? watch(run, { node, until }) : void goOn(run));
    timers.set(key, setTimeout(again, Math.min(Math.max(ms + 1, 0), LONGEST_TIMER_MS)).unref());
  };
  const close = () => {
    for (const timer of timers.values()) clearTimeout(timer);
  };
  return { watch, close };
}

async function keptIn({ state }: Workspace) {
  return (await entriesIn(state, STATE)).flatMap(({ key, data }) => {
    const kept = keptSchema().safeParse(data).data;
    return kept ? [{ key, ...kept }] : [];
  });
}

async function findLink(workspace: Workspace, token: string): Promise<Asked> {
  const kept = (await keptIn(workspace)).find(({ key }) => key === digestOf(token));
  if (!kept) return { kind: "unknown" };
  const { run, by, node, since, until } = kept;
  const stored = await ifKnown(() => workspace.store.read(run));
  if (!stored) return { kind: "over", how: `the run ${run} was removed` };
  const waiting = waitsIn(stored.events).find(
    (wait) => wait.node === node && wait.since === since && wait.digest === kept.digest,
  );
  if (!waiting) return { kind: "over", how: wordBefore(stored, node) };
  if (until !== undefined && Date.parse(until) <= Date.now()) return { kind: "late", until };
  return { kind: "open", link: { run, by, waiting }, stored };
}

async function keep({ state }: Workspace, run: string, links: readonly Link[]): Promise<void> {
  const changes = links.map(({ token, by, waiting: { node, since, until, digest } }) =>
    savedEntry(digestOf(token), { run, node, since, by, ...defined("until", until), ...defined("digest", digest) }),
  );
  const id = `${run}/links/${changes[0]?.key}`;
  await state.apply({ id, states: { [STATE]: { changes, limits: KEPT } } });
}

/** Number of links of ended runs to keep, so that a used link can still show its outcome. */
const KEPT_OVER = 1000;

export type Links = ReturnType<typeof openLinks>;

const keptSchema = lazy(() =>
  z.object({
    run: z.string(),
    node: z.string(),
    since: z.string(),
    by: z.string(),
    until: z.string().optional(),
    digest: z.string().optional(),
  }),
);

function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

export function wordBefore({ events }: StoredRun, path: string): string {
  const word = events.findLast((event) => {
    return event.type === "approval:given" && (event.at === undefined ? "" : `${event.at}/`) + event.node === path;
  });
  if (word?.type !== "approval:given") return "the run no longer waits for this decision";
  return `it was ${word.approved ? "approved" : "denied"} by ${word.by} at ${word.time}`;
}

/** Ignores the lock: the process that holds it continues the run. */
function ignoreLocked(error: unknown): void {
  if (!(error instanceof SkillflowError) || error.code !== "store.locked") throw error;
}
