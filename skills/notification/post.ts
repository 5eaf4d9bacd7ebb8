import { NothingDone, parseJson, refusalOf, type ToolContext } from "skillflow";
import { causeCode, clip, memberAt, patiently, retryAfter, untoldPause } from "skillflow/internal";

export interface Post {
  readonly service: string;
  readonly field: string;
  readonly url: URL;
  readonly body: string;
  /** Returns new headers for each attempt. */
  readonly headers?: () => Readonly<Record<string, string>>;
  /** True if the receiver recognizes repeated messages by their key, so that failures can be retried. */
  readonly isRepeatable?: boolean;
  /** True if a web page may be the receiver's answer, and not that of a proxy in front of it. */
  readonly mayBePage?: boolean;
  /** Returns the actual status, for services that report failures with 200. */
  readonly statusOf?: (answer: Answer) => number;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * Posts JSON. Retries after a 429, because the request was not carried out, and after other failures only if it is
 * repeatable. Throws advice, or that the outcome is unknown.
 */
export async function post(what: Post, context: ToolContext): Promise<Answer> {
  const timeout = AbortSignal.timeout(LONGEST_MS);
  const signal = AbortSignal.any([context.signal, timeout]);
  const pauseAfter = (failure: unknown, attempt: number) => pauseOf(failure, attempt, what.isRepeatable === true);
  // A refused attempt does not prove that an earlier one had no effect.
  let mayHaveActed = false;
  const once = () =>
    attempt(what, { ...context, signal }).catch((error: unknown) => {
      mayHaveActed ||= refusalOf(error) === undefined;
      throw error;
    });
  try {
    return await patiently({ signal, pauseAfter }, once);
  } catch (error) {
    context.signal.throwIfAborted();
    const silence = `${what.service} ${SILENT} ${mayHaveActed ? UNCLEAR : "Nothing was sent."}`;
    const advice = timeout.aborted ? silence : adviceFor(error, what);
    const message = mayHaveActed && refusalOf(error) ? `${advice} An earlier attempt failed: ${UNCLEAR_LATER}` : advice;
    throw mayHaveActed ? new Error(message) : new NothingDone(message);
  }
}

/** Error for an answer that confirms nothing, because another server gave it. */
export function foreignAnswer({ service, field }: Pick<Post, "service" | "field">): Error {
  return new Error(`The response is not from ${service}. Check ${field} and any proxy in front of it. ${UNCLEAR}`);
}

/** Time limit for one message, including all attempts and pauses. */
const LONGEST_MS = 30_000;
const LONGEST_ANSWER = 64_000;

class Refusal extends Error {
  readonly status: number;
  constructor(readonly answer: Answer) {
    super(`status ${answer.status}`);
    this.status = answer.status;
  }
}

async function attempt(what: Post, { fetch, signal }: ToolContext): Promise<Answer> {
  const response = await fetch(what.url, {
    method: "POST",
    redirect: "manual",
    signal,
    headers: { "content-type": "application/json", "user-agent": "skillflow", ...what.headers?.() },
    body: what.body,
  });
  const raw = { status: response.status, headers: response.headers, text: await readText(response) };
  const answer = { ...raw, status: what.statusOf?.(raw) ?? raw.status };
  if (answer.status < 200 || answer.status > 299) throw new Refusal(answer);
  if (!what.mayBePage && answer.text.trimStart().startsWith("<")) throw foreignAnswer(what);
  return answer;
}

/** Reads the beginning of a response and ignores the rest. */
async function readText({ body }: Response): Promise<string> {
  if (!body) return "";
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= LONGEST_ANSWER) break;
  }
  return Buffer.concat(chunks).toString("utf8", 0, LONGEST_ANSWER);
}

function pauseOf(failure: unknown, attempt: number, isRepeatable: boolean): number | undefined {
  // A broken connection.
  if (isRepeatable && failure instanceof TypeError) return untoldPause(attempt);
  if (!(failure instanceof Refusal)) return undefined;
  const { answer } = failure;
  if (answer.status !== 429 && !(isRepeatable && answer.status >= 500)) return undefined;
  return toldPause(answer) ?? untoldPause(attempt);
}

/** Returns the wait from the header, or in seconds from the body as Discord sends it. */
function toldPause({ headers, text }: Answer): number | undefined {
  const seconds = memberAt(parseJson(text), "retry_after");
  return (
    retryAfter(headers.get("retry-after")) ?? (typeof seconds === "number" && seconds >= 0 ? seconds * 1000 : undefined)
  );
}

function adviceFor(error: unknown, what: Post): string {
  if (error instanceof Refusal) return refusalAdvice(error.answer, what);
  if (!(error instanceof TypeError)) return error instanceof Error ? error.message : String(error);
  const outcome = refusalOf(error) ? "Nothing was sent." : UNCLEAR;
  return `${what.service} could not be reached${causeCode(error)}. ${outcome}`;
}

export const UNCLEAR = "Whether the message was sent is unclear: check before you send it again.";
const UNCLEAR_LATER = "whether that one was sent is unclear. Check before you send it again.";
const SILENT = `did not respond within ${LONGEST_MS / 1000} s.`;

function refusalAdvice(answer: Answer, { service, field }: Post): string {
  const { status } = answer;
  const what = `(${[status, said(answer)].filter((part) => part !== "").join(": ")})`;
  if (status === 429) {
    const until = new Date(Date.now() + (toldPause(answer) ?? untoldPause(1))).toISOString();
    return `${service}'s rate limit holds until ${until}. Nothing was sent. Send it again after that.`;
  }
  if (status >= 500) return `${service} failed ${what}. ${UNCLEAR}`;
  if (status < 400) return `${service} returned a redirect (${status}), which is not followed. Correct ${field}.`;
  if ([401, 403, 404, 410].includes(status)) {
    return `${service} does not know the webhook, or does not allow it to post ${what}. ${field} is wrong or was disabled.`;
  }
  if (status === 413) return `The message is too long for ${service} ${what}. Shorten the text.`;
  return `${service} refused the message ${what}. Fix the reported part, or send less.`;
}

/** Returns the useful part of the service's error message. */
function said({ text }: Answer): string {
  const json = parseJson(text);
  const message = memberAt(json, "message") ?? memberAt(json, "error.message") ?? memberAt(json, "error");
  const errors = memberAt(json, "errors");
  const words = [typeof message === "string" ? message : json ? "" : text, errors ? JSON.stringify(errors) : ""];
  return clip(words.join(" ").replace(/\s+/g, " ").trim(), 400);
}
