import { LINE_SHOWN, shortened, shown } from "../line/text.ts";
import { briefTime } from "../line/timestamp.ts";
import type { Line } from "../selector.ts";
import { createShapes, type Shape, type Shapes } from "./shapes.ts";

type Event = Pick<Shape, "time" | "at" | "example" | "count">;

const SHOWN = 12;
const MOST_SHAPES = 300;
const EVENT_SHOWN = 600;
/** A file's records of one shape beyond this number are routine, not events. */
const ROUTINE = 20;
const ROUTINE_OF_NAMED = 500;

const NAMED =
  /(?:^|[/._-])(?:deploy\w*|releases?|rollouts?|change(?:s|log|_?events?)?|flags?|feature_?flags?|config_?changes?|audit|annotations)(?=[._-]|$)/i;

/** Words of an event. The name of a field is none, as it occurs in every record. */
const WORDS =
  /(?<![a-z])(?:deploy(?:ed|ing|ment|s)?|rollouts?|roll(?:ed|ing)[ -]?(?:out|back)|rollback|release[ _-](?:v?\d|created|published)|feature[ _-]?flags?|flags?[ _.-](?:chang|enabl|disabl|flip|toggl|updat)\w*|config(?:uration|map)?[ _.-](?:chang|updat|reload|appl|push)\w*|(?:chang|updat|reload|appli)\w*[ _-](?:\S{1,30} )?config\w*|migrations?|migrated)(?![a-z]|\w{0,30}"\s?:|\w{0,30}=)/i;

/** Gathers deploys, flag changes and config changes. In a file whose name says that it lists them, every record is one. */
export function createEvents(near: number | undefined) {
  /** Shapes of events by file, and each record of a file that lists events, unless there are too many. */
  const lists = new Map<string, { readonly shapes: Shapes; readonly most: number; records: Event[] | undefined }>();
  return {
    begin(file: string) {
      const isNamed = NAMED.test(file);
      const most = isNamed ? ROUTINE_OF_NAMED : ROUTINE;
      const list = { shapes: createShapes(MOST_SHAPES, near), most, records: isNamed ? ([] as Event[]) : undefined };
      lists.set(file, list);
      const add = (line: Line) => {
        if (!isNamed && !WORDS.test(line.text)) return false;
        list.shapes.add(file, line);
        list.records?.push(eventOf(file, line));
        if ((list.records?.length ?? 0) > most) list.records = undefined;
        return true;
      };
      return { isNamed, add };
    },
    /** Returns the events nearest to an instant: those before it, the latest first, then those after it. */
    result(centre: number | undefined) {
      const found = [...lists.values()].flatMap(({ shapes, most, records }): readonly Event[] => {
        return records ?? shapes.all().filter(({ count }) => count <= most);
      });
      const distance = ({ time }: Event) =>
        time === undefined || centre === undefined ? Number.POSITIVE_INFINITY : Math.abs(time - centre);
      const isAfter = ({ time }: Event) => Number(centre !== undefined && time !== undefined && time > centre);
      const order = (a: Event, b: Event) => distance(a) - distance(b) || (a.at < b.at ? -1 : 1);
      const nearest = found.sort(order).slice(0, SHOWN);
      return {
        events: nearest
          .sort((a, b) => isAfter(a) - isAfter(b) || order(a, b))
          .map(({ time, at, example: text, count }) => ({
            ...(time === undefined ? {} : { time: briefTime(time) }),
            ...(count > 1 ? { at, text, count } : { at, text }),
          })),
        other: found.length - nearest.length,
        /** Checks whether each record of a file is shown in full. */
        covers(file: string) {
          const records = lists.get(file)?.records ?? [];
          return records.length > 0 && records.every((each) => nearest.includes(each) && !each.example.endsWith("…"));
        },
      };
    },
  };
}

function eventOf(file: string, { text, time, offset, length }: Line): Event {
  const example = shortened(shown(text.slice(0, LINE_SHOWN), length), EVENT_SHOWN);
  return { time, at: `${file}@${offset}`, example, count: 1 };
}
