import type { Blobs } from "../../core/base/blobs.ts";
import { attempt, messageOf, SkillflowError } from "../../core/base/errors.ts";
import { isObject, isTexts, toJson } from "../../core/base/values.ts";
import type { RunEvent } from "../../core/engine/event/event.ts";
import { replySchema } from "../../core/engine/event/reply.ts";
import type { Journal, Model, RecordCheck, Store } from "../../core/engine/ports.ts";

/** Guards for custom models and stores, which may throw or return anything. */

/** Reports the model's errors as `model.rejected` and checks its replies against the schema. */
export function guardModel(prefix: string, model: Model): Model {
  return {
    provider: prefix,
    async reply(prompt, call) {
      let reply: unknown;
      try {
        reply = await model.reply(structuredClone(prompt), call); // a copy, because the model may change it
      } catch (error) {
        if (error instanceof SkillflowError || call.signal.aborted) throw error;
        throw new SkillflowError("model.rejected", `the model ${prefix}: ${messageOf(error)}`, { cause: error });
      }
      // A value that is not JSON fails the schema.
      const checked = replySchema().safeParse(attempt(() => toJson(reply)));
      if (checked.success) return checked.data;
      const problems = checked.error.issues.map(({ path, message }) => `${path.join(".") || "the reply"}: ${message}`);
      throw new SkillflowError("model.garbled", `the model ${prefix} returned no valid reply: ${problems.join("; ")}`);
    },
  };
}

/** Reports the store's errors as `store.failed` and checks what it returns. */
export function guardStore(store: Store): Store {
  return {
    create: (record) => told(async () => guardJournal(await store.create(record))),
    open: (run) =>
      told(async () => {
        const { record, events, journal } = stored(await store.open(run));
        return { record, events, journal: guardJournal(journal) };
      }),
    read: (run) => told(async () => stored(await store.read(run))),
    verify: (run) => told(async () => checkOf(await store.verify(run))),
    skim: (run) => told(async () => stored(await store.skim(run))),
    list: () => told(async () => idsOf(await store.list())),
    remove: (run) => told(() => store.remove(run)),
    blobs(run) {
      try {
        return guardBlobs(store.blobs(run));
      } catch (error) {
        throw storeFault(error);
      }
    },
  };
}

function stored<Stored>(run: Stored): Stored {
  if (isObject(run) && isObject(run.record) && Array.isArray(run.events)) return run;
  throw new Error("it returned no run");
}

function checkOf(check: RecordCheck): RecordCheck {
  if (isObject(check) && typeof check.records === "number" && Array.isArray(check.problems)) return check;
  throw new Error("it returned no result of the check");
}

function idsOf(ids: readonly unknown[]): string[] {
  if (isTexts(ids)) return [...ids];
  throw new Error("it returned no list of ids");
}

/** Copies the methods only, because `blobs` may be an instance of a class. */
function guardBlobs(blobs: Blobs): Blobs {
  return {
    create: (content, kind) => told(() => blobs.create(content, kind)),
    info: (id) => told(() => blobs.info(id)),
    read: (id, offset, length) => told(() => blobs.read(id, offset, length)),
    file: (id) => told(() => blobs.file(id)),
  };
}

/** Rejects an empty result: a run that records nothing would never end. */
function recordOf(events: readonly RunEvent[]): readonly RunEvent[] {
  const isEvent = (event: unknown) =>
    isObject(event) &&
    typeof event.type === "string" &&
    typeof event.seq === "number" &&
    typeof event.time === "string";
  if (!Array.isArray(events) || events.length === 0 || !events.every(isEvent)) throw new Error("it returned no record");
  return events;
}

function guardJournal(journal: Journal): Journal {
  if (!isObject(journal) || typeof journal.epoch !== "number") throw new Error("it returned no journal");
  return {
    epoch: journal.epoch,
    async record(key, work, isRepeatable) {
      let ours: unknown;
      const noted = async () => {
        try {
          return await work();
        } catch (error) {
          ours = error;
          throw error;
        }
      };
      try {
        return recordOf(await journal.record(key, noted, isRepeatable));
      } catch (error) {
        throw ours === undefined || error !== ours ? storeFault(error) : error;
      }
    },
    close: () => told(() => journal.close()),
  };
}

function told<Value>(work: () => Promise<Value>): Promise<Value> {
  return reported("the store", work);
}

/** Reports the errors of a store as `store.failed`. */
export async function reported<Value>(what: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw storeFault(error, what);
  }
}

function storeFault(error: unknown, what = "the store"): SkillflowError {
  if (error instanceof SkillflowError) return error;
  return new SkillflowError("store.failed", `${what}: ${messageOf(error)}`, { cause: error });
}
