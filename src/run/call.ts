import { isUtf8 } from "node:buffer";
import type { Blobs } from "../core/base/blobs.ts";
import { callCodeOf, messageOf, refusalOf, SkillflowError } from "../core/base/errors.ts";
import { isImage, isImageKind } from "../core/base/image.ts";
import { cutMiddle } from "../core/base/preview.ts";
import type { Redactor } from "../core/base/redact/redact.ts";
import { countDotenvMarks } from "../core/base/redact/secret-forms.ts";
import { compileSchema } from "../core/base/schema/schema.ts";
import { copyJson, defined, type Json, type JsonSchema, LONGEST_TIMER_MS, toJson } from "../core/base/values.ts";
import type { Call } from "../core/engine/event/call.ts";
import { cutLater, cutLaterText } from "../core/engine/evidence/later.ts";
import { endInput } from "../core/engine/recheck/calls.ts";
import { blobsIn } from "../core/engine/tools/blob.ts";
import { isBoardTool } from "../core/engine/tools/own-tools.ts";
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
import { atPlace } from "./queue.ts";
import { holdLarge, isLarge, MOST_RESULT } from "./results/large.ts";
import { Stop, type Stopping, signalOf, withSignal } from "./stop.ts";
import { type Suspect, suspected } from "./stray.ts";

/** A tool with its handler, and the config of its skill, which is the only one the handler may see. */
export interface Handler {
  readonly tool: Tool;
  readonly config: Readonly<Record<string, string>>;
  /** Time limit of a call that has its own, which the general limit does not shorten. */
  readonly timeoutMs?: number;
}

export interface CallOptions {
  readonly run: string;
  /** Returns undefined if the skill is no longer available. */
  readonly findHandler: (call: Call) => Handler | undefined;
  readonly timeoutMs: number;
  readonly workDir: string;
  readonly fetch: typeof fetch;
  readonly offline?: boolean;
  readonly loggerFor: (skill: string) => Logger;
  readonly redactor: Redactor;
  readonly blobs: Blobs;
  /** Largest result in characters. Larger ones become blobs. */
  readonly mostResult?: number;
  /** Time that the run's clock shows, in milliseconds. Defaults to the current time. */
  readonly asOf?: number | undefined;
}

/** Calls `onBegin` when the handler starts. That may never happen, because calls wait in a queue. */
export type CallTool = (call: Call, stopping: Stopping, onBegin?: () => void) => Promise<Outcome>;

/** Creates the function that makes tool calls. It always resolves: a failure of the handler is an outcome. */
export function createCall(options: CallOptions): CallTool {
  const means = { ...options, shared: sharedParts(options) };
  return async (call, stopping, onBegin) => {
    const handler = options.findHandler(call);
    if (!handler) return refusedCall(`the skill ${call.tool.skill} is no longer available`, "tool.unknown");
    const carryOut = () => {
      onBegin?.();
      return runHandler(means, [handler, call], stopping);
    };
    let outcome: Outcome;
    try {
      outcome = await atPlace(carryOut, stopping);
    } catch (error) {
      // Errors of the handler are outcomes, so an error here means that the handler did not start.
      outcome = refusedCall(messageOf(error), stopping.aborted ? "run.interrupted" : callCodeOf(error));
    }
    // A map reads the whole board. No prompt shows more of it than `show` allows.
    const own = isBoardTool(call.tool) ? MOST_BOARD : (handler.tool.most_result ?? 0);
    return settle(own > (options.mostResult ?? MOST_RESULT) ? { ...options, mostResult: own } : options, outcome);
  };
}

/** Creates the frozen parts that the contexts of all calls share. */
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

/** Time limit for determining the audience. */
const MOST_REACH_MS = 10_000;

/**
 * Returns the audience of a call's write, or `public` if that cannot be determined in time. Returns a failure if the
 * service permanently refuses the request, because it would refuse the write as well.
 */
export type AskReach = (call: Call, stopping: Stopping) => Promise<Audience | Failure>;

export function createReach(options: CallOptions): AskReach {
  const means = { ...options, shared: sharedParts(options) };
  return async (call, stopping) => {
    const handler = options.findHandler(call);
    if (!handler) return "public";
    const ending = openEnding(Math.min(options.timeoutMs, MOST_REACH_MS), stopping);
    const ask = async () =>
      audienceOf(
        handler.tool,
        copyJson(call.input),
        contextOf(means, [handler, call], { ending, sent: nothingSent() }),
      );
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

type Handled = readonly [handler: Handler, call: Call];

/** Runs a handler and turns its errors into outcomes. No handler runs anywhere else. */
async function runHandler(means: Means, [handler, call]: Handled, outer: Stopping): Promise<Outcome> {
  const ending = openEnding(Math.max(means.timeoutMs, handler.timeoutMs ?? 0), outer);
  const acted = call.tool.effect === "write" ? "unknown" : "no";
  const sent = nothingSent();
  try {
    const end = endsAt(means, call);
    const input = end === undefined ? copyJson(call.input) : copyJson(endInput(call.input, call.tool, end));
    const work = () => callHandler(handler.tool, input, contextOf(means, [handler, call], { ending, sent }));
    const given = await ending.orFailure(suspected(ending, work, true));
    const outcome = checked(given, call.tool.output_schema);
    if (typeof outcome === "string") return { error: outcome, code: "output.invalid", acted };
    return end === undefined ? outcome : withoutLater(outcome.output, end);
  } catch (error) {
    const ended = ending.failure();
    if (ended) return { ...ended, acted };
    const failure = failureOf(call.tool, error);
    // Earlier requests may have written, even if a later one was refused.
    return sent.mayHaveActed && failure.code === "offline.refused" ? { ...failure, acted } : failure;
  } finally {
    ending.close();
  }
}

interface Watching {
  readonly ending: Ending;
  readonly sent: Sent;
}

function contextOf(means: Means, [{ config }, call]: Handled, { ending, sent }: Watching): ToolContext {
  const { run, workDir, offline = false, shared } = means;
  const guarded: typeof fetch = (input, init) => {
    const signal = signalOf(ending.stop);
    return means.fetch(input, { ...init, signal: init?.signal ? AbortSignal.any([init.signal, signal]) : signal });
  };
  const context = {
    config,
    callId: call.id ?? `${run}/${call.key}`,
    workDir,
    fetch: attachSent(counted(guarded, sent), sent),
    offline,
    logger: shared.loggerOf(call.tool.skill),
    now: () => means.asOf ?? Date.now(),
    blobs: endsAt(means, call) === undefined ? shared.blobs : blobsUntil(shared.blobs, means.asOf),
  };
  return withSignal(context, ending.stop);
}

/** Returns the time after which a call returns nothing. Undefined for tools that do not read a time range. */
function endsAt({ asOf }: Means, { tool }: Call): number | undefined {
  return tool.clock === "range" ? asOf : undefined;
}

/** Removes the records of a result that are later than the run's clock. A result that is later itself is refused. */
function withoutLater(output: Json, asOf: number): Outcome {
  const kept = cutLater(output, asOf);
  if (kept !== undefined) return { output: kept };
  return refusedCall(`this happened after ${new Date(asOf).toISOString()}, the time of this run`, "call.refused");
}

/** Cuts the text blobs that a handler creates as results are cut. */
function blobsUntil(blobs: Blobs, asOf = Number.POSITIVE_INFINITY): Blobs {
  return {
    ...blobs,
    create(content, kind) {
      const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
      return blobs.create(isUtf8(bytes) ? Buffer.from(cutLaterText(bytes.toString("utf8"), asOf)) : content, kind);
    },
  };
}

/** Tracks requests that do not go through `send`. Each may have written, unless it was refused. */
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

/** Early end of a call, by a timeout or a stop. A stray error of the handler also fails a running call. */
interface Ending extends Suspect {
  readonly stop: Stop;
  /** Resolves with the result of the work. Rejects if the call ends earlier. */
  orFailure<Value>(work: Promise<Value>): Promise<Value>;
  /** Returns why the call ended early, or undefined if it did not. */
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
  const onStopped = () => end(outer.reason, { error: messageOf(outer.reason), code: "run.interrupted" });
  const onLate = () => {
    const reason = new SkillflowError("tool.timeout", `the call took longer than ${timeoutMs / 1000} s`);
    end(reason, { error: reason.message, code: "tool.timeout" });
  };
  const timer = setTimeout(onLate, Math.min(timeoutMs, LONGEST_TIMER_MS));
  if (outer.aborted) onStopped();
  else outer.addEventListener("abort", onStopped, { once: true });
  return {
    stop,
    orFailure(work) {
      return new Promise((resolve, reject) => {
        fail = reject;
        work.then(resolve, reject);
        if (stop.aborted) reject(stop.reason);
      });
    },
    isSkill: true,
    take(error) {
      fail(error);
      return !stop.aborted;
    },
    failure: () => failure,
    close() {
      clearTimeout(timer);
      outer.removeEventListener("abort", onStopped);
      stop.abort(() => new Error("the call has ended"));
    },
  };
}

/** Returns the result as JSON, or a message if it is invalid. */
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
const MOST_BOARD = 1_000_000;
const MOST_LOG = 10_000;

/**
 * Redacts the outcome, then cuts it or moves it to blobs. The order matters, because the redactor cannot recognize half
 * of a secret. Most outcomes have no blobs, and cost no promise.
 */
function settle({ redactor, blobs, mostResult }: CallOptions, outcome: Outcome): Outcome | Promise<Outcome> {
  if ("error" in outcome) return clean({ redactor }, outcome);
  const output = redactor.value(outcome.output);
  const counted = defined("redactions", countDotenvMarks(outcome.output, output));
  const hasBlobs = blobsIn(output).length > 0 || isLarge(output, mostResult);
  return hasBlobs ? named(output, blobs, mostResult).then((held) => ({ ...held, ...counted })) : { output, ...counted };
}

/** Moves a large result to blobs, and adds what is known about the blobs in a result. */
async function named(redacted: Json, blobs: Blobs, mostResult?: number): Promise<Extract<Outcome, { output: Json }>> {
  const output = isLarge(redacted, mostResult) ? await holdLarge(redacted, blobs, mostResult) : redacted;
  // If the whole result became a blob, it may contain images.
  const marks = output === redacted ? blobsIn(output) : [...blobsIn(output), ...blobsIn(redacted).filter(isImage)];
  const ids = new Set(marks.map(({ blob_id }) => blob_id));
  const found = await Promise.all([...ids].map((id) => blobs.info(id)));
  const known = found.filter((info) => info !== undefined);
  return known.length === 0 ? { output } : { output, blobs: known };
}

function clean({ redactor }: Pick<CallOptions, "redactor">, failure: Failure): Failure {
  const error = redactor.text(failure.error);
  const counted = defined("redactions", countDotenvMarks(failure.error, error));
  return { ...failure, error: cutMiddle(error, MOST_ERROR), ...counted };
}

function cleanLogger(logger: Logger, redactor: Redactor): Logger {
  const clean = (message: string) => cutMiddle(redactor.text(message), MOST_LOG);
  return {
    debug: (message) => logger.debug(clean(message)),
    info: (message) => logger.info(clean(message)),
    warn: (message) => logger.warn(clean(message)),
  };
}

/** Redacts the blobs that a handler creates if they are text, whatever their declared kind. */
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
      // Latin-1 preserves the bytes of invalid UTF-8.
      const encoding = isText ? "utf8" : "latin1";
      const text = bytes.toString(encoding);
      const redacted = redactor.text(text);
      return blobs.create(redacted === text ? content : Buffer.from(redacted, encoding), kind);
    },
  };
}

/** Throws if the image's bytes contain a secret as text, such as in its metadata. The pixels cannot be searched. */
function checkPicture(bytes: Buffer, redactor: Redactor): void {
  const texts = bytes.toString("latin1").match(/[\t\n\r -~]{8,}/g) ?? [];
  const text = texts.join("\n");
  if (redactor.text(text) === text) return;
  throw new SkillflowError("blob.refused", "the image contains a secret");
}
