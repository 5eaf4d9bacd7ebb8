import { setTimeout } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { ErrorEvent, StackFrame } from "@sentry/node";
import { reportRedactor } from "../app/secrets.ts";
import { messageOf } from "../core/base/errors.ts";
import type { Environment } from "../core/document/config.ts";
import { packagePath } from "../files/own-files.ts";

/** Fault of skillflow itself, with details that may be reported. */
export interface Fault {
  readonly error: unknown;
  /** Command name without arguments, such as `runs show`. */
  readonly command: string;
  readonly version: string;
  readonly node: string;
  readonly platform: string;
}

export interface Withheld {
  /** Applies the same cleaning as printed output. */
  readonly clean: (text: string) => string;
  readonly env: Environment;
  readonly argv: readonly string[];
}

/**
 * Reports a fault to a Sentry project and describes the outcome, within PATIENCE_MS once the SDK is loaded. The SDK
 * receives an error that is already clean, and sends only what `allowedOf` names.
 */
export async function reportFault(dsn: string, fault: Fault, { clean, env, argv }: Withheld): Promise<string> {
  // The SDK would print an invalid DSN.
  if (!DSN.test(dsn) || !URL.canParse(dsn)) return "not reported: SENTRY_DSN is not the DSN of a Sentry project";
  const { NodeClient, Scope, defaultStackParser, makeNodeTransport } = await import("@sentry/node");
  const redactor = reportRedactor(env, argv);
  const tell = (text: string) => redactor.text(clean(fromPackage(text)));
  // A separate client instead of `init`: no default integrations, environment settings or global hooks.
  const client = new NodeClient({
    dsn,
    integrations: [],
    transport: makeNodeTransport,
    stackParser: defaultStackParser,
    includeServerName: false,
    sendClientReports: false,
    beforeSend: (event) => allowedOf(event, fault, tell),
  });
  const answer = new Promise<number | undefined>((resolve) => {
    client.on("afterSendEvent", (_event, { statusCode }) => resolve(statusCode));
  });
  const id = client.captureException(cleanError(fault.error, tell), {}, new Scope());
  return describeAnswer(id, await Promise.race([answer, setTimeout(PATIENCE_MS, "late" as const)]));
}

const PATIENCE_MS = 2000;

/** DSN as the SDK parses it: protocol, public key, host, path and project number. */
const DSN = /^https?:\/\/\w+(?::\w*)?@(?:\[[:.%\w]+\]|[\w.-]+)(?::\d+)?\/(?:.+\/)?\d+$/;

function describeAnswer(id: string, answer: number | "late" | undefined): string {
  if (answer === "late") return "not reported: SENTRY_DSN did not answer in time";
  if (answer === undefined) return "not reported: SENTRY_DSN could not be reached";
  if (answer >= 300) return `not reported: SENTRY_DSN answered ${answer}`;
  return `reported to SENTRY_DSN as ${id}`;
}

/** Cleans an error before the SDK parses and shortens it. Drops its cause, its fields and the repeated message. */
function cleanError(error: unknown, tell: (text: string) => string): Error {
  const lines = error instanceof Error ? tell(String(error.stack)).split("\n") : [];
  const cleaned = new Error(tell(messageOf(error)));
  cleaned.name = tell(error instanceof Error ? String(error.name) : typeof error);
  cleaned.stack = ["", ...lines.filter((line) => /^\s+at /.test(line))].join("\n");
  return cleaned;
}

/** Copies the allowed fields of an event. Must not throw, because the SDK would send that error unfiltered. */
function allowedOf(event: ErrorEvent, fault: Fault, tell: (text: string) => string): ErrorEvent {
  const { event_id, timestamp, exception } = event;
  const values = (exception?.values ?? []).map(({ type = "", value = "", stacktrace }) => ({
    type: tell(type),
    value: tell(value),
    stacktrace: { frames: (stacktrace?.frames ?? []).map((frame) => allowedFrame(frame, tell)) },
  }));
  return {
    type: undefined,
    event_id,
    timestamp,
    platform: "node",
    level: "fatal",
    release: `skillflow@${tell(fault.version)}`,
    exception: { values },
    contexts: { runtime: { name: "node", version: tell(fault.node) }, os: { name: tell(fault.platform) } },
    tags: { command: tell(fault.command) },
  };
}

function allowedFrame(frame: StackFrame, tell: (text: string) => string): StackFrame {
  const { filename = "", lineno, colno } = frame;
  const place = placeOf(tell(filename).replaceAll("\\", "/"));
  return { filename: place, function: tell(frame.function ?? ""), lineno, colno, in_app: /^(dist|src)\//.test(place) };
}

const PACKAGE = pathToFileURL(`${packagePath(".")}/`);
const MARK = "app:///";

/** Hides the folder in which the package is installed. */
function fromPackage(text: string): string {
  return text.replaceAll(PACKAGE.href, MARK).replaceAll(fileURLToPath(PACKAGE), MARK);
}

/** Shortens a path of the package, a dependency or Node itself. Hides all other paths. */
function placeOf(filename: string): string {
  if (filename.startsWith(MARK)) return filename.slice(MARK.length);
  if (filename.startsWith("node:")) return filename;
  const installed = filename.lastIndexOf("node_modules/");
  return installed < 0 ? "elsewhere" : filename.slice(installed);
}
