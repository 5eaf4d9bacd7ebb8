import { setTimeout as sleep } from "node:timers/promises";
import { messageOf, SkillflowError, usageError } from "../../core/base/errors.ts";
import { memberAt, parseJson } from "../../core/base/values.ts";
import type { Environment } from "../../core/document/config.ts";
import type { StoredRun } from "../../core/engine/ports.ts";
import { VERSION } from "../../files/own-files.ts";
import { otlpRequests } from "../../reports/telemetry/otlp.ts";
import { spansOf } from "../../reports/telemetry/spans.ts";
import type { Host } from "../host.ts";
import { exportHeaders } from "../secrets.ts";
import { openFetch } from "./fetch.ts";

/** Sends a run's spans to an OpenTelemetry service as OTLP/JSON over HTTP. */

export const OTLP_URL = "SKILLFLOW_OTLP_URL";

export interface Export {
  /** Full URL of the traces endpoint, such as `http://localhost:4318/v1/traces`. */
  readonly url: string;
  readonly content: boolean;
  /** Sends only the last part of a resumed run. Default: the whole run. */
  readonly isLast?: boolean;
}

/** Sends the last part of a run to the service in `SKILLFLOW_OTLP_URL`, if set. Reports failures as warnings. */
export async function exportEnded(
  { env }: Pick<Host, "env">,
  run: StoredRun,
  { content, warn }: { readonly content: boolean; readonly warn: (message: string) => void },
): Promise<void> {
  const url = env[OTLP_URL];
  // Workflow tests are not exported.
  if (!url || run.record.kind === "test" || run.record.kind === "backtest") return;
  try {
    await exportSpans(env, run, { url, content, isLast: true });
  } catch (error) {
    warn(messageOf(error));
  }
}

/** Time limit for all requests of a run together. */
const MOST_MS = 10_000;

/** Sends the spans and returns their number. Throws `output.failed` if the service did not accept all of them. */
export async function exportSpans(env: Environment, run: StoredRun, wanted: Export): Promise<number> {
  const address = checkAddress(wanted.url);
  const all = spansOf({ ...run, content: wanted.content });
  const last = all.at(-1)?.part;
  const spans = wanted.isLast ? all.filter(({ part }) => part === last) : all;
  const send = openFetch(env, false);
  const signal = AbortSignal.timeout(MOST_MS);
  const headers = { ...Object.fromEntries(exportHeaders(env)), "content-type": "application/json" };
  for (const body of otlpRequests(run.record, spans, VERSION)) {
    // Do not follow redirects: the headers may hold credentials for this host only.
    await post(address, signal, () => send(address, { method: "POST", headers, body, signal, redirect: "manual" }));
  }
  return spans.length;
}

function checkAddress(url: string): URL {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  if (address && /^https?:$/.test(address.protocol)) return address;
  throw usageError(
    "the address for spans is not an http or https URL",
    "write the whole address, such as http://localhost:4318/v1/traces",
  );
}

async function post(to: URL, signal: AbortSignal, send: () => Promise<Response>): Promise<void> {
  const answer = await ask(to, signal, send);
  const text = await answer.text().catch(() => "");
  if (!answer.ok) throw refused(to, `answered ${answer.status}`);
  const rejected = Number(memberAt(parseJson(text), "partialSuccess", "rejectedSpans") ?? 0);
  if (rejected > 0) throw refused(to, `rejected ${rejected} of the spans`);
}

/** Status codes that OTLP/HTTP defines as retryable. */
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const FIRST_WAIT_MS = 250;

async function ask(to: URL, signal: AbortSignal, send: () => Promise<Response>): Promise<Response> {
  for (let wait = FIRST_WAIT_MS; ; wait *= 2) {
    const answer = await send().catch((error) => {
      const why = messageOf((error as Error).cause ?? error);
      throw refused(to, signal.aborted ? `did not answer within ${MOST_MS / 1000} s` : `cannot be reached: ${why}`);
    });
    if (!AGAIN.has(answer.status)) return answer;
    const asked = Number(answer.headers.get("retry-after") ?? 0) * 1000;
    const isOver = await sleep(Math.max(wait, asked || 0), signal.aborted, { signal }).catch(() => true);
    if (isOver) return answer;
  }
}

/** Shows only the origin of the address, because the rest may contain secrets. */
function refused({ origin }: URL, why: string): SkillflowError {
  return new SkillflowError("output.failed", `the spans were not sent: ${origin} ${why}`);
}
