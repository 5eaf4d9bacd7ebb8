/** Parses an instant into Unix milliseconds: ISO 8601 (UTC by default), an email date or epoch time. */
export function parseInstant(text: string): number | undefined {
  return isoTime(text, /^(\d{4}-\d\d-\d\d)()$/) ?? isoTime(text, ISO_ALONE) ?? epochTime(text) ?? longTime(text);
}

/** Returns the time at the front of a plain line. `latest` determines the year for formats without one. */
export function timeOfText(text: string, latest: number): number | undefined {
  return (
    isoTime(text, ISO) ?? accessLogTime(text) ?? yearlessTime(text, latest) ?? leadingEpoch(text) ?? longTime(text)
  );
}

/** Returns the time in a structured line's fields, by their names first and then by nested fields. */
export function timeOfFields(fields: object): number | undefined {
  return timeWithin(fields, DEEPEST);
}

/** Returns true if a field with this name may contain a line's time. */
export function isTimeName(name: string): boolean {
  return USUAL.includes(name) || namesTime(name);
}

export function isoText(time: number): string {
  return new Date(time).toISOString();
}

/** Formats a time, without milliseconds if they are zero. */
export function briefTime(time: number): string {
  return isoText(time).replace(/\.000Z$/, "Z");
}

const DEEPEST = 4;
const MOST_ELEMENTS = 20;
const USUAL = ["@timestamp", "timestamp", "time", "ts", "datetime", "date", "t"];

function timeWithin(value: unknown, depth: number): number | undefined {
  if (typeof value !== "object" || value === null || depth === 0) return undefined;
  if (Array.isArray(value)) return firstOf(value.slice(0, MOST_ELEMENTS), (element) => timeWithin(element, depth - 1));
  const fields = value as Readonly<Record<string, unknown>>;
  const usual = firstOf(USUAL, (name) => (Object.hasOwn(fields, name) ? timeOfValue(fields[name]) : undefined));
  if (usual !== undefined) return usual;
  const names = Object.keys(fields);
  const [others, own] = [names.filter(namesOtherTime), names.filter((name) => !namesOtherTime(name))];
  return (
    firstOf(own.filter(namesTime), (name) => timeOfValue(fields[name])) ??
    firstOf(own, (name) => timeWithin(fields[name], depth - 1)) ??
    firstOf(others.filter(namesTime), (name) => timeOfValue(fields[name])) ??
    firstOf(own, (name) => (typeof fields[name] === "string" ? isoTime(fields[name].trim(), ISO_ALONE) : undefined))
  );
}

function firstOf<T>(items: readonly T[], timeOf: (item: T) => number | undefined): number | undefined {
  for (const item of items) {
    const time = timeOf(item);
    if (time !== undefined) return time;
  }
  return undefined;
}

/** Parses a field's value as a time. For a list, returns the first time in it. */
function timeOfValue(value: unknown): number | undefined {
  if (typeof value === "number") return epochTime(String(value));
  if (typeof value === "string") return parseInstant(value.trim());
  if (!Array.isArray(value)) return undefined;
  return firstOf(value.slice(0, MOST_ELEMENTS), (element) =>
    Array.isArray(element) ? undefined : timeOfValue(element),
  );
}

/** Matches names such as `startTimeUnixNano`, `first_time` and `eventTimestamp`. */
function namesTime(name: string): boolean {
  const words = wordsOf(name);
  return TIME_WORD.test(words) && !LENGTH_WORD.test(words);
}

/** Matches names such as `updated_at` and `expires`, which are not the time of the event. */
function namesOtherTime(name: string): boolean {
  return OTHER_WORD.test(wordsOf(name));
}

function wordsOf(name: string): string {
  return name.replace(/([a-z\d])([A-Z])/g, "$1 $2").toLowerCase();
}

const TIME_WORD =
  /(?:^|[^a-z])(?:times?|timestamps?|asctime|datetime|date|day|ts|at|on|start|started|begin|began|first|created|occurred|when|epoch|instant)(?![a-z])|time(?:stamp)?$/;
const OTHER_WORD =
  /(?:^|[^a-z])(?:end|ends|ended|finish\w*|expir\w*|until|updat\w*|modif\w*|delet\w*|deadline|last|prev\w*|next|due)(?![a-z])/;
const LENGTH_WORD = /(?:^|[^a-z])(?:time_?out|up_?time|run_?time|duration|elapsed|took|ttl)(?![a-z])/;

const CLOCK =
  "(\\d\\d:\\d\\d(?::\\d\\d(?:[.,]\\d{1,9})?)?)(?: ?(Z|UTC|GMT|[+-]\\d\\d:?\\d\\d)|([+-]\\d\\d)(?![\\d:]))?";
const ISO = new RegExp(`(?<!\\d)(\\d{4}[-/]\\d\\d[-/]\\d\\d)[T ]${CLOCK}`);
const ISO_ALONE = new RegExp(`^(\\d{4}[-/]\\d\\d[-/]\\d\\d)[Tt ]${CLOCK}$`, "i");

function isoTime(text: string, pattern: RegExp): number | undefined {
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [, day = "", clock, zone, hours] = match;
  return instant(day.replaceAll("/", "-"), clock || "00:00", zone ?? (hours && `${hours}:00`));
}

function instant(day: string, clock: string, zone = "Z"): number | undefined {
  const offset = /^[+-]\d{4}$/.test(zone) ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase();
  const time = Date.parse(`${day}T${clock.replace(",", ".")}${/^(?:UTC|GMT)$/.test(offset) ? "Z" : offset}`);
  // Some programs write a year such as 0001 if they do not know the time.
  return time > 0 ? time : undefined;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

function accessLogTime(text: string): number | undefined {
  const match = /\[(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d:\d\d:\d\d) ([+-]\d{4})\]/.exec(text);
  if (!match) return undefined;
  const [, day, month = "", year, clock = "", zone] = match;
  return instant(`${year}-${monthNumber(month)}-${day}`, clock, zone);
}

/** Parses `Wed, 01 May 2024 10:00:00 +0200` and `Wed May  1 10:00:00.123 2024`. */
function longTime(text: string): number | undefined {
  const [, mailDay, mailMonth = "", mailYear, mailClock = "", zone] = MAIL_TIME.exec(text) ?? [];
  if (mailDay) return instant(`${mailYear}-${monthNumber(mailMonth)}-${mailDay.padStart(2, "0")}`, mailClock, zone);
  const [, month = "", day = "", clock = "", year] = LONG_TIME.exec(text) ?? [];
  return year ? instant(`${year}-${monthNumber(month)}-${day.trim().padStart(2, "0")}`, clock) : undefined;
}

const MAIL_TIME =
  /\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d)(?: ([+-]\d{4}))?/;
const LONG_TIME =
  /\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d(?:\.\d{1,9})?) (?:(?:UTC|GMT) )?(\d{4})/;

/** Parses the times of syslog and klog (`E0501 10:00:00.123456`). */
function yearlessTime(text: string, latest: number): number | undefined {
  const syslog = /^(?:<\d{1,3}>)?([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d)/.exec(text);
  const klog = /^[IWEF](\d\d)(\d\d) (\d\d:\d\d:\d\d\.\d{6}) /.exec(text);
  const [, month = "", day = "", clock = ""] = syslog ?? klog ?? [];
  if (clock === "") return undefined;
  const monthAndDay = `${syslog ? monthNumber(month) : month}-${day.trim().padStart(2, "0")}`;
  const year = new Date(latest).getUTCFullYear();
  const inYear = (which: number) => instant(`${which}-${monthAndDay}`, clock);
  const time = inYear(year);
  // Lines are not newer than the file's last change, in any time zone. A later date is from last year.
  return time !== undefined && time > latest + 86_400_000 ? inYear(year - 1) : time;
}

function monthNumber(name: string): string {
  return String(MONTHS.indexOf(name) + 1).padStart(2, "0");
}

function leadingEpoch(text: string): number | undefined {
  const match = /^\[?(\d{10}(?:\.\d{1,9})?|\d{13}|\d{16}|\d{19})(?![\d.])/.exec(text);
  return match?.[1] === undefined ? undefined : epochTime(match[1]);
}

const YEAR_2000 = 946_684_800;
const YEAR_2100 = 4_102_444_800;

function epochTime(text: string): number | undefined {
  if (!/^\d{9,19}(?:\.\d+)?$/.test(text)) return undefined;
  const amount = Number(text);
  const unit = [1, 1e3, 1e6, 1e9].find(
    (perSecond) => amount / perSecond >= YEAR_2000 && amount / perSecond < YEAR_2100,
  );
  return unit === undefined ? undefined : Math.round((amount / unit) * 1000);
}
