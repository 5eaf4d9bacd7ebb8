import { createRedactor, refusalOf, retryAfter, type ToolContext, untoldPause } from "skillflow";

/** Failed request. `answer` is missing if there was no response. `explain` turns it into a message for the model. */
export class BetterStackFailure extends Error {
  constructor(
    readonly request: { readonly line: string; readonly effect: "read" | "write" },
    readonly answer?: { readonly status: number; readonly headers: Headers; readonly text: string },
    cause?: unknown,
  ) {
    super(cause instanceof Error ? cause.message : request.line, { cause });
  }

  get status(): number | undefined {
    return this.answer?.status;
  }
}

const SECRETS = ["BETTERSTACK_API_TOKEN", "BETTERSTACK_QUERY_USERNAME", "BETTERSTACK_QUERY_PASSWORD"];

/** Returns an error's message for the model: what to change, without secrets. */
export function explain(error: unknown, { config }: ToolContext): string {
  const secrets = SECRETS.map((name) => ({ name, value: config[name] ?? "" }));
  return createRedactor(secrets).text(adviceFor(error));
}

/**
 * Returns how many milliseconds to wait before a retry, or undefined for none. A rate-limited request was not carried
 * out, and reads can be repeated. The executor decides about writes whose outcome is unknown.
 */
export function pauseAfter(failure: unknown, attempt: number): number | undefined {
  if (!(failure instanceof BetterStackFailure)) return undefined;
  const { request, answer } = failure;
  if (answer?.status === 429) return limitedFor(answer.headers);
  // A query that the database rejects would be rejected again.
  const isFailed = answer
    ? answer.status >= 500 && exceptionCode(answer.text) === undefined
    : failure.cause instanceof TypeError;
  if (!isFailed || request.effect === "write") return undefined;
  return retryAfter(answer?.headers.get("retry-after")) ?? untoldPause(attempt);
}

/** Returns ClickHouse's error code from a response. */
export function exceptionCode(text: string): number | undefined {
  const code = /(?:^|\n)Code: (\d{1,4})\. DB::/.exec(text)?.[1];
  return code === undefined ? undefined : Number(code);
}

function limitedFor(headers: Headers): number {
  return retryAfter(headers.get("retry-after")) ?? UNTOLD_LIMIT_MS;
}

const UNTOLD_LIMIT_MS = 60_000;

function adviceFor(error: unknown): string {
  if (!(error instanceof BetterStackFailure)) return error instanceof Error ? error.message : String(error);
  const { request, answer } = error;
  if (!answer) return silenceAdvice(error);
  const code = exceptionCode(answer.text);
  return request.line === QUERY_LINE ? queryAdvice(answer, code) : answerAdvice(error, answer);
}

/** Label of SQL API requests in messages. */
export const QUERY_LINE = "the SQL query";

type Answer = NonNullable<BetterStackFailure["answer"]>;

function answerAdvice({ request }: BetterStackFailure, answer: Answer): string {
  const { status } = answer;
  const what = `${status} for ${request.line}`;
  if (status === 401)
    return `Better Stack refused BETTERSTACK_API_TOKEN (${what}): it is wrong, revoked, or of another product or team.`;
  if (status === 403)
    return `BETTERSTACK_API_TOKEN may not do this (${what}): ${said(answer)} It needs a global token, or one of the right team.`;
  if (status === 404)
    return `Not found (${what}): ${said(answer)} Check the id; it may also belong to another team than BETTERSTACK_API_TOKEN.`;
  if (status === 409) return `The incident's state does not allow this (${what}): ${said(answer)}`;
  if (status === 429) return limitAdvice(answer);
  if (status >= 500) return `Better Stack failed (${what}).${outcome(request.effect)}`;
  if (status >= 300 && status < 400) return `Better Stack redirected the request (${what}): check BETTERSTACK_API_URL.`;
  return `Better Stack found the request invalid (${what}): ${said(answer)}`;
}

function queryAdvice(answer: Answer, code: number | undefined): string {
  const { status, text } = answer;
  if (status === 429 || code === 202) return limitAdvice(answer);
  if (status === 401 || code === 516 || code === 194 || (status === 403 && code === undefined)) {
    return `The SQL API refused BETTERSTACK_QUERY_USERNAME and BETTERSTACK_QUERY_PASSWORD (${status}): they are wrong, expired, or of another region than BETTERSTACK_QUERY_ENDPOINT.`;
  }
  const words = clickhouseWords(text);
  if (code === 497) return `The SQL API's user may not read this: ${words} Check BETTERSTACK_SOURCE.`;
  if (code === 60 || code === 81 || code === 668) {
    return `The source was not found: ${words} Check BETTERSTACK_SOURCE and its region; a source without spans or metrics has no such table.`;
  }
  if (code !== undefined && TOO_MUCH.includes(code))
    return `The query asks for too much: ${words} Narrow the time, or count instead of listing.`;
  if (code !== undefined) return `The query is wrong: ${words}`;
  if (status === 404) return "The SQL API was not found (404): check BETTERSTACK_QUERY_ENDPOINT.";
  if (status >= 500) return `The SQL API failed (${status}). Try again later.`;
  return `The SQL API refused the query (${status}): check BETTERSTACK_QUERY_ENDPOINT.`;
}

// ClickHouse error codes for limits on rows, bytes, memory, time and depth.
const TOO_MUCH: readonly number[] = [158, 159, 160, 162, 167, 191, 241, 307, 396];

/** Returns ClickHouse's message without its code, stack trace and version. */
function clickhouseWords(text: string): string {
  const words = /DB::(?:Exception|NetException): ([\s\S]*)/.exec(text)?.[1] ?? "";
  const short = words
    .replace(/\(version [^)]*(?:\)+|$)/g, "")
    .replace(/\s+/g, " ")
    .trim();
  return `${short.slice(0, 500).replace(/\.$/, "")}.`;
}

function limitAdvice({ headers }: Answer): string {
  const until = new Date(Date.now() + limitedFor(headers)).toISOString();
  return `Better Stack's rate limit is used up until ${until}. Nothing was done; go on without it, or ask again after that.`;
}

function silenceAdvice(failure: BetterStackFailure): string {
  const { cause } = failure.cause instanceof Error ? failure.cause : {};
  const code = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : "";
  const result = refusalOf(failure) ? " Nothing was sent." : outcome(failure.request.effect);
  return `Better Stack did not answer ${failure.request.line}: ${failure.message}${code}.${result}`;
}

function outcome(effect: "read" | "write"): string {
  return effect === "read" ? " Try again later." : " Whether it took effect is unclear: look before doing it again.";
}

/** Returns the reason given in an error response. `errors` is a string, a list, or strings by attribute. */
function said({ text }: Answer): string {
  const body = parse(text);
  const parts = wordsOf(propertyOf(body, "errors") ?? propertyOf(body, "error"));
  const invalid = wordsOf(propertyOf(body, "invalid_attributes"));
  const all = [...parts, ...(invalid.length > 0 ? [`invalid: ${invalid.join(", ")}`] : [])].join("; ");
  return all === "" ? "no reason was given." : `${all.replace(/\s+/g, " ").slice(0, 600).replace(/\.$/, "")}.`;
}

function wordsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.slice(0, 10).filter((item) => typeof item === "string");
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value)
    .slice(0, 10)
    .map(([key, item]) => `${key} ${wordsOf(item).join(", ")}`);
}

export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function propertyOf(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}
