import { type Fields, fieldOf, type LineRecord } from "../line/record.ts";

const LEVELS = ["level", "severity_text", "severityText", "severity", "lvl", "log.level", "levelname", "loglevel"];
const STATUSES = ["status", "http.status", "status_code", "http.status_code", "http.response.status_code"];
const FAILED_LEVEL = /^(?:e|err|error|f|fatal|crit|critical|alert|emerg|emergency|panic|severe)$/i;
/** Lowest numbers that mean an error, in pino and bunyan, and in OpenTelemetry. */
const NUMBERS = { level: 50, severity: 17 } as const;

/** Level at the front of a text line: in capitals, in brackets, before a colon, or klog's letter. */
const TEXT_LEVEL =
  /\b(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|FATAL|CRIT|CRITICAL|ALERT|EMERG|PANIC|SEVERE)\b|\[(trace|debug|info|notice|warn|warning|error|crit|alert|emerg)\]|\b(debug|info|warn|warning|error|fatal):|^([IWEF])\d{4} /;
const FAILED_REQUEST = /" 5\d\d (?:\d|-)/;
const FAILED_WORD =
  /(?:\b|[a-z])(?:Error|Exception)\b|\b(?:error|exception|fatal|panic|traceback|fail(?:ed|ure)|refused|segfault|killed|out of memory|timed out)\b/i;
const FRONT = 200;
const SEEN = 1000;

/** Returns true if a record reports an error: by its level, or else its status, or else its words. */
export function isError({ format, fields }: LineRecord, text: string): boolean {
  if (format !== "text") {
    for (const name of LEVELS) {
      const level = fieldOf(fields, name);
      if (typeof level === "string" && level !== "") return FAILED_LEVEL.test(level);
    }
    const number = Number(fields["severity_number"] ?? fields["severityNumber"] ?? Number.NaN);
    if (Number.isFinite(number)) return number >= NUMBERS.severity;
    if (typeof fields["level"] === "number") return fields["level"] >= NUMBERS.level;
    const status = statusOf(fields);
    if (status !== undefined) return status >= 500 && status < 600;
    const error = fields["error"] ?? fields["err"] ?? fields["exception"];
    if (error !== undefined) return error !== null && error !== "" && error !== false && error !== 0;
  }
  // An indented line belongs to the one above.
  if (/^\s/.test(text)) return false;
  const found = TEXT_LEVEL.exec(text.slice(0, FRONT));
  const level = found?.[1] ?? found?.[2] ?? found?.[3] ?? found?.[4];
  if (level !== undefined) return FAILED_LEVEL.test(level);
  return FAILED_REQUEST.test(text) || (format === "text" && FAILED_WORD.test(text.slice(0, SEEN)));
}

export function statusOf(fields: Fields): number | undefined {
  for (const name of STATUSES) {
    const status = Number(fieldOf(fields, name));
    if (status >= 100 && status < 600) return status;
  }
  return undefined;
}
