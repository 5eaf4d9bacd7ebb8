import { createHash } from "node:crypto";
import { messageOf, SkillflowError } from "../../core/base/errors.ts";
import { defined, type Json, type JsonObject, textAt } from "../../core/base/values.ts";
import { mapEvent, type WebhookEvent } from "../../core/document/listen/mapping.ts";
import type { Intake, StateDelta } from "../../core/engine/ports.ts";
import { keyOf } from "../../core/engine/record/memory.ts";
import { endOf } from "../../core/engine/result/waiting.ts";
import type { RunChoices } from "../../core/engine/settings/settings.ts";
import type { Workspace } from "../host.ts";
import { coolingNow, hasUnwritten } from "../runs/memory.ts";
import { type Cooling, type PreparedRun, prepareRun } from "../runs/prepare.ts";
import { type Day, msToTomorrow } from "./day.ts";
import { entriesIn, ifKnown, savedEntry, turns } from "./kept.ts";
import type { Origin, Setting, Source } from "./setting.ts";

/** Event that passed authentication. */
interface Arrival {
  readonly source: Origin;
  /** The sender's id, the same for every attempt. Undefined if only the body identifies the delivery. */
  readonly id: string | undefined;
  readonly digest: string;
}

/** Webhook that passed authentication. */
export interface Delivery extends Arrival {
  readonly source: Source;
  readonly event: WebhookEvent;
}

type Unstarted =
  | { readonly kind: "ignored" | "invalid"; readonly reason: string }
  | { readonly kind: "limited"; readonly reason: string; readonly afterS: number };

export type Taken = { readonly kind: "accepted" | "duplicate" | "joined"; readonly run: string } | Unstarted;

const USUAL_QUEUE = 1000;
const QUEUE_AFTER_S = 30;

/** Accepts webhooks. Each accepted one is recorded as a run exactly once, even if this process dies. */
export function openAcceptance(
  { workspace, file }: Setting,
  { day, intake, choices: given }: { readonly day: Day; readonly intake: Intake; readonly choices: RunChoices },
) {
  const choices = { ...given, detached: true };
  const inTurn = turns();
  const mostWaiting = file.limits?.queue ?? USUAL_QUEUE;

  const begin = async ({ record }: PreparedRun, join: string | undefined): Promise<Taken> => {
    const { run } = record;
    const waiting = await intake.waiting();
    if (waiting >= mostWaiting) {
      return { kind: "limited", reason: `${waiting} runs are already waiting`, afterS: QUEUE_AFTER_S };
    }
    const joined: StateDelta["states"] =
      join === undefined ? {} : { [JOINED]: { changes: [savedEntry(join, { run })], limits: KEPT } };
    const full = (await day.full()) ?? (await day.begin(run, joined));
    if (full !== undefined) return { kind: "limited", reason: full, afterS: Math.ceil(msToTomorrow() / 1000) };
    try {
      await intake.enqueue(record);
      return { kind: "accepted", run };
    } catch (error) {
      if (error instanceof SkillflowError && error.code === "run.exists") return { kind: "duplicate", run };
      throw error;
    }
  };

  /** Joined deliveries by the id that their own run would have. In memory: a flood of alerts must not fill a state. */
  const joinedBefore: JoinedDeliveries = new Map();

  const join = (id: string, run: string): Taken => {
    const [oldest] = joinedBefore.size >= MOST_JOINED ? joinedBefore.keys() : [];
    if (oldest !== undefined) joinedBefore.delete(oldest);
    joinedBefore.set(id, { known: run, at: new Date().toISOString() });
    return { kind: "joined", run };
  };

  const take = async (delivery: Arrival, input: JsonObject, fingerprint: Json | undefined): Promise<Taken> => {
    const known = await knownRun(workspace, delivery, joinedBefore);
    if ("known" in known) return { kind: "duplicate", run: known.known };
    const cooling = coolingOf(delivery.source, fingerprint);
    const { document } = delivery.source;
    const request = { document, input: () => input, runId: known.fresh, choices, connect: undefined, cooling };
    const prepared = await prepareValid(workspace, request);
    if ("kind" in prepared) return prepared;
    await prepared.close();
    const { record } = prepared;
    if (record.skipped) return join(known.fresh, record.skipped.run);
    // Without a cool-down, alerts of one cause join only while their run is active.
    const own = cooling?.fingerprint === undefined ? undefined : keyOf(record.workflow.id, cooling.fingerprint);
    const cause = choices.coolDown === false ? undefined : (record.cooled ?? own);
    // A run that ended in the meantime may have started a cool-down.
    const joined =
      cause === undefined ? undefined : ((await underWay(workspace, cause)) ?? (await coolingNow(workspace, record)));
    if (joined !== undefined) return join(known.fresh, joined);
    return inTurn("", () => begin(prepared, cause));
  };

  return {
    async take(delivery: Delivery): Promise<Taken> {
      const mapped = mapEvent(delivery.source.said, delivery.event);
      if (mapped.kind === "ignored") return mapped;
      if (mapped.kind === "problem") return { kind: "invalid", reason: mapped.problem };
      // The second of two concurrent deliveries with one fingerprint must find the first.
      return inTurn(delivery.source.document, () => take(delivery, mapped.input, mapped.fingerprint));
    },
    start: (source: Origin, id: string, input: JsonObject): Promise<Taken> =>
      inTurn(source.document, () => take({ source, id, digest: "" }, input, undefined)),
  };
}

export function runIdOf(source: Pick<Origin, "name">, id: string): string {
  return `${source.name}-${digestOf(`${source.name}\n${id}`)}`;
}

/** Prepares the run. Returns the problems of an input that does not fit. */
async function prepareValid(workspace: Workspace, request: Parameters<typeof prepareRun>[1]) {
  try {
    return await prepareRun(workspace, request);
  } catch (error) {
    if (!(error instanceof SkillflowError) || error.code !== "input.invalid") throw error;
    const reason = error.diagnostics.map(({ message }) => message).join("; ") || messageOf(error);
    return { kind: "invalid", reason } as const;
  }
}

function coolingOf({ said }: Origin, fingerprint: Json | undefined): Cooling | undefined {
  const { fingerprint: key, cool_down } = said;
  if (key === undefined && cool_down === undefined) return undefined;
  return { fingerprint, ...defined("key", key), ...defined("for", cool_down) };
}

/** State that maps a fingerprint to its run from acceptance on. A cool-down starts only when the run ends. */
const JOINED = "_listen_joined";
const KEPT = { keepMs: 62 * 24 * 60 * 60 * 1000, maxEntries: 1000 };
/** Longest time to join alerts to a run, so that a run that never ends does not swallow them forever. */
const MOST_JOINED_MS = 24 * 60 * 60 * 1000;

/** Returns the run with a fingerprint that has not ended. */
async function underWay({ state, store }: Workspace, key: string): Promise<string | undefined> {
  const entry = (await entriesIn(state, JOINED)).find((one) => one.key === key);
  const run = textAt(entry?.data, "run");
  if (run === undefined || Date.now() - Date.parse(entry?.last_seen ?? "") > MOST_JOINED_MS) return undefined;
  // The run may never have been recorded, or have been pruned.
  const stored = await ifKnown(() => store.read(run));
  if (!stored) return undefined;
  const end = endOf(stored.events);
  return end === undefined || end.status === "waiting" || hasUnwritten(stored) ? run : undefined;
}

/** Time in which deliveries without an id and with the same body count as one. */
const SAME_MS = 5 * 60 * 1000;

type Known = { readonly known: string } | { readonly fresh: string };
type JoinedDeliveries = Map<string, { readonly known: string; readonly at: string }>;
const MOST_JOINED = 10_000;

/** Derives the run's id from the delivery, so that a delivery starts at most one run on any machine. */
async function knownRun(
  { store }: Workspace,
  { source, id, digest }: Arrival,
  joinedBefore: JoinedDeliveries,
): Promise<Known> {
  const takenBy = async (own: string) => {
    const at = (await ifKnown(() => store.skim(own)))?.record.at;
    return at === undefined ? joinedBefore.get(own) : { known: own, at };
  };
  if (id !== undefined) {
    const run = runIdOf(source, id);
    return (await takenBy(run)) ?? { fresh: run };
  }
  const now = Date.now();
  const span = Math.floor(now / SAME_MS);
  const of = (count: number) => `${source.name}-${digestOf(`${source.name}\n${digest}`)}-${count.toString(36)}`;
  const same = await takenBy(of(span));
  if (same) return same;
  const before = await takenBy(of(span - 1));
  return before && now - Date.parse(before.at) < SAME_MS ? before : { fresh: of(span) };
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 20);
}
