import { clip, createRedactor, refusalOf, retryAfter, type ToolContext, untoldPause } from "skillflow";

/** Failed request. `answer` is missing if there was no response. `explain` turns it into a message for the model. */
export class DatadogFailure extends Error {
  constructor(
    readonly request: {
      readonly line: string;
      readonly effect: "read" | "write";
      readonly permission?: string | undefined;
    },
    readonly answer?: { readonly status: number; readonly headers: Headers; readonly body: unknown },
    cause?: unknown,
  ) {
    super(cause instanceof Error ? cause.message : request.line, { cause });
  }

  get status(): number | undefined {
    return this.answer?.status;
  }
}

/** Returns an error's message for the model: what to change, without secrets. */
export function explain(error: unknown, { config }: ToolContext, key?: "valid" | "refused"): string {
  const secrets = ["DD_API_KEY", "DD_APP_KEY"].map((name) => ({ name, value: config[name] ?? "" }));
  return createRedactor(secrets).text(adviceFor(error, key));
}

/**
 * Returns how many milliseconds to wait before a retry, or undefined for none. A rate-limited request was not carried
 * out, and reads can be repeated. The executor decides about writes whose outcome is unknown.
 */
export function pauseAfter(failure: unknown, attempt: number): number | undefined {
  if (!(failure instanceof DatadogFailure)) return undefined;
  const { request, answer } = failure;
  if (answer?.status === 429) return limitedFor(answer.headers);
  const isFailed = answer ? answer.status >= 500 : failure.cause instanceof TypeError;
  if (!isFailed || request.effect === "write") return undefined;
  return retryAfter(answer?.headers.get("retry-after")) ?? untoldPause(attempt);
}

/** Returns the wait after a rate limit. X-RateLimit-Reset has the seconds until the limit's period ends. */
function limitedFor(headers: Headers): number {
  return retryAfter(headers.get("retry-after")) ?? retryAfter(headers.get("x-ratelimit-reset")) ?? UNTOLD_LIMIT_MS;
}

const UNTOLD_LIMIT_MS = 60_000;

function adviceFor(error: unknown, key?: "valid" | "refused"): string {
  if (error instanceof DatadogFailure) return error.answer ? answerAdvice(error, key) : silenceAdvice(error);
  return error instanceof Error ? error.message : String(error);
}

function answerAdvice(failure: DatadogFailure, key?: "valid" | "refused"): string {
  const { request, answer } = failure;
  const status = answer?.status ?? 0;
  const what = `${status} for ${request.line}`;
  if (status === 401)
    return `Datadog did not take the keys (${what}): DD_API_KEY or DD_APP_KEY is wrong, or of another site than DD_SITE.`;
  if (status === 403) return `${refusalAdvice(failure, key)} (${what}: ${said(failure)})`;
  if (status === 404)
    return `Not found (${what}): ${said(failure)} Check the id; it may also belong to another site or organisation.`;
  if (status === 429) return limitAdvice(failure);
  if (status >= 500) return `Datadog failed (${what}).${outcome(failure)}`;
  if (status >= 300 && status < 400) return `Datadog redirected the request (${what}): check DD_SITE and DD_API_URL.`;
  return `Datadog found the request invalid (${what}): ${said(failure)}`;
}

function refusalAdvice({ request }: DatadogFailure, key?: "valid" | "refused"): string {
  if (key === "refused") return "Datadog refused DD_API_KEY: it is wrong, revoked, or of another site than DD_SITE.";
  const permission = request.permission ? ` ${request.permission}` : "";
  const lack = `DD_APP_KEY is wrong, or its owner or scopes lack the permission${permission}.`;
  return key === "valid" ? `DD_API_KEY is right, but ${lack}` : `DD_API_KEY is wrong for DD_SITE, or ${lack}`;
}

function limitAdvice({ answer }: DatadogFailure): string {
  const headers = answer?.headers ?? new Headers();
  const until = new Date(Date.now() + limitedFor(headers)).toISOString();
  const name = /^[\w-]{1,60}$/.exec(headers.get("x-ratelimit-name") ?? "")?.[0];
  return `Datadog's rate limit${name ? ` ${name}` : ""} is used up until ${until}. Nothing was done; go on without it, or ask again after that.`;
}

function silenceAdvice(failure: DatadogFailure): string {
  const { cause } = failure.cause instanceof Error ? failure.cause : {};
  const code = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : "";
  return `Datadog did not answer ${failure.request.line}: ${failure.message}${code}.${refusalOf(failure) ? " Nothing was sent." : outcome(failure)}`;
}

function outcome({ request }: DatadogFailure): string {
  return request.effect === "read"
    ? " Try again later."
    : " Whether it took effect is unclear: look before doing it again.";
}

/** Returns the reason given: version 1 answers `{errors: [text]}`, version 2 `{errors: [{title, detail}]}`. */
function said({ answer }: DatadogFailure): string {
  const errors = propertyOf(answer?.body, "errors");
  const texts = (Array.isArray(errors) ? errors : [errors]).slice(0, 5).map(textOf);
  const text = texts.filter((part) => part !== "").join("; ");
  return text === "" ? "no reason was given." : `${clip(text.replace(/\s+/g, " "), 600).replace(/\.$/, "")}.`;
}

function textOf(error: unknown): string {
  if (typeof error === "string") return error;
  const parts = [
    propertyOf(error, "title"),
    propertyOf(error, "detail"),
    propertyOf(propertyOf(error, "source"), "pointer"),
  ];
  return parts.filter((part) => typeof part === "string").join(": ");
}

function propertyOf(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}
