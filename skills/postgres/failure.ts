import { clip, createRedactor, type ToolContext } from "skillflow";
import { placeOf, STATEMENT_SECONDS } from "./connection.ts";

/** Returns an error that explains what to change, without a cause or secrets. */
export function explain(error: unknown, config: ToolContext["config"]): Error {
  const secrets = [{ name: "POSTGRES_URL", value: config["POSTGRES_URL"] ?? "" }, ...passwordOf(config)];
  return new Error(createRedactor(secrets).text(adviceFor(error)));
}

function passwordOf(config: ToolContext["config"]) {
  try {
    return [{ name: "POSTGRES_URL", value: placeOf(config).password }];
  } catch {
    return [];
  }
}

const ADVICE: Readonly<Record<string, string>> = {
  "28P01": "Postgres did not let in: the user or the password in POSTGRES_URL is wrong.",
  "28000": "Postgres did not let in: the role in POSTGRES_URL may not log in from here, or not without TLS.",
  "3D000": "The database that POSTGRES_URL names does not exist.",
  "53300": "Postgres takes no more connections: that may be part of the incident. Try again later.",
  "57P03": "Postgres is starting up, shutting down or recovering. Try again later.",
  "42501":
    "The role in POSTGRES_URL is not allowed to read this. It is no empty answer: ask for the grant, or go on without it.",
  "57014": `The statement took longer than ${STATEMENT_SECONDS} seconds and was cancelled: explain shows why; narrow it, or read fewer rows.`,
  "55P03": "A lock kept the statement waiting for 2 seconds: list_locks tells who holds it.",
  "25006": "Nothing here may write, nor may a function that a statement calls.",
  "42P01": "There is no such table or view. list_tables finds names.",
  "42703": "There is no such column. describe_table lists them.",
  "42883": "There is no such function, or none for these types.",
  "55000": "The extension that this needs is not loaded.",
};

const CONNECTION: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nobody listens there",
  ENOTFOUND: "there is no such host",
  EAI_AGAIN: "its name could not be looked up",
  ETIMEDOUT: "it did not answer",
  ECONNRESET: "it ended the connection",
};

function adviceFor(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error ? String(error.code) : "";
  const words = clip(error.message.replace(/\s+/g, " "), 500);
  if (Object.hasOwn(ADVICE, code)) return `${ADVICE[code]} (${code}: ${words})`;
  if (/^[0-9A-Z]{5}$/.test(code)) return `Postgres refused the statement (${code}): ${words}${hintOf(error)}`;
  if (Object.hasOwn(CONNECTION, code))
    return `Postgres was not reached (${code}): ${CONNECTION[code]}. Check POSTGRES_URL.`;
  if (/timeout expired|terminated unexpectedly|SSL|self.signed|certificate/i.test(words))
    return `Postgres was not reached: ${words}. Check POSTGRES_URL, its sslmode too.`;
  return words;
}

function hintOf(error: Error): string {
  return "hint" in error && typeof error.hint === "string" ? ` (${clip(error.hint, 300)})` : "";
}
