import { briefTime } from "../line/timestamp.ts";
import type { Line } from "../selector.ts";
import { createShapes, type Shape } from "./shapes.ts";

/** Deploys, flag changes and config changes in the files. */
export interface Events {
  /** Begins a file. In a file whose name says that it lists such events, every record is one. */
  begin(file: string): { add(line: Line): void };
  /** Returns the events nearest to an instant, in the order of time. */
  result(centre: number | undefined): readonly object[];
}

const SHOWN = 12;
const MOST_SHAPES = 300;
/** A file's records of one shape beyond this number are routine, not events. */
const ROUTINE = 20;
const ROUTINE_OF_NAMED = 500;

const NAMED =
  /(?:^|[/._-])(?:deploy\w*|releases?|rollouts?|change(?:s|log|_?events?)?|flags?|feature_?flags?|config_?changes?|audit|annotations)(?=[._-]|$)/i;

/** Words of an event. The name of a field is none, as it occurs in every record. */
const WORDS =
  /(?<![a-z])(?:deploy(?:ed|ing|ment|s)?|rollouts?|roll(?:ed|ing)[ -]?(?:out|back)|rollback|release[ _-](?:v?\d|created|published)|feature[ _-]?flags?|flags?[ _.-](?:chang|enabl|disabl|flip|toggl|updat)\w*|config(?:uration|map)?[ _.-](?:chang|updat|reload|appl|push)\w*|(?:chang|updat|reload|appli)\w*[ _-](?:\S{1,30} )?config\w*|migrations?|migrated)(?![a-z]|\w{0,30}"\s?:|\w{0,30}=)/i;

export function createEvents(near: number | undefined): Events {
  const lists: { readonly shapes: ReturnType<typeof createShapes>; readonly most: number }[] = [];
  return {
    begin(file) {
      const isNamed = NAMED.test(file);
      const shapes = createShapes(MOST_SHAPES, near);
      lists.push({ shapes, most: isNamed ? ROUTINE_OF_NAMED : ROUTINE });
      return {
        add(line) {
          if (isNamed || WORDS.test(line.text)) shapes.add(file, line);
        },
      };
    },
    result(centre) {
      const found = lists.flatMap(({ shapes, most }) => shapes.all().filter(({ count }) => count <= most));
      const distance = ({ time }: Shape) =>
        time === undefined || centre === undefined ? Number.POSITIVE_INFINITY : Math.abs(time - centre);
      const nearest = found.sort((a, b) => distance(a) - distance(b) || (a.at < b.at ? -1 : 1)).slice(0, SHOWN);
      return nearest
        .sort((a, b) => (a.time ?? 0) - (b.time ?? 0))
        .map(({ time, at, example, count }) => ({
          ...(time === undefined ? {} : { time: briefTime(time) }),
          at,
          text: example,
          ...(count > 1 ? { count } : {}),
        }));
    },
  };
}
