/** Dates and times of day in a text, compared by value across time zones and to the precision that was written. */

/** A date, a time of day, or both. */
export interface Moment {
  /** Year, month from 1, day. The year is undefined if none was written. The day is 0 for a month and a year. */
  readonly date?: readonly [year: number | undefined, month: number, day: number];
  /** Seconds since midnight. */
  readonly seconds?: number;
  /** Precision of `seconds`: 60, 1 or less. */
  readonly step?: number;
  /** Minutes east of UTC. Undefined if no zone was written. */
  readonly offset?: number;
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const MONTH =
  "(?<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(?:r?uary|ch|il|[ey]|ust|t|t?ember|ober)?(?![a-z])\\.?";
const CLOCK = "(?<h>[01]?\\d|2[0-4]):(?<mi>[0-5]\\d)(?::(?<s>[0-5]\\d|60)(?:[.,](?<f>\\d{1,9}))?)?";
const ZONE = "(?<zone>Z|UTC|GMT|[+-]\\d{2}:?\\d{2})(?![\\w:])";
const AFTER = "(?![\\w:])";

/** Each form of a moment, the longest first. */
const FORMS = [
  `(?<y>\\d{4})[-/](?<mo>0[1-9]|1[0-2])[-/](?<d>0[1-9]|[12]\\d|3[01])(?:[T _]{1,2}${CLOCK}(?: ?${ZONE})?)?${AFTER}`,
  `(?<d>\\d{1,2})[/ -]${MONTH}[/ -](?<y>\\d{4})(?:[: ,]{1,2}${CLOCK}(?: ?${ZONE})?)?${AFTER}`,
  `${MONTH} {1,2}(?<d>\\d{1,2}) ${CLOCK}(?: (?<zone>UTC|GMT))? (?<y>20\\d{2})(?![\\w:-])`,
  `${MONTH} {1,2}(?<d>\\d{1,2})(?:st|nd|rd|th)?(?:,? (?<y>\\d{4})(?!\\d))?(?:,? (?:at )?${CLOCK}(?: ?${ZONE})?)?${AFTER}`,
  `(?<d>\\d{1,2})(?:st|nd|rd|th)? ${MONTH}(?:,? ${CLOCK}(?: ?${ZONE})?)?${AFTER}`,
  `${MONTH}(?:,? |[/-])(?<y>20\\d{2})${AFTER}`,
  `(?<y>20\\d{2})-(?<mo>0[1-9]|1[0-2])(?![\\w:-])`,
  `${CLOCK} ?(?<zone>Z|UTC|GMT|\\+\\d{2}:?\\d{2}|[ap]\\.?m\\.?)(?![\\w:])`,
  `${CLOCK}${AFTER}`,
].map((form) => new RegExp(form, "iy"));

/** Reads the moment at a position, which must not be within a word. Returns it with the position after it. */
export function momentAt(text: string, at: number): { readonly moment: Moment; readonly end: number } | undefined {
  for (const form of FORMS) {
    form.lastIndex = at;
    const groups = form.exec(text)?.groups;
    if (groups) return { moment: momentOf(groups), end: form.lastIndex };
  }
  return undefined;
}

function momentOf({ y, mo, month, d, h, mi, s, f, zone }: Readonly<Record<string, string | undefined>>): Moment {
  const isDated = (d ?? mo ?? month) !== undefined;
  const date = isDated ? { date: [y ? Number(y) : undefined, monthOf(mo, month), Number(d ?? 0)] as const } : {};
  if (h === undefined) return date;
  const half = /^[ap]/i.exec(zone ?? "")?.[0].toLowerCase();
  const hour = half === undefined ? Number(h) : (Number(h) % 12) + (half === "p" ? 12 : 0);
  const seconds = hour * 3600 + Number(mi) * 60 + Number(s ?? 0) + Number(`0.${f ?? "0"}`);
  const step = s === undefined ? 60 : f === undefined ? 1 : 10 ** -f.length;
  const offset = half === undefined ? offsetOf(zone) : undefined;
  return { ...date, seconds, step, ...(offset === undefined ? {} : { offset }) };
}

function monthOf(digits: string | undefined, name: string | undefined): number {
  return digits === undefined ? MONTHS.indexOf((name ?? "").toLowerCase()) + 1 : Number(digits);
}

function offsetOf(zone: string | undefined): number | undefined {
  if (zone === undefined) return undefined;
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})$/.exec(zone) ?? [];
  return (sign === "-" ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) + 0;
}

/** Returns the moment of a number of seconds or milliseconds since 1970, if it is of this century. */
export function momentOfEpoch(value: number): Moment | undefined {
  const ms = value > 1e12 && value < 4.1e12 ? value : value > 1e9 && value < 4.1e9 ? value * 1000 : undefined;
  return ms === undefined ? undefined : momentIn(ms, 0);
}

/** Reports whether a claim's moment is that of a record: equal as written, or at the same instant. */
export function isSameMoment(claimed: Moment, recorded: Moment): boolean {
  return zonesOf(claimed, recorded).some((moment) => hasDate(claimed, moment) && hasTime(claimed, moment));
}

/** Returns the record's moment as written, in UTC, and in the zone of the claim. */
function zonesOf({ offset }: Moment, recorded: Moment): readonly Moment[] {
  const { date, seconds, offset: own } = recorded;
  if (own === undefined || seconds === undefined) return [recorded];
  const [year = 2000, month, day] = date ?? [2000, 1, 1];
  const ms = Math.round(Date.UTC(year, month - 1, day) + seconds * 1000 - own * 60_000);
  const inZone = (minutes: number): Moment => {
    const moment = momentIn(ms, minutes);
    return date ? moment : { seconds: moment.seconds ?? 0, step: 1 };
  };
  return offset === undefined ? [recorded, inZone(0)] : [inZone(offset)];
}

function momentIn(ms: number, offset: number): Moment {
  const at = new Date(ms + offset * 60_000);
  const date = [at.getUTCFullYear(), at.getUTCMonth() + 1, at.getUTCDate()] as const;
  return { date, seconds: (((at.getTime() / 1000) % 86_400) + 86_400) % 86_400, step: 0.001, offset };
}

function hasDate({ date: claimed, seconds }: Moment, { date }: Moment): boolean {
  if (!claimed) return true;
  if (!date) return seconds !== undefined;
  const [year, month, day] = claimed;
  if (month !== date[1] || (day !== 0 && day !== date[2])) return false;
  return year === date[0] || (day !== 0 && (year === undefined || date[0] === undefined));
}

function hasTime({ seconds: claimed, step = 1 }: Moment, { seconds, step: own = 1 }: Moment): boolean {
  if (claimed === undefined) return true;
  if (seconds === undefined) return false;
  const wide = Math.max(step, own);
  // Cut off or rounded to the coarser of both. Fractions such as 0.592 are not exact, and would be cut to the step below.
  const units = (value: number) => value / wide + 1e-3;
  return [Math.floor, Math.round].some((cut) => cut(units(seconds)) === Math.floor(units(claimed)));
}
