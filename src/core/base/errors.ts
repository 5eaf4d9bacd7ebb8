import type { Diagnostic } from "./diagnostic.ts";
import { withField } from "./diagnostic.ts";

/** Exit status of each reason why we cannot go on (cli "Exit codes"). The keys are the closed union of error codes. */
const EXIT_CODES = {
  "usage.invalid": 2,
  "workflow.invalid": 2,
  "input.invalid": 2,
  "config.invalid": 2,
  "skill.invalid": 2,
  "run.unknown": 2,
  "run.exists": 2,
  "run.finished": 2,
  "recording.invalid": 2,
  "node.failed": 1,
  "route.unresolved": 1,
  "replay.missing": 1,
  "replay.changed": 1,
  "script.exhausted": 1,
  "run.no_work": 1,
  "tool.failed": 1,
  "tool.timeout": 1,
  "tool.unknown": 1,
  "output.invalid": 1,
  "call.refused": 1,
  "call.in_doubt": 1,
  "config.missing": 3,
  "skills.missing": 3,
  "lock.differs": 3,
  "actor.refused": 3,
  "model.auth": 4,
  "model.unknown": 4,
  "model.quota": 4,
  "model.overloaded": 4,
  "model.unreachable": 4,
  "model.rejected": 4,
  "model.garbled": 4,
  "model.silent": 4,
  "offline.refused": 4,
  "server.failed": 4,
  "calls.full": 4,
  "blob.unknown": 4,
  "blob.refused": 4,
  "sandbox.missing": 4,
  "sandbox.failed": 4,
  "sandbox.limit": 4,
  "store.locked": 4,
  "store.full": 4,
  "store.failed": 4,
  "journal.diverged": 4,
  "run.altered": 4,
  "output.failed": 4,
  "plan.altered": 4,
  "internal.fault": 4,
  "limit.reached": 5,
  "run.waiting": 7,
  "run.interrupted": 130,
} as const;

export type ErrorCode = keyof typeof EXIT_CODES;

/** What a recording calls a code may be none of ours: something outside is to blame then. */
export function exitCodeOf(code: string): number {
  return isErrorCode(code) ? EXIT_CODES[code] : 4;
}

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(EXIT_CODES, code);
}

/** Why a call of a tool did not succeed, as its `tool:result` says it beside the text. */
export const CALL_CODES = [
  "tool.failed",
  "tool.timeout",
  "tool.unknown",
  "input.invalid",
  "output.invalid",
  "call.refused",
  "call.in_doubt",
  "calls.full",
  "limit.reached",
  "run.interrupted",
  "server.failed",
  "offline.refused",
  "sandbox.missing",
  "sandbox.failed",
  "sandbox.limit",
  "blob.unknown",
  "blob.refused",
] as const satisfies readonly ErrorCode[];

export type CallCode = (typeof CALL_CODES)[number];

/** What a failed call did to the outside world: nothing, or possibly all that it was asked. */
export type Acted = "no" | "unknown";

/** Codes of calls that were refused before any work began. */
const NEVER_BEGUN: ReadonlySet<string> = new Set<CallCode>([
  "tool.unknown",
  "input.invalid",
  "call.refused",
  "calls.full",
  "offline.refused",
  "sandbox.missing",
  "sandbox.failed",
]);

/** What a code alone says about a failed write: the only source in records that do not hold `acted`. */
export function actedByCode(code: string | undefined): Acted {
  return code !== undefined && NEVER_BEGUN.has(code) ? "no" : "unknown";
}

/** What a thrown value says about the write that it ended. Any error with the property `acted: "no"` counts. */
export function actedOf(error: unknown): Acted {
  return propertyOf(error, "acted") === "no" ? "no" : "unknown";
}

/**
 * Why a request had no effect: the same request would be refused again (`lasting`), or may succeed later (`passing`).
 * Undefined if it may have had one, as after a server error, a lost connection or an answer that cannot be read.
 */
export function refusalOf(error: unknown): "lasting" | "passing" | undefined {
  const acted = propertyOf(error, "acted");
  if (acted === "unknown") return undefined;
  if (acted === "no") return propertyOf(error, "passing") === false ? "lasting" : "passing";
  const status = propertyOf(error, "status");
  if (status === 429) return "passing";
  if (typeof status === "number" && status >= 400 && status < 500 && status !== 408) return "lasting";
  return isUnsent(error) ? "passing" : undefined;
}

/** Whether the connection failed before a request could be sent over it. */
function isUnsent(error: unknown, depth = 0): boolean {
  if (typeof error !== "object" || error === null || depth > 5) return false;
  if (["connect", "getaddrinfo"].includes(String(propertyOf(error, "syscall")))) return true;
  return UNSENT.has(String(propertyOf(error, "code"))) || isUnsent(propertyOf(error, "cause"), depth + 1);
}

/** Failures of undici and Node.js while they connect. ECONNREFUSED is one even where several addresses were tried. */
const UNSENT: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "UND_ERR_CONNECT_TIMEOUT",
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "ERR_SSL_WRONG_VERSION_NUMBER",
]);

/** Reads a property of any thrown value, even of one that throws when it is read. */
function propertyOf(thrown: unknown, name: string): unknown {
  try {
    return (thrown as Readonly<Record<string, unknown>> | null | undefined)?.[name];
  } catch {
    return undefined;
  }
}

/**
 * Thrown by the handler of a tool that writes, to state that nothing was written: the service refused, or the request
 * was never sent. Any other error of a write leaves its outcome unknown.
 */
export class NothingDone extends Error {
  readonly acted = "no";
  /** Whether the same call may succeed later, as after a rate limit or while the service is not reachable. */
  readonly passing: boolean;

  constructor(message: string, { passing = false }: { readonly passing?: boolean } = {}) {
    super(message);
    this.passing = passing;
  }
}

/** The error of a handler elsewhere, such as in a script, by what it says of itself as JSON. */
export function reportedError(message: string, acted: unknown): Error {
  return acted === "no" ? new NothingDone(message) : new Error(message);
}

/** Of what was thrown while a call was carried out: what says nothing else is the tool's own failure. */
export function callCodeOf(error: unknown): CallCode {
  const code = error instanceof SkillflowError ? error.code : undefined;
  return CALL_CODES.find((known) => known === code) ?? "tool.failed";
}

/** Options that hints name, as the command line calls them. Each surface has names of its own for them. */
export type OptionName =
  | "allow-changes"
  | "database-url"
  | "env-from"
  | "from"
  | "from-ref"
  | "input"
  | "model"
  | "no-cool-down"
  | "offline"
  | "require-skills"
  | "run-id"
  | "set"
  | "state"
  | "store";

/** What to do about an error. It names options, not flags. */
export type Hint = string | readonly (string | { readonly option: OptionName; readonly value?: string })[];

/** How a surface writes an option. */
export type OptionWriter = (option: OptionName, value: string | undefined) => string;

export function renderHint(hint: Hint, write: OptionWriter): string {
  if (typeof hint === "string") return hint;
  return hint.map((part) => (typeof part === "string" ? part : write(part.option, part.value))).join("");
}

/** `--model NAME`, for the command line. */
export const asFlag: OptionWriter = (option, value) => (value === undefined ? `--${option}` : `--${option} ${value}`);

/** All that we know of a model call worth repeating. */
interface Repeatable {
  /** What the provider asked us to wait, in milliseconds. */
  readonly afterMs?: number;
}

interface ErrorDetails {
  readonly hint?: Hint;
  readonly cause?: unknown;
  /** Present when the same call may succeed later. */
  readonly repeatable?: Repeatable;
  readonly diagnostics?: readonly Diagnostic[];
  /** For a call that failed: whether it may have written. By default, its code decides. */
  readonly acted?: Acted;
}

/** The one error class: "we cannot go on". `message` says what happened with what, `hint` what to do about it. */
export class SkillflowError extends Error {
  override readonly name = "SkillflowError";
  readonly hint: string | undefined;
  /** The exit status that the program ends with for this reason: 1 to 5, or 130. */
  readonly exitCode: number;
  /** Of a model call: it may succeed later. */
  readonly repeatable: Repeatable | undefined;
  /** What is wrong with a workflow, an input or a skill, where that is the reason; else empty. */
  readonly diagnostics: readonly Diagnostic[];
  /** For a call that failed: whether it may have written. */
  readonly acted: Acted;

  constructor(
    readonly code: ErrorCode,
    message: string,
    details: ErrorDetails = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.hint = details.hint === undefined ? undefined : renderHint(details.hint, asFlag);
    if (details.hint !== undefined) hints.set(this, details.hint);
    this.repeatable = details.repeatable;
    this.diagnostics = (details.diagnostics ?? []).map(withField);
    this.exitCode = exitCodeOf(code);
    this.acted = details.acted ?? actedByCode(code);
  }
}

/** The hints of errors as data: `hint` has the flags of the command line. */
const hints = new WeakMap<SkillflowError, Hint>();

/** The error's hint with the option names of another surface. */
export function hintFor(error: SkillflowError, write: OptionWriter): string | undefined {
  const hint = hints.get(error);
  return hint === undefined ? error.hint : renderHint(hint, write);
}

/** What was thrown, in words; whatever it is, this gives a text. */
export function messageOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message || error.name) : String(error);
  } catch {
    return "something was thrown that cannot be shown";
  }
}
