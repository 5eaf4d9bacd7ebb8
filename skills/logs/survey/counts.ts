import { fieldOf, type LineRecord } from "../line/record.ts";
import { createPoints, type Points } from "../steps.ts";
import { type Counts, countsAt, createSpan, shareAt, splitOf, surprise, widen } from "./split.ts";

/** Numbers of lines and of errors, before and from an instant on. */
interface Change {
  /** Kind of the group: a field's name, or `file`. */
  readonly by: string;
  readonly name: string;
  readonly lines: Counts;
  readonly errors: Counts;
}

/** A group's lines and errors over time. */
interface Counted {
  readonly by: string;
  readonly name: string;
  readonly lines: Points;
  readonly errors: Points;
}

const MOST_GROUPS = 500;
const ERRORS_WEIGH = 4;
/** Changes below this are as likely to be noise. */
const WORTH_TELLING = 3;
/** Share by which the counts of a file and of its host may differ. */
const ALIKE = 0.1;

/** Counts groups of lines over time. The group without a kind and a name has all lines. */
export function createCounts({ at, window }: { readonly at: number | undefined; readonly window: number }) {
  const kinds = new Map<string, Map<string, Counted>>();
  let size = 0;
  const countedOf = ([by, name]: Group): Counted | undefined => {
    const known = kinds.get(by)?.get(name);
    if (known || size >= MOST_GROUPS) return known;
    const counted = { by, name, lines: createPoints({ origin: at }), errors: createPoints({ origin: at }) };
    kinds.set(by, (kinds.get(by) ?? new Map()).set(name, counted));
    size++;
    return counted;
  };
  const span = createSpan();
  const counts = {
    add(group: Group, time: number, isError: boolean): void {
      if (at !== undefined && (time < at - window || time >= at + window)) return;
      widen(span, time);
      const counted = countedOf(group);
      counted?.lines.add(time, 1);
      if (isError) counted?.errors.add(time, 1);
    },
    /** Returns the given instant, or else the one at which errors, or lines, rose most. */
    around(): number | undefined {
      const all = kinds.get("")?.get("");
      if (at !== undefined || !all) return at;
      const rises = [all.errors, all.lines].map((points) => splitOf(points.all(), span, { onlyRises: true }));
      return rises.find(({ gain }) => gain >= WORTH_TELLING)?.time ?? Math.max(span.from, span.to - window);
    },
    /** Returns the groups whose counts changed, the largest changes first. */
    changes(): readonly Change[] {
      const since = counts.around() ?? 0;
      // The files may cover only a part of the time before.
      const covered = { from: Math.max(since - window, span.from), to: Math.min(since + window, span.to) };
      const share = shareAt(since, covered);
      const countOf = (points: Points) =>
        countsAt(
          points.all().filter(({ time }) => time >= since - window && time < since + window),
          since,
        );
      const groups = [...kinds.values()].flatMap((named) => [...named.values()]);
      const sized = groups.map(({ by, name, lines, errors }) => {
        const change = { by, name, lines: countOf(lines), errors: countOf(errors) };
        return { change, size: surprise(change.lines, share) + ERRORS_WEIGH * surprise(change.errors, share) };
      });
      const told = sized
        .filter(({ change, size }) => change.by !== "" && size >= WORTH_TELLING)
        .sort((a, b) => b.size - a.size || (a.change.by + a.change.name < b.change.by + b.change.name ? -1 : 1))
        .map(({ change }) => change);
      return told.filter((change) => change.by !== "file" || !told.some((other) => isAlike(change, other)));
    },
  };
  return counts;
}

/** Checks whether a file's counts are about those of a group of another kind, such as the host that wrote the file. */
function isAlike(file: Change, { by, lines, errors }: Change): boolean {
  const near = (a: number, b: number) => Math.abs(a - b) <= ALIKE * Math.max(a, b);
  const are = (a: Counts, b: Counts) => near(a[0], b[0]) && near(a[1], b[1]);
  return by !== "file" && are(file.lines, lines) && are(file.errors, errors);
}

/** Service, host or the like of a record: kind and name. */
export type Group = readonly [by: string, name: string];

const FIELDS = [
  ...["service", "service.name", "service_name", "serviceName", "app", "application", "component"],
  ...["container", "container_name", "kubernetes.container_name", "pod", "pod_name", "kubernetes.pod_name"],
  ...["host", "hostname", "host.name", "instance", "node", "server", "region", "zone"],
];
const SYSLOG =
  /^(?:<\d{1,3}>)?(?:[A-Z][a-z]{2} [ \d]\d [\d:]{8}|\d{4}-\d\d-\d\dT[\d:.]{8,18}(?:Z|[+-][\d:]{4,6})?) ([\w.-]{1,64}) ([\w./-]{1,64})(?:\[\d{1,9}\])?: /;
const LOOKED_AT = 500;
const LONGEST_NAME = 100;

/** Returns a function for the groups of one file's records. Only names that its first records have are looked up. */
export function groupsOf() {
  const found = new Set<string>();
  let seen = 0;
  return {
    of({ format, fields }: LineRecord, text: string): readonly Group[] {
      if (format === "text") {
        const [, host, program] = SYSLOG.exec(text) ?? [];
        return host === undefined || program === undefined
          ? []
          : [
              ["host", host],
              ["program", program],
            ];
      }
      const isNew = seen++ < LOOKED_AT;
      const groups: Group[] = [];
      for (const field of isNew ? FIELDS : found) {
        const value = fieldOf(fields, field);
        if (typeof value !== "string" || value === "" || value.length > LONGEST_NAME) continue;
        found.add(field);
        groups.push([field, value]);
      }
      return groups;
    },
  };
}
