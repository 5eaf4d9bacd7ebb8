import { type LineRecord, routeOf, shapeOf } from "../line/record.ts";
import { LINE_SHOWN, shortened, shown } from "../line/text.ts";
import { briefTime } from "../line/timestamp.ts";
import type { Line } from "../selector.ts";
import { createPoints, type Point, type Points } from "../steps.ts";
import { statusOf } from "./severity.ts";
import { type Counts, countsAt, createSpan, isLate, type Split, splitOf, surprise, widen } from "./split.ts";

/** Lines of one shape, or requests of one route that were answered with one status. */
interface Track {
  readonly name: string;
  /** Format and name of a route. */
  readonly kind: string | undefined;
  readonly status: number | undefined;
  readonly isEvent: boolean;
  readonly points: Points;
  example: string;
  at: string;
  time: number;
}

const MOST_TRACKS = 2000;
const STRETCHES = 64;
const EXAMPLE_SHOWN = 240;
/** Changes below this are as likely to be noise. */
const WORTH_TELLING = 6;
/** Maximum number of lines of a rare shape, and of rare shapes. More of them are names, not events. */
const RARE = 3;
const MOST_RARE = 60;
const RARE_SHOWN = 4;
const STATUSES_SHOWN = 5;

/** Counts lines of any level within the window, by shape, and requests by route and status. */
export function createLines(at: number | undefined, window: number) {
  const tracks = new Map<string, Track>();
  const span = createSpan();
  return {
    add(file: string, { text, time, length, offset }: Line, { format, fields }: LineRecord, isTold: Told): void {
      if (time === undefined || (at !== undefined && Math.abs(time - at) > window)) return;
      widen(span, time);
      const status = statusOf(fields);
      const route = status === undefined ? undefined : routeOf(fields);
      if (route === undefined && isTold.isError) return;
      const name = route ?? shapeOf(text);
      // A proxy in front of a service logs the same requests, mostly in another format.
      const kind = route && `${format} ${name}`;
      const key = kind === undefined ? name : `${status} ${kind}`;
      const known = tracks.get(key);
      if (!known && tracks.size >= MOST_TRACKS) return;
      const points = known?.points ?? createPoints({ most: STRETCHES });
      points.add(time, 1);
      if (known && time >= known.time) return;
      const example = shortened(shown(text.slice(0, LINE_SHOWN), length), EXAMPLE_SHOWN);
      tracks.set(key, { name, kind, status, isEvent: isTold.isEvent, points, example, at: `${file}@${offset}`, time });
    },
    /** Returns routes whose statuses changed, new shapes, rare lines before the strongest change, and other shapes. */
    changes() {
      const all = [...tracks.values()].map((track) => {
        const points = track.points.all();
        return { track, points, split: splitOf(points, span) };
      });
      all.sort((a, b) => b.split.gain - a.split.gain || (a.track.at < b.track.at ? -1 : 1));
      const onset = all[0]?.split.time ?? 0;
      const lines = all.filter(({ track }) => track.kind === undefined);
      const changed = lines.filter(({ split }) => split.gain >= WORTH_TELLING);
      const [fresh, other] = [changed.filter(isNew), changed.filter((each) => !isNew(each))];
      const rare = lines.filter(({ track, split: { counts, gain } }) => {
        const isRare = gain < WORTH_TELLING && counts[0] + counts[1] <= RARE && !track.isEvent;
        return isRare && track.time <= onset && isLate(track.time, span);
      });
      const latest =
        rare.length > MOST_RARE ? [] : rare.sort((a, b) => b.track.time - a.track.time).slice(0, RARE_SHOWN);
      const routes = routesOf(all, onset);
      const briefly = routes.slice(1).map(({ example: _, ...route }) => route);
      const first = [...routes.slice(0, 1), ...fresh.map(lineTold), ...briefly, ...latest.map(lineTold)];
      return { first, other: other.map(lineTold) };
    },
  };
}

type Found = { readonly track: Track; readonly points: readonly Point[]; readonly split: Split };
/** Members of the survey that show a line anyway. */
interface Told {
  readonly isError: boolean;
  readonly isEvent: boolean;
}

function isNew({ split: { counts, gain } }: Found): boolean {
  return counts[0] === 0 && gain > 0;
}

function lineTold({ track, split }: Found) {
  const sum = split.counts[0] + split.counts[1];
  const { time, counts } = split.gain >= WORTH_TELLING ? split : { time: track.time, counts: [0, sum] };
  return { by: "line", name: track.example, lines: counts, since: briefTime(time), at: track.at };
}

/** Returns the routes of which other statuses were answered from an instant on. */
function routesOf(all: readonly Found[], onset: number) {
  const byName = new Map<string, Found[]>();
  for (const each of all) {
    const { kind } = each.track;
    if (kind !== undefined) byName.set(kind, [...(byName.get(kind) ?? []), each]);
  }
  const told = [...byName.values()].flatMap((found) => {
    const times = found.filter(({ split }) => split.gain >= WORTH_TELLING).map(({ split }) => split.time);
    const mixes = [...new Set(times)].map((since) => mixAt(found, since));
    const [best] = mixes.sort((a, b) => b.gain - a.gain || a.since - b.since);
    return best && best.gain >= WORTH_TELLING ? [best] : [];
  });
  told.sort((a, b) => b.gain - a.gain || Math.abs(a.since - onset) - Math.abs(b.since - onset));
  return told
    .filter(({ entry }, index) => told.findIndex((each) => each.entry.name === entry.name) === index)
    .map(({ entry, since }) => ({ ...entry, since: briefTime(since) }));
}

/** Compares the statuses of a route before and from an instant on. */
function mixAt(found: readonly Found[], since: number) {
  const counted = found.map(({ track, points }) => ({ track, counts: countsAt(points, since) }));
  const sum = (which: 0 | 1) => counted.reduce((all, { counts }) => all + counts[which], 0);
  const lines = [sum(0), sum(1)] as const;
  const share = lines[0] / (lines[0] + lines[1]);
  const risen = ({ counts }: { readonly counts: Counts }) => counts[1] * share - counts[0] * (1 - share);
  const sorted = counted.sort((a, b) => risen(b) - risen(a) || Number(a.track.status) - Number(b.track.status));
  const gain = counted.reduce((all, { counts }) => all + surprise(counts, share), 0);
  const [{ name, example, at } = { name: "", example: "", at: "" }] = sorted.map(({ track }) => track);
  const status = Object.fromEntries(sorted.slice(0, STATUSES_SHOWN).map(({ track, counts }) => [track.status, counts]));
  return { gain, since, entry: { by: "route", name, lines, status, at, example } };
}
