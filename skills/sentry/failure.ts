import { refusalOf, retryAfter, untoldPause } from "skillflow";

/** Access that a request needs, to explain a refusal. */
export interface Purpose {
  /** Required scope of the token, such as event:read. */
  readonly scope: string;
}

/** Error response. */
export class Refusal extends Error {
  constructor(
    readonly request: Purpose & { readonly method: string; readonly path: string },
    readonly answer: { readonly status: number; readonly headers: Headers; readonly body: unknown },
  ) {
    super(`${request.method} ${request.path} answered ${answer.status}`);
  }

  get status(): number {
    return this.answer.status;
  }
}

/**
 * Returns how many milliseconds to wait before a retry, or undefined for none. Retries rate-limited requests and failed
 * reads, but never a write whose outcome is unknown: the executor decides.
 */
export function pauseAfter(failure: unknown, method: string, attempt: number): number | undefined {
  if (failure instanceof Refusal) {
    const limited = limitedFor(failure);
    if (limited !== undefined) return limited;
    const isWorth = method === "GET" && failure.answer.status >= 500;
    return isWorth ? (retryAfter(failure.answer.headers.get("retry-after")) ?? untoldPause(attempt)) : undefined;
  }
  return isSilence(failure) && method === "GET" ? untoldPause(attempt) : undefined;
}

/** Returns an error's message for the model: what to change. */
export function explain(error: unknown, { isOrganizationToken }: { readonly isOrganizationToken: boolean }): string {
  if (error instanceof Refusal) return advice(error, isOrganizationToken);
  if (isSilence(error)) return silenceAdvice(error);
  if (error instanceof TypeError) return `Sentry answered in an unexpected form (${error.message}).`;
  return error instanceof Error ? error.message : String(error);
}

/** Returns Sentry's reason: a `detail`, or the errors by field. */
export function said({ answer }: Refusal): string {
  const text = reasonOf(answer.body).replace(/\s+/g, " ").trim().slice(0, 500).replace(/\.$/, "");
  return text ? `${text}.` : "no reason given.";
}

function advice(refusal: Refusal, isOrganizationToken: boolean): string {
  const { status, headers } = refusal.answer;
  const limited = limitedFor(refusal);
  if (limited !== undefined) return limitAdvice(limited);
  const what = `${status} for ${refusal.request.method} ${refusal.request.path}`.slice(0, 300);
  if (status === 401)
    return `Sentry refused SENTRY_AUTH_TOKEN (${what}): it is wrong, expired or revoked, or for another server than SENTRY_BASE_URL.`;
  if (status === 403)
    return `SENTRY_AUTH_TOKEN may not do this (${what}): ${said(refusal)} It needs the scope ${refusal.request.scope}.${kindAdvice(isOrganizationToken)}`;
  if (status === 404) return `Not found (${what}): ${said(refusal)} Check the names.`;
  if (status >= 500) return `Sentry failed (${what}).${outcome(refusal)}`;
  if (status >= 300 && status < 400)
    return `Sentry sends this elsewhere (${what}), to ${originOf(headers)}: set SENTRY_BASE_URL to the address that answers.`;
  return `Sentry found the request invalid (${what}): ${said(refusal)}`;
}

function kindAdvice(isOrganizationToken: boolean): string {
  if (!isOrganizationToken) return " The token's owner may also be no member of the project's team.";
  return " Organization tokens (sntrys_) only handle releases: use a personal token or an internal integration's.";
}

const UNTOLD_LIMIT_MS = 60_000;

/** Returns the wait in milliseconds if Sentry refused the request because of a limit. Such a request had no effect. */
function limitedFor({ answer: { status, headers } }: Refusal): number | undefined {
  if (status !== 429) return undefined;
  const told = retryAfter(headers.get("retry-after"));
  if (told !== undefined) return told;
  const reset = Number(headers.get("x-sentry-rate-limit-reset") ?? Number.NaN);
  return Number.isFinite(reset) ? Math.max(0, reset * 1000 - Date.now()) : UNTOLD_LIMIT_MS;
}

function limitAdvice(milliseconds: number): string {
  const until = new Date(Date.now() + milliseconds).toISOString();
  return `Sentry's rate limit is used up until ${until}. Nothing was done; go on without Sentry, or ask again after that.`;
}

function isSilence(error: unknown): error is TypeError {
  return error instanceof TypeError && error.message === "fetch failed";
}

function silenceAdvice(error: TypeError): string {
  const { cause } = error;
  const code = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : "";
  const outcome = refusalOf(error)
    ? "Nothing was sent."
    : "Whether a write took effect is unclear: look before doing it again.";
  return `Sentry did not answer${code}: check SENTRY_BASE_URL. ${outcome}`;
}

function outcome({ request }: Refusal): string {
  return request.method === "GET"
    ? " Try again later."
    : " Whether it took effect is unclear: look before doing it again.";
}

function originOf(headers: Headers): string {
  const location = headers.get("location") ?? "";
  return URL.canParse(location) ? new URL(location).origin : "another path";
}

function reasonOf(body: unknown): string {
  if (typeof body === "string") return body;
  if (Array.isArray(body)) return body.slice(0, 5).map(reasonOf).join("; ");
  if (typeof body !== "object" || body === null) return "";
  const { detail, message } = body as { detail?: unknown; message?: unknown };
  if (detail !== undefined) return reasonOf(detail);
  if (typeof message === "string") return message;
  const faults = Object.entries(body).slice(0, 10);
  return faults.map(([field, fault]) => `${field}: ${reasonOf(fault)}`).join("; ");
}
