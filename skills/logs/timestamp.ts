/** Milliseconds since 1970 of an instant as a person or model writes it: ISO 8601 (UTC unless told) or epoch seconds. */
export function parseInstant(text: string): number | undefined {
  return isoTime(text, /^(\d{4}-\d\d-\d\d)()$/) ?? isoTime(text, ISO_ALONE) ?? epochTime(text);
}

/** The time in the front part of a plain line; `latest` dates the formats that leave the year out. */
export function timeOfText(text: string, latest: number): number | undefined {
  return isoTime(text, ISO) ?? accessLogTime(text) ?? syslogTime(text, latest) ?? leadingEpoch(text);
}

/** The time in a structured line's fields. */
export function timeOfFields(fields: Readonly<Record<string, unknown>>): number | undefined {
  for (const name of TIME_FIELDS) {
    const value = fields[name];
    if (typeof value !== "string" && typeof value !== "number") continue;
    const time = typeof value === "number" ? epochTime(String(value)) : parseInstant(value.trim());
    if (time !== undefined) return time;
  }
  return undefined;
}

export function isoText(time: number): string {
  return new Date(time).toISOString();
}

const TIME_FIELDS = ["@timestamp", "timestamp", "time", "ts", "datetime", "date", "t"];

const CLOCK = "(\\d\\d:\\d\\d(?::\\d\\d(?:[.,]\\d{1,9})?)?) ?(Z|[+-]\\d\\d:?\\d\\d)?";
const ISO = new RegExp(`(?<!\\d)(\\d{4}[-/]\\d\\d[-/]\\d\\d)[T ]${CLOCK}`);
const ISO_ALONE = new RegExp(`^(\\d{4}[-/]\\d\\d[-/]\\d\\d)[Tt ]${CLOCK}$`, "i");

function isoTime(text: string, pattern: RegExp): number | undefined {
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [, day = "", clock, zone] = match;
  return instant(day.replaceAll("/", "-"), clock || "00:00", zone);
}

function instant(day: string, clock: string, zone = "Z"): number | undefined {
  const offset = zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase();
  const time = Date.parse(`${day}T${clock.replace(",", ".")}${offset}`);
  return Number.isNaN(time) ? undefined : time;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

function accessLogTime(text: string): number | undefined {
  const match = /\[(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d:\d\d:\d\d) ([+-]\d{4})\]/.exec(text);
  if (!match) return undefined;
  const [, day, month = "", year, clock = "", zone] = match;
  return instant(`${year}-${monthNumber(month)}-${day}`, clock, zone);
}

function syslogTime(text: string, latest: number): number | undefined {
  const match = /^(?:<\d{1,3}>)?([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d)/.exec(text);
  if (!match) return undefined;
  const [, month = "", day = "", clock = ""] = match;
  const year = new Date(latest).getUTCFullYear();
  const inYear = (which: number) => instant(`${which}-${monthNumber(month)}-${day.trim().padStart(2, "0")}`, clock);
  const time = inYear(year);
  // Written before the file's last change, whatever the zone: a later date is last year's.
  return time !== undefined && time > latest + 86_400_000 ? inYear(year - 1) : time;
}

function monthNumber(name: string): string {
  return String(MONTHS.indexOf(name) + 1).padStart(2, "0");
}

function leadingEpoch(text: string): number | undefined {
  const match = /^\[?(\d{10}(?:\.\d{1,9})?|\d{13})(?![\d.])/.exec(text);
  return match?.[1] === undefined ? undefined : epochTime(match[1]);
}

const YEAR_2000 = 946_684_800;
const YEAR_2100 = 4_102_444_800;

function epochTime(text: string): number | undefined {
  if (!/^\d{9,19}(?:\.\d{1,9})?$/.test(text)) return undefined;
  const amount = Number(text);
  const unit = [1, 1e3, 1e6, 1e9].find(
    (perSecond) => amount / perSecond >= YEAR_2000 && amount / perSecond < YEAR_2100,
  );
  return unit === undefined ? undefined : Math.round((amount / unit) * 1000);
}
