import { isUtf8 } from "node:buffer";
import type { Blobs } from "../core/base/blobs.ts";
import { callCodeOf, messageOf, refusalOf, SkillflowError } from "../core/base/errors.ts";
import { isImage, isImageKind } from "../core/base/image.ts";
import type { Redactor } from "../core/base/redact/redact.ts";
import { countDotenvMarks } from "../core/base/redact/secret-forms.ts";
import { compileSchema } from "../core/base/schema/schema.ts";
import { copyJson, cutText, defined, type Json, type JsonSchema, toJson } from "../core/base/values.ts";
import type { Call } from "../core/engine/event/call.ts";
import { blobsIn } from "../core/engine/tools/blob.ts";
import { attachSent, nothingSent, type Sent } from "../core/skill/sent.ts";
import {
  type Audience,
  audienceOf,
  callHandler,
  type Failure,
  failureOf,
  type Logger,
  type Outcome,
  refusedCall,
  type Tool,
  type ToolContext,
} from "../core/skill/skill.ts";
import type { Suspect } from "./context.ts";
import { inTurn } from "./queue.ts";
import { holdLarge, isLarge } from "./results/large.ts";
import { Stop, type Stopping, signalOf } from "./stop.ts";
import { suspected } from "./stray.ts";

/** What carries out a tool: its handler and the one skill's config that it may see. */
export interface Handler {
  readonly tool: Tool;
  readonly config: Readonly<Record<string, string>>;
}

export interface CallOptions {
  readonly run: string;
  /** Undefined where the skill is no longer installed. */
  readonly findHandler: (call: Call) => Handler | undefined;
  readonly timeoutMs: number;
  readonly workDir: string;
  readonly fetch: typeof fetch;
  /** False unless told. */
  readonly offline?: boolean;
  readonly loggerFor: (skill: string) => Logger;
  readonly redactor: Redactor;
  readonly blobs: Blobs;
  /** Results with more characters than this become blobs. */
  readonly mostResult?: number;
}

/** `onBegin` is told when its handler begins, which may be never: calls wait for their turn. */
export type CallTool = (call: Call, stopping: Stopping, onBegin?: () => void) => Promise<Outcome>;

/** One tool call. Whatever the handler does, this resolves: failures are data (S7). */
export function createCall(options: CallOptions): CallTool {
  const means = { ...options, shared: sharedParts(options) };
  return async (call, stopping, onBegin) => {
    const handler = options.findHandler(call);
    if (!handler) return refusedCall(`the skill ${call.tool.skill} is no longer available`, "tool.unknown");
    const carryOut = () => {
      onBegin?.();
      return runHandler(means, handler, call, stopping);
    };
    // The handler's own failures are outcomes: what is thrown here kept it from starting.
    const outcome = await inTurn(carryOut, stopping).catch((error: unknown) => {
      return refusedCall(messageOf(error), stopping.aborted ? "run.interrupted" : callCodeOf(error));
    });
    return settle(options, outcome);
  };
}

/** What the contexts of several calls have in common; a handler can change none of it. */
function sharedParts({ blobs, redactor, loggerFor }: CallOptions) {
  const loggers = new Map<string, Logger>();
  return {
    blobs: Object.freeze(cleanBlobs(blobs, redactor)),
    loggerOf(skill: string) {
      const logger = loggers.get(skill) ?? Object.freeze(cleanLogger(loggerFor(skill), redactor));
      loggers.set(skill, logger);
      return logger;
    },
  };
}

/** Asking may take so long. */
const MOST_REACH_MS = 10_000;

/**
 * Returns who would read what a call writes: the public, if that cannot be determined in time. Returns a failure if the
 * service refuses to say, as it would refuse the write.
 */
export type AskReach = (call: Call, stopping: Stopping) => Promise<Audience | Failure>;

export function createReach(options: CallOptions): AskReach {
  const means = { ...options, shared: sharedParts(options) };
  return async (call, stopping) => {
    const handler = options.findHandler(call);
    if (!handler) return "public";
    const ending = openEnding(Math.min(options.timeoutMs, MOST_REACH_MS), stopping);
    const ask = async () =>
      audienceOf(handler.tool, copyJson(call.input), contextOf(means, handler, call, { ending, sent: nothingSent() }));
    try {
      return await ending.orFailure(suspected(ending, ask));
    } catch (error) {
      const isRefused = ending.failure() === undefined && refusalOf(error) === "lasting";
      return isRefused ? clean(options, failureOf(call.tool, error)) : "public";
    } finally {
      ending.close();
    }
  };
}

interface Means extends CallOptions {
  readonly shared: ReturnType<typeof sharedParts>;
}

/** The one place where a handler's code runs, and where its failures end. */
async function runHandler(means: Means, handler: Handler, call: Call, outer: Stopping): Promise<Outcome> {
  const ending = openEnding(means.timeoutMs, outer);
  const acted = call.tool.effect === "write" ? "unknown" : "no";
  const sent = nothingSent();
  try {
    const input = copyJson(call.input);
    const work = () => callHandler(handler.tool, input, contextOf(means, handler, call, { ending, sent }));
    const given = await ending.orFailure(suspected(ending, work));
    const outcome = checked(given, call.tool.output_schema);
    return typeof outcome === "string" ? { error: outcome, code: "output.invalid", acted } : outcome;
  } catch (error) {
    const ended = ending.failure();
    if (ended) return { ...ended, acted };
    const failure = failureOf(call.tool, error);
    // One request that is not allowed says nothing about those before it.
    return sent.mayHaveActed && failure.code === "offline.refused" ? { ...failure, acted } : failure;
  } finally {
    ending.close();
  }
}

interface Watching {
  readonly ending: Ending;
  readonly sent: Sent;
}

function contextOf(means: Means, { config }: Handler, call: Call, { ending, sent }: Watching): ToolContext {
  const { run, workDir, offline = false, shared } = means;
  const guarded: typeof fetch = (input, init) => {
    const { signal } = ending;
    return means.fetch(input, { ...init, signal: init?.signal ? AbortSignal.any([init.signal, signal]) : signal });
  };
  return {
    config,
    callId: call.id ?? `${run}/${call.key}`,
    workDir,
    get signal() {
      return ending.signal;
    },
    fetch: attachSent(counted(guarded, sent), sent),
    offline,
    logger: shared.loggerOf(call.tool.skill),
    blobs: shared.blobs,
  };
}

/** Counts the requests that no `send` judges: each may have written, unless it was refused. */
function counted(fetch: typeof globalThis.fetch, sent: Sent): typeof globalThis.fetch {
  return async (...request) => {
    sent.isTried = true;
    if (sent.isFollowed()) return fetch(...request);
    try {
      const answer = await fetch(...request);
      sent.mayHaveActed ||= answer.redirected || refusalOf(answer) === undefined;
      return answer;
    } catch (error) {
      sent.mayHaveActed ||= refusalOf(error) === undefined;
      throw error;
    }
  };
}

/** What a call may end by before its handler does. What that throws outside of its promise fails it while it is under way. */
interface Ending extends Suspect {
  /** Made for those handlers that ask for it. */
  readonly signal: AbortSignal;
  /** What the work comes to; rejects where something else ends the call first. */
  orFailure<Value>(work: Promise<Value>): Promise<Value>;
  /** What it ended by; undefined while it is under way. */
  failure(): Ended | undefined;
  close(): void;
}

type Ended = Pick<Failure, "error" | "code">;

function openEnding(timeoutMs: number, outer: Stopping): Ending {
  const stop = new Stop();
  let failure: Ended | undefined;
  let fail: (error: unknown) => void = () => undefined;
  const end = (reason: unknown, how: Ended) => {
    failure ??= how;
    stop.abort(() => reason);
    fail(reason);
  };
  const onStopped = () => end(outer.reason, stopped(outer.reason));
  const onLate = () => {
    const reason = new SkillflowError("tool.timeout", `the call took longer than ${timeoutMs / 1000} s`);
    end(reason, { error: reason.message, code: "tool.timeout" });
  };
  const timer = setTimeout(onLate, timeoutMs);
  if (outer.aborted) onStopped();
  else outer.addEventListener("abort", onStopped, { once: true });
  return {
    get signal() {
      return signalOf(stop);
    },
    orFailure(work) {
      return new Promise((resolve, reject) => {
        fail = reject;
        work.then(resolve, reject);
        if (stop.aborted) reject(stop.reason);
      });
    },
    take(error) {
      fail(error);
      return !stop.aborted;
    },
    failure: () => failure,
    close() {
      clearTimeout(timer);
      outer.removeEventListener("abort", onStopped);
      stop.abort(() => new Error("the call is over"));
    },
  };
}

/** By whoever made the call. */
function stopped(reason: unknown): Ended {
  return { error: messageOf(reason), code: "run.interrupted" };
}

/** The result, or why it is not valid. */
function checked(given: unknown, schema: JsonSchema | undefined): { readonly output: Json } | string {
  let output: Json;
  try {
    output = toJson(given);
  } catch (error) {
    return messageOf(error);
  }
  const problems = schema ? compileSchema(schema)(output) : [];
  if (problems.length === 0) return { output };
  return `the result does not fit the tool's output schema: ${problems.join("; ")}`;
}

const MOST_ERROR = 8192;
const MOST_LOG = 10_000;

/**
 * Redacted first, held or cut afterwards, so that no half of a secret survives (trust 5): whoever carries a call out hands
 * over all that was said.
 */
async function settle({ redactor, blobs, mostResult }: CallOptions, outcome: Outcome): Promise<Outcome> {
  if ("error" in outcome) return clean({ redactor }, outcome);
  const redacted = redactor.value(outcome.output);
  const counted = defined("redactions", countDotenvMarks(outcome.output, redacted));
  const output = isLarge(redacted, mostResult) ? await holdLarge(redacted, blobs, mostResult) : redacted;
  // What became a blob whole may have held images.
  const marks = output === redacted ? blobsIn(output) : [...blobsIn(output), ...blobsIn(redacted).filter(isImage)];
  if (marks.length === 0) return { output, ...counted };
  const ids = new Set(marks.map(({ blob_id }) => blob_id));
  const named = await Promise.all([...ids].map((id) => blobs.info(id)));
  const known = named.filter((info) => info !== undefined);
  return known.length === 0 ? { output, ...counted } : { output, blobs: known, ...counted };
}

function clean({ redactor }: Pick<CallOptions, "redactor">, failure: Failure): Failure {
  const error = redactor.text(failure.error);
  const counted = defined("redactions", countDotenvMarks(failure.error, error));
  return { ...failure, error: cutText(error, MOST_ERROR), ...counted };
}

function cleanLogger(logger: Logger, redactor: Redactor): Logger {
  const clean = (message: string) => cutText(redactor.text(message), MOST_LOG);
  return {
    debug: (message) => logger.debug(clean(message)),
    info: (message) => logger.info(clean(message)),
    warn: (message) => logger.warn(clean(message)),
  };
}

/** A handler's own blobs pass the redactor too, where they are text, whatever kind they are said to be. */
export function cleanBlobs(blobs: Blobs, redactor: Redactor): Blobs {
  return {
    ...blobs,
    create(content, kind) {
      const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
      const isText = isUtf8(bytes);
      if (!isText && !/^text\/|json|xml|yaml/.test(kind)) {
        if (isImageKind(kind)) checkPicture(bytes, redactor);
        return blobs.create(content, kind);
      }
      // What is no UTF-8 keeps its bytes.
      const encoding = isText ? "utf8" : "latin1";
      const text = bytes.toString(encoding);
      const redacted = redactor.text(text);
      return blobs.create(redacted === text ? content : Buffer.from(redacted, encoding), kind);
    },
  };
}

/** What the pixels show cannot be searched; what stands between them can, and can be taken out of no image. */
function checkPicture(bytes: Buffer, redactor: Redactor): void {
  const texts = bytes.toString("latin1").match(/[\t\n\r -~]{8,}/g) ?? [];
  const text = texts.join("\n");
  if (redactor.text(text) === text) return;
  throw new SkillflowError("blob.refused", "the image holds a secret");
}
