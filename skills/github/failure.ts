import { refusalOf } from "skillflow";
import { limitAdvice, memberAt, retryAfter, untoldPause } from "skillflow/internal";

/** Failed request as the SDK throws it. `response` is missing if GitHub did not respond. */
interface HttpFailure extends Error {
  readonly status: number;
  readonly request: { readonly method: string; readonly url: string };
  readonly response?: { readonly headers: Readonly<Record<string, string | undefined>>; readonly data: unknown };
}

/** Repository of a request that found nothing, and whether the token can read it. */
interface Place {
  readonly owner: string;
  readonly repo: string;
  readonly isReadable: boolean;
}

export function isHttpFailure(error: unknown): error is HttpFailure {
  return error instanceof Error && "status" in error && typeof error.status === "number" && "request" in error;
}

export function explain(error: unknown, secret = "", place?: Place): string {
  const advice = adviceFor(error, place);
  return secret === "" ? advice : advice.replaceAll(secret, "[redacted:GITHUB_TOKEN]");
}

/** Returns the wait in milliseconds if GitHub refused the request because of a limit. Such a request had no effect. */
export function limitedFor(failure: HttpFailure): number | undefined {
  if (failure.status !== 403 && failure.status !== 429) return undefined;
  const headers = failure.response?.headers ?? {};
  const told = retryAfter(headers["retry-after"]);
  if (told !== undefined) return told;
  if (headers["x-ratelimit-remaining"] === "0") {
    return Math.max(0, Number(headers["x-ratelimit-reset"] ?? 0) * 1000 - Date.now());
  }
  const isLimit = failure.status === 429 || /secondary rate limit|abuse detection/i.test(failure.message);
  return isLimit ? SECONDARY_LIMIT_MS : undefined;
}

/**
 * Returns how many milliseconds to wait before a retry, or undefined for none. Retries rate-limited requests, and reads
 * after a 5xx or a broken connection, but never a write whose outcome is unknown: the executor decides.
 *
 * Replaces the SDK's plugins: they ignore an abort while waiting, repeat writes after a 5xx, and slow down writes.
 */
export function pauseAfter(failure: unknown, method: string, attempt: number): number | undefined {
  if (!isHttpFailure(failure)) return undefined;
  const limited = limitedFor(failure);
  if (limited !== undefined) return limited;
  if (method !== "GET" || failure.status < 500) return undefined;
  return retryAfter(failure.response?.headers["retry-after"]) ?? untoldPause(attempt);
}

// Wait that GitHub's documentation requires after a secondary limit without a header.
const SECONDARY_LIMIT_MS = 60_000;

function adviceFor(error: unknown, place?: Place): string {
  if (isHttpFailure(error)) return error.response ? answerAdvice(error, place) : silenceAdvice(error);
  if (error instanceof TypeError) return `GitHub answered in an unexpected form (${error.message}).`;
  return error instanceof Error ? error.message : String(error);
}

function answerAdvice(failure: HttpFailure, place?: Place): string {
  const limited = limitedFor(failure);
  if (limited !== undefined) return limitAdvice("GitHub", limited);
  const what = `${failure.status} for ${requestLine(failure)}`;
  if (failure.status === 401) return `GitHub refused GITHUB_TOKEN (${what}): it is wrong, expired or revoked.`;
  if (failure.status === 403)
    return `GITHUB_TOKEN lacks permission (${what}): ${said(failure)}${neededAccess(failure)}`;
  if (failure.status === 404) return missingAdvice(failure, what, place);
  if (failure.status === 409) return `The repository's state does not allow this (${what}): ${said(failure)}`;
  if (failure.status === 410) return `This was removed or is disabled in the repository (${what}): ${said(failure)}`;
  if (failure.status === 422)
    return `GitHub rejected the request as invalid (${what}): ${said(failure)}${fields(failure)}${headAdvice(failure)}`;
  if (failure.status >= 500) return `GitHub failed (${what}).${outcome(failure)}`;
  return `GitHub refused (${what}): ${said(failure)}`;
}

function silenceAdvice(failure: HttpFailure): string {
  return `GitHub did not answer ${requestLine(failure)}: ${failure.message}.${outcome(failure)}`;
}

function missingAdvice(failure: HttpFailure, what: string, place?: Place): string {
  if (!place) return `Not found (${what}). Check the names.${neededAccess(failure)}`;
  const name = `${place.owner}/${place.repo}`;
  if (!place.isReadable) {
    return `${name} was not found (${what}): the name is wrong, or GITHUB_TOKEN cannot see it.${neededAccess(failure)}`;
  }
  const write = isRead(failure) ? "" : ` Or GITHUB_TOKEN can read but not write here.${neededAccess(failure)}`;
  return `${name} exists, but the requested item does not (${what}). Check the number, ref, path or name.${write}`;
}

/** Describes the access that the endpoint needs and the token's scopes. Fine-grained tokens have no scopes. */
function neededAccess({ response }: HttpFailure): string {
  const headers = response?.headers ?? {};
  const permissions = headers["x-accepted-github-permissions"];
  const scopes = headers["x-accepted-oauth-scopes"];
  const granted = headers["x-oauth-scopes"];
  const parts = [
    permissions ? `It needs the permission ${permissions}.` : "",
    scopes ? `It needs one of the scopes ${scopes}.` : "",
    granted === undefined ? "" : `The token has ${granted ? `the scopes ${granted}` : "no scopes"}.`,
    headers["x-github-sso"] ? "The organization requires single sign-on: authorize the token for it." : "",
  ].filter((part) => part !== "");
  return parts.map((part) => ` ${part}`).join("");
}

function fields({ response }: HttpFailure): string {
  const errors = memberAt(response?.data, "errors");
  if (!Array.isArray(errors)) return "";
  const texts = errors.slice(0, 10).map((error: unknown) => {
    if (typeof error === "string") return error;
    const [resource, field, code, message, value] = FAULT.map((key) => memberAt(error, key));
    const place = [resource, field].filter((part) => typeof part === "string").join(".");
    const given = value === undefined || value === null ? "" : ` ${JSON.stringify(value).slice(0, 200)}`;
    return [`${place}${given}`, message ?? code].filter((part) => part !== undefined && part !== "").join(": ");
  });
  return ` Change: ${texts.join("; ")}.`.slice(0, 1000);
}

/** Explains a pull request for a branch that GitHub does not have. */
function headAdvice({ response }: HttpFailure): string {
  const errors = memberAt(response?.data, "errors");
  const isHead = (error: unknown) => memberAt(error, "field") === "head" && memberAt(error, "code") === "invalid";
  if (!Array.isArray(errors) || !errors.some(isHead)) return "";
  return " The branch of head does not exist. To propose the changes of a working copy, call propose_change of the skill workspace.";
}

const FAULT = ["resource", "field", "code", "message", "value"] as const;

function said({ response, message }: HttpFailure): string {
  const text = memberAt(response?.data, "message") ?? message;
  return `${String(text).replace(/\s+/g, " ").slice(0, 300).replace(/\.$/, "")}.`;
}

function outcome(failure: HttpFailure): string {
  if (isRead(failure)) return " Try again later.";
  if (refusalOf(failure)) return " Nothing was sent.";
  return " Whether it took effect is unclear: check before you repeat it.";
}

function isRead(failure: HttpFailure): boolean {
  return failure.request.method === "GET";
}

function requestLine({ request }: HttpFailure): string {
  return `${request.method} ${new URL(request.url).pathname}`.slice(0, 300);
}
