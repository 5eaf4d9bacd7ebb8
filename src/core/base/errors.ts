import codes from "./codes/codes.json" with { type: "json" };
import { type Diagnostic, type ShownDiagnostic, shownFinding } from "./diagnostic.ts";
import { asFlag, type Hint, type OptionWriter, renderHint } from "./options.ts";

type Codes = typeof codes;

export type ErrorCode = keyof Codes;

/** Error codes of failed tool calls. Their entries state whether a write with that code may have had an effect. */
export type CallCode = { [Code in ErrorCode]: Codes[Code] extends { acted: string } ? Code : never }[ErrorCode];

interface Traits {
  readonly exitCode: number;
  readonly acted?: string;
  readonly outage?: boolean;
}

const CODES: Readonly<Record<ErrorCode, Traits>> = codes;

/** Returns the exit code. An unknown code comes from a recording and counts as an external failure. */
export function exitCodeOf(code: string): number {
  return isErrorCode(code) ? CODES[code].exitCode : 4;
}

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(CODES, code);
}

/**
 * Reports whether the next model of a list is asked, because another provider may answer the same request. The start of
 * a run reports the models without a key or a package (`config.missing`).
 */
export function isOutage(code: string): boolean {
  return isErrorCode(code) && CODES[code].outage === true;
}

/** Codes that `tool:result` records next to the message. */
export const CALL_CODES = (Object.keys(CODES) as ErrorCode[]).filter(
  (code): code is CallCode => "acted" in CODES[code],
);

/** The effect of a failed call on the outside world: none, or possibly all that was requested. */
export type Acted = "no" | "unknown";

/** Derives from the code alone whether a failed write had an effect. Used for records without `acted`. */
export function actedByCode(code = "tool.failed"): Acted {
  return isErrorCode(code) && CODES[code].acted === "no" ? "no" : "unknown";
}

/** Reads from a thrown value whether the write had an effect. Any error with the property `acted: "no"` counts. */
export function actedOf(error: unknown): Acted {
  return propertyOf(error, "acted") === "no" ? "no" : "unknown";
}

/**
 * Explains why a request had no effect: a retry would fail again (`lasting`) or may succeed (`passing`). Returns
 * undefined if it may have had an effect, as after a server error, a lost connection or an unreadable response.
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

/** Reports whether the connection failed before a request could be sent. */
function isUnsent(error: unknown, depth = 0): boolean {
  if (typeof error !== "object" || error === null || depth > 5) return false;
  if (["connect", "getaddrinfo"].includes(String(propertyOf(error, "syscall")))) return true;
  return UNSENT.has(String(propertyOf(error, "code"))) || isUnsent(propertyOf(error, "cause"), depth + 1);
}

/** Connection errors of undici and Node.js. After several addresses, ECONNREFUSED has no `syscall`. */
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
  return attempt(() => (thrown as Readonly<Record<string, unknown>> | null | undefined)?.[name]);
}

/** Returns the result of the work, or undefined if it throws. Only for work that needs no reason when it fails. */
export function attempt<Value>(work: () => Value): Value | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** Checks whether an error has one of the codes, such as `ENOENT`. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes(String(propertyOf(error, "code")));
}

/**
 * Thrown by the handler of a write tool to state that nothing was written: the service refused, or the request was
 * never sent. After any other error, the outcome of the write is unknown.
 */
export class NothingDone extends Error {
  readonly acted = "no";
  /** True if the same call may succeed later, as after a rate limit or while the service is unreachable. */
  readonly passing: boolean;

  constructor(message: string, { passing = false }: { readonly passing?: boolean } = {}) {
    super(message);
    this.passing = passing;
  }
}

/** Rebuilds the error of a handler in another process, such as a script, from the `acted` that it reported as JSON. */
export function reportedError(message: string, acted: unknown): Error {
  return acted === "no" ? new NothingDone(message) : new Error(message);
}

/** Returns the code for an error thrown during a call. Any error without a known code counts as the tool's failure. */
export function callCodeOf(error: unknown): CallCode {
  const code = error instanceof SkillflowError ? error.code : undefined;
  return CALL_CODES.find((known) => known === code) ?? "tool.failed";
}

interface Repeatable {
  /** The wait that the provider asked for, in milliseconds. */
  readonly afterMs?: number;
}

interface ErrorDetails {
  readonly hint?: Hint | undefined;
  readonly cause?: unknown;
  /** Present if a retry may succeed. */
  readonly repeatable?: Repeatable;
  readonly diagnostics?: readonly Diagnostic[];
  /** Writes the option names of hints. Default: flags. */
  readonly write?: OptionWriter;
  /** Whether a failed call may have written. Derived from the code by default. */
  readonly acted?: Acted;
}

/** The error class of this program. `message` states what went wrong, `hint` what to do about it. */
export class SkillflowError extends Error {
  override readonly name = "SkillflowError";
  readonly hint: string | undefined;
  /** The program's exit code for this error: 1 to 5, 7 or 130. */
  readonly exitCode: number;
  /** Present for model calls that may succeed when retried. */
  readonly repeatable: Repeatable | undefined;
  /** Findings in the workflow, input or skill that caused the error, otherwise empty. */
  readonly diagnostics: readonly ShownDiagnostic[];
  /** Whether a failed call may have written. */
  readonly acted: Acted;

  constructor(
    readonly code: ErrorCode,
    message: string,
    details: ErrorDetails = {},
  ) {
    const { write = asFlag } = details;
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.hint = details.hint === undefined ? undefined : renderHint(details.hint, write);
    this.repeatable = details.repeatable;
    this.diagnostics = (details.diagnostics ?? []).map((found) => shownFinding(found, write));
    this.exitCode = exitCodeOf(code);
    this.acted = details.acted ?? actedByCode(code);
    given.set(this, details);
  }
}

export function usageError(message: string, hint?: Hint): SkillflowError {
  return new SkillflowError("usage.invalid", message, { hint });
}

/** Returns the error for a file that could not be written. */
export function unwritten(what: string, cause: unknown): SkillflowError {
  return new SkillflowError("output.failed", `${what}: ${messageOf(cause)}`, { cause });
}

/** Returns any thrown value as an error of this program. */
export function asOurs(error: unknown): SkillflowError {
  if (error instanceof SkillflowError) return error;
  return new SkillflowError("internal.fault", `internal error in skillflow: ${messageOf(error)}`, { cause: error });
}
export function inputError(message: string): SkillflowError {
  return new SkillflowError("input.invalid", message);
}

/** The details of errors, whose hints still name options. */
const given = new WeakMap<SkillflowError, ErrorDetails>();

/** Returns the same error with the option names of another surface. */
export function errorFor(error: SkillflowError, write: OptionWriter): SkillflowError {
  return new SkillflowError(error.code, error.message, { ...given.get(error), write });
}

/** Returns the message of any thrown value. Never throws. */
export function messageOf(error: unknown): string {
  try {
    if (error instanceof Error) return String(error.message || error.name);
    // Code of others also throws plain objects.
    const { message } = Object(error) as { readonly message?: unknown };
    return typeof message === "string" ? message : String(error);
  } catch {
    return "an unprintable value was thrown";
  }
}

/** Returns the message of the first cause of an error. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error instanceof Error && error.cause !== undefined ? reasonOf(error.cause) : messageOf(error);
}
