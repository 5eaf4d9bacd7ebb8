import { isUtf8 } from "node:buffer";
import type { Blobs } from "../core/blobs.ts";
import type { Call } from "../core/call.ts";
import { cutText } from "../core/cut.ts";
import { messageOf } from "../core/errors.ts";
import { blobsIn } from "../core/own/blob.ts";
import type { Redactor } from "../core/redact/redact.ts";
import { compileSchema } from "../core/schema/schema.ts";
import type { Logger, Outcome, Tool } from "../core/skill.ts";
import { callHandler } from "../core/skill.ts";
import { type Json, type JsonSchema, toJson } from "../core/values.ts";
import { holdLarge } from "./large.ts";
import { inTurn } from "./queue.ts";
import { type Suspect, suspected } from "./stray.ts";

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
export type CallTool = (call: Call, signal: AbortSignal, onBegin?: () => void) => Promise<Outcome>;

/** One tool call. Whatever the handler does, this resolves: failures are data (S7). */
export function createCall(options: CallOptions): CallTool {
  return async (call, signal, onBegin) => {
    const handler = options.findHandler(call);
    if (!handler) return { error: `the skill ${call.tool.skill} is no longer available` };
    const carryOut = () => {
      onBegin?.();
      return runHandler(options, handler, call, signal);
    };
    const outcome = await inTurn(carryOut, signal).catch((error: unknown) => ({ error: messageOf(error) }));
    return settle(options, outcome);
  };
}

/** The one place where a handler's code runs, and where its failures end. */
async function runHandler(options: CallOptions, handler: Handler, call: Call, signal: AbortSignal): Promise<Outcome> {
  const deadline = new AbortController();
  const both = AbortSignal.any([signal, deadline.signal]);
  const seconds = options.timeoutMs / 1000;
  const timer = setTimeout(
    () => deadline.abort(new Error(`the call took longer than ${seconds} s`)),
    options.timeoutMs,
  );
  try {
    const input = structuredClone(call.input);
    const work = async () => callHandler(handler.tool, input, contextOf(options, handler, call, both));
    const astray = rejectOnStray(both);
    const output = toJson(await Promise.race([suspected(astray, work), astray.thrown, rejectOnAbort(both)]));
    return checked(output, call.tool.output_schema);
  } catch (error) {
    const isLate = deadline.signal.aborted;
    return { error: messageOf(both.aborted ? both.reason : error), ...(isLate ? { fault: "time" } : {}) };
  } finally {
    clearTimeout(timer);
    deadline.abort(new Error("the call is over"));
  }
}

function contextOf(options: CallOptions, { config }: Handler, call: Call, signal: AbortSignal) {
  const { run, workDir, loggerFor, offline = false } = options;
  const guarded: typeof fetch = (input, init) =>
    options.fetch(input, { ...init, signal: init?.signal ? AbortSignal.any([init.signal, signal]) : signal });
  const blobs = cleanBlobs(options.blobs, options.redactor);
  const logger = cleanLogger(loggerFor(call.tool.skill), options.redactor);
  return { config, callId: `${run}/${call.key}`, workDir, signal, fetch: guarded, offline, logger, blobs };
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** What the handler throws outside of its promise fails its call while that is under way. */
function rejectOnStray(over: AbortSignal): Suspect & { readonly thrown: Promise<never> } {
  let fail: (error: unknown) => void = () => undefined;
  const thrown = new Promise<never>((_, reject) => {
    fail = reject;
  });
  return {
    thrown,
    take(error) {
      fail(error);
      return !over.aborted;
    },
  };
}

function checked(output: Json, schema: JsonSchema | undefined): Outcome {
  const problems = schema ? compileSchema(schema)(output) : [];
  return problems.length === 0
    ? { output }
    : { error: `the result does not fit the tool's output schema: ${problems.join("; ")}` };
}

const MOST_ERROR = 8192;
const MOST_LOG = 10_000;

/**
 * Redacted first, held or cut afterwards, so that no half of a secret survives (trust 5): whoever carries a call out hands
 * over all that was said.
 */
async function settle({ redactor, blobs, mostResult }: CallOptions, outcome: Outcome): Promise<Outcome> {
  if ("error" in outcome) return { ...outcome, error: cutText(redactor.text(outcome.error), MOST_ERROR) };
  const output = await holdLarge(redactor.value(outcome.output), blobs, mostResult);
  const named = await Promise.all(blobsIn(output).map(({ blob_id }) => blobs.info(blob_id)));
  const known = named.filter((info) => info !== undefined);
  return known.length === 0 ? { output } : { output, blobs: known };
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
      if (!isText && !/^text\/|json|xml|yaml/.test(kind)) return blobs.create(content, kind);
      // What is no UTF-8 keeps its bytes.
      const encoding = isText ? "utf8" : "latin1";
      const text = bytes.toString(encoding);
      const redacted = redactor.text(text);
      return blobs.create(redacted === text ? content : Buffer.from(redacted, encoding), kind);
    },
  };
}
