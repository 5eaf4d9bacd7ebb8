import { setTimeout } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { ErrorEvent, StackFrame } from "@sentry/node";
import { reportRedactor } from "../app/secrets.ts";
import { messageOf } from "../core/base/errors.ts";
import type { Environment } from "../core/document/config.ts";
import { packagePath } from "../files/own-files.ts";

/** A fault of skillflow itself, and what may be told with it. */
export interface Fault {
  readonly error: unknown;
  /** `runs show`, without its arguments. */
  readonly command: string;
  readonly version: string;
  readonly node: string;
  readonly platform: string;
}

/** What is kept out of a report. */
export interface Withheld {
  /** As everything that is printed is cleaned. */
  readonly clean: (text: string) => string;
  readonly env: Environment;
  readonly argv: readonly string[];
}

/**
 * Reports a fault to a Sentry project and says what came of it, within PATIENCE_MS once the SDK is loaded. The SDK
 * gets an error that is clean already; nothing leaves but what `allowedOf` names.
 */
export async function reportFault(dsn: string, fault: Fault, { clean, env, argv }: Withheld): Promise<string> {
  // The SDK prints an address that it does not understand.
  if (!DSN.test(dsn) || !URL.canParse(dsn)) return "not reported: SENTRY_DSN is no address of a Sentry project";
  const { NodeClient, Scope, defaultStackParser, makeNodeTransport } = await import("@sentry/node");
  const redactor = reportRedactor(env, argv);
  const tell = (text: string) => redactor.text(clean(fromPackage(text)));
  // A client of its own rather than `init`: no default integrations, no settings of the environment, no global hooks.
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

/** As the SDK reads it: protocol, public key, host, path and the project's number. */
const DSN = /^https?:\/\/\w+(?::\w*)?@(?:\[[:.%\w]+\]|[\w.-]+)(?::\d+)?\/(?:.+\/)?\d+$/;

function describeAnswer(id: string, answer: number | "late" | undefined): string {
  if (answer === "late") return "not reported: SENTRY_DSN did not answer in time";
  if (answer === undefined) return "not reported: SENTRY_DSN could not be reached";
  if (answer >= 300) return `not reported: SENTRY_DSN answered ${answer}`;
  return `reported to SENTRY_DSN as ${id}`;
}

/** Cleaned before the SDK takes it apart and shortens it; without its cause and fields, and the message told once. */
function cleanError(error: unknown, tell: (text: string) => string): Error {
  const lines = error instanceof Error ? tell(String(error.stack)).split("\n") : [];
  const cleaned = new Error(tell(messageOf(error)));
  cleaned.name = tell(error instanceof Error ? String(error.name) : typeof error);
  cleaned.stack = ["", ...lines.filter((line) => /^\s+at /.test(line))].join("\n");
  return cleaned;
}

/** A new event of what may leave. Must not throw: the SDK would send what was thrown past this. */
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

/** The package's own folder is wherever somebody installed it. */
function fromPackage(text: string): string {
  return text.replaceAll(PACKAGE.href, MARK).replaceAll(fileURLToPath(PACKAGE), MARK);
}

/** Relative to the package, within a dependency, or of Node itself; of other files nothing is told. */
function placeOf(filename: string): string {
  if (filename.startsWith(MARK)) return filename.slice(MARK.length);
  if (filename.startsWith("node:")) return filename;
  const installed = filename.lastIndexOf("node_modules/");
  return installed < 0 ? "elsewhere" : filename.slice(installed);
}
