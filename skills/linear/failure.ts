import { refusalOf } from "skillflow";
import { causeCode, clip, limitAdvice, retryAfter, untoldPause } from "skillflow/internal";

/** Error of the SDK. `type` is one of its `LinearErrorType` values. */
interface LinearFailure extends Error {
  readonly type?: string;
  readonly status?: number;
  readonly raw?: {
    readonly request?: { readonly query?: string };
    readonly response?: { readonly headers?: Headers; readonly errors?: readonly RefusedPart[] };
  };
}

interface RefusedPart {
  readonly message?: string;
  readonly extensions?: Readonly<Record<string, unknown>>;
}

export function isLinearFailure(error: unknown): error is LinearFailure {
  return error instanceof Error && "raw" in error && "status" in error;
}

/** GraphQL error types with which Linear refuses a request, whatever the response's status. */
const REFUSALS: readonly string[] = [
  "AuthenticationError",
  "FeatureNotAccessible",
  "Forbidden",
  "GraphqlError",
  "InvalidInput",
  "Ratelimited",
  "UsageLimitExceeded",
  "UserError",
];

/**
 * Marks an error by whether Linear carried out the request. Without a known type, the status decides. With partial
 * data, the write may have succeeded and only reading its result failed.
 */
export function withOutcome(failure: LinearFailure, isPartial: boolean): Error {
  if (isPartial || isFailing(failure)) return Object.assign(failure, { acted: "unknown" });
  const isRefused = REFUSALS.includes(failure.type ?? "");
  return isRefused ? Object.assign(failure, { acted: "no", passing: failure.type === "Ratelimited" }) : failure;
}

/** Returns true if the issue does not exist or is not visible to this key. */
export function isMissingIssue(error: unknown): boolean {
  return isLinearFailure(error) && /entity not found: issue\b|could not find referenced issue\b/i.test(said(error));
}

/**
 * Returns how many milliseconds to wait before a retry, or undefined for none. Retries rate-limited requests and failed
 * reads, but never a write whose outcome is unknown: the executor decides.
 */
export function pauseAfter(
  failure: unknown,
  { attempt, isRead }: { readonly attempt: number; readonly isRead: boolean },
): number | undefined {
  if (!isLinearFailure(failure)) return failure instanceof TypeError && isRead ? untoldPause(attempt) : undefined;
  const limited = limitedFor(failure);
  if (limited !== undefined) return limited;
  if (!isRead || !isFailing(failure)) return undefined;
  return retryAfter(headerOf(failure, "retry-after")) ?? untoldPause(attempt);
}

export function explain(error: unknown): string {
  if (isLinearFailure(error)) return advice(error);
  if (error instanceof TypeError && error.message === "fetch failed") return silenceAdvice(error);
  if (error instanceof TypeError) return `Linear's response is not in the expected form (${error.message}).`;
  return error instanceof Error ? error.message : String(error);
}

function advice(failure: LinearFailure): string {
  const limited = limitedFor(failure);
  if (limited !== undefined) return limitAdvice("Linear", limited);
  const { status, type } = failure;
  if (isFailing(failure)) return `Linear failed (${what(failure)}).${outcome(failure)}`;
  if (status === 401 || (type === "AuthenticationError" && (status ?? 200) < 400)) {
    return `Linear refused LINEAR_API_KEY (${what(failure)}): it is wrong, expired or revoked.`;
  }
  if (status === 404) return `There is no Linear API at LINEAR_API_URL (${what(failure)}). Check the address.`;
  if (status === 403 || type === "Forbidden") {
    return `LINEAR_API_KEY lacks permission (${what(failure)}): ${said(failure)} A key can be limited to reading and to some teams.`;
  }
  if (type === "FeatureNotAccessible" || type === "UsageLimitExceeded") {
    return `The workspace's plan does not allow this (${what(failure)}): ${said(failure)}`;
  }
  return `Linear rejected the request as invalid (${what(failure)}): ${said(failure)}${faults(failure)}`;
}

const UNTOLD_LIMIT_MS = 60_000;

/** Returns the wait in milliseconds if Linear refused the request because of a limit. Such a request had no effect. */
function limitedFor(failure: LinearFailure): number | undefined {
  const isLimited = failure.type === "Ratelimited" || failure.status === 429;
  if (!isLimited && partOf(failure)?.extensions?.["code"] !== "RATELIMITED") return undefined;
  const told = retryAfter(headerOf(failure, "retry-after"));
  if (told !== undefined) return told;
  const used = ["requests", "complexity"].find((kind) => headerOf(failure, `x-ratelimit-${kind}-remaining`) === "0");
  const reset = Number(headerOf(failure, `x-ratelimit-${used}-reset`) ?? Number.NaN);
  return Number.isFinite(reset) ? Math.max(0, reset - Date.now()) : UNTOLD_LIMIT_MS;
}

function silenceAdvice(error: TypeError): string {
  const outcome = refusalOf(error)
    ? "Nothing was sent."
    : "Whether a write took effect is unclear: check before you repeat it.";
  return `Linear did not respond${causeCode(error)}. Check LINEAR_API_URL. ${outcome}`;
}

function isFailing({ status = 200, type = "" }: LinearFailure): boolean {
  return status >= 500 || ["InternalError", "NetworkError", "LockTimeout"].includes(type);
}

function outcome({ raw }: LinearFailure): string {
  const isRead = !raw?.request?.query?.startsWith("mutation");
  return isRead ? " Try again later." : " Whether it took effect is unclear: check before you repeat it.";
}

function what({ status, raw }: LinearFailure): string {
  const operation = /^(?:query|mutation) (\w+)/.exec(raw?.request?.query ?? "")?.[1];
  return [status ?? "no status", ...(operation ? [`for ${operation}`] : [])].join(" ");
}

function said(failure: LinearFailure): string {
  const part = partOf(failure);
  const text = [part?.message, part?.extensions?.["userPresentableMessage"]].filter((value) => value !== undefined);
  const distinct = [...new Set(text.map((value) => clip(String(value).replace(/\s+/g, " "), 300)))];
  return distinct.length > 0 ? distinct.map((value) => `${value.replace(/\.$/, "")}.`).join(" ") : "no reason given.";
}

/** Describes the invalid arguments and the rules they break, from Linear's `validationErrors`. */
function faults(failure: LinearFailure): string {
  const errors = partOf(failure)?.extensions?.["validationErrors"];
  if (!Array.isArray(errors) || errors.length === 0) return "";
  const texts = errors.slice(0, 10).map((error: { property?: unknown; constraints?: object } | null) => {
    const rules = Object.values(error?.constraints ?? {}).map(String);
    return [error?.property ?? "input", rules.join(", ")].join(": ");
  });
  return ` ${clip(`Change: ${texts.join("; ")}.`, 1000)}`;
}

function partOf({ raw }: LinearFailure): RefusedPart | undefined {
  return raw?.response?.errors?.[0];
}

function headerOf({ raw }: LinearFailure, name: string): string | undefined {
  return raw?.response?.headers?.get(name) ?? undefined;
}
