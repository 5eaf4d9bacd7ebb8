import { defineSkill, type defineTool } from "skillflow";
import { resultSchema, setting, variables } from "skillflow/internal";
import { listFiles } from "./overview.ts";
import { summarizeSeries } from "./series.ts";
import { readAlert } from "./survey/alert.ts";
import { surveyLogs } from "./survey/survey.ts";
import { countBy, linesAround, sampleLines, searchLines, timeWindow } from "./tools.ts";

/** Filters of all tools. Only `search` describes them; the other descriptions refer to it. */

const text = (most: number) => ({ type: "string", maxLength: most });
const texts = (most: number, count: number) => ({
  type: ["string", "array"],
  maxLength: most,
  items: text(most),
  maxItems: count,
});
/** Length of time, such as 30m. */
const LENGTH = "^[1-9]\\d{0,4}[smhd]$";
const integer = (least: number, most: number) => ({ type: "integer", minimum: least, maximum: most });

const filters = {
  files: texts(500, 50),
  contains: texts(500, 10),
  excludes: texts(500, 10),
  matches: text(300),
  ignore_case: { type: "boolean" },
  where: { type: "object" },
};
const times = { since: text(40), until: text(40) };
const fields = texts(200, 20);

const described = {
  files: {
    ...filters.files,
    description:
      "Path, glob (*, **, ?, {a,b}) or list of them. Packed files are unpacked; CSV, JSON documents, OTLP and Prometheus exports become rows; access logs have method, path, status",
  },
  contains: { ...filters.contains, description: "Text in the line, as written; of a list all. The fastest filter" },
  excludes: { ...filters.excludes, description: "Text not in the line; of a list none" },
  matches: { ...filters.matches, description: "JavaScript regular expression, on a line's first 8 KB" },
  ignore_case: { ...filters.ignore_case, description: "For contains, excludes, matches" },
  where: {
    ...filters.where,
    description:
      'Fields of JSON or key=value lines and rows: {level: "error", "http.status": [502, 503], ms: ">1000", code: "500..599", path: {not: ["/", "/health"]}}; compared as text or by >, >=, <, <=, a..b; all must hold',
  },
  since: { ...times.since, description: "Not before: ISO 8601 (UTC unless it has a zone) or epoch" },
  until: { ...times.until, description: "Not after" },
  fields: {
    ...fields,
    description: "Show these fields as a table, instead of lines (`time`, `line` are always there)",
  },
};

/** Files searched, with their aliases, and why nothing was found. */
const scanned = "searched:number per_file:{} files:{} notes:[text] why:[text]";
const page = "returned:number truncated:flag more empty:[text]";
/** Lines by location, or a table if `fields` was given. */
const found = resultSchema(
  "returned truncated",
  `matched:number ${page} lines:{} columns:[text] rows:[[any]] ${scanned}`,
);
const table = `matched:number ${page} day columns:[text] rows:[[any]] ${scanned}`;

const counted = resultSchema(
  "matched columns rows",
  `${table} distinct:number bucket other:number without_value:number without_time:number`,
);
const summed = resultSchema("matched columns rows", `${table} series:number from to values_left_out:number`);
const windowed = resultSchema("matched counts", `${table} from to lines:{} every counts:{}`);
const overview = resultSchema(
  "files",
  `matched:number ${page} files:[{ file bytes:number lines:number lines_estimated:number packed:flag format time first
    last fields:[any] more_fields:number notes:[text] }]`,
);

const alerted = resultSchema("", "title text service at files:[text] repository");

const surveyed = resultSchema(
  "files whole errors changes series events left_out",
  `files:[any] whole:[any] errors:[{ shape count:number first last at example }] changes:[{ by name since at example
    lines:[number] errors:[number] status:{} }] series:[any] events:[{ time at text count:number }] left_out:{}`,
);

type Tool = ReturnType<typeof defineTool>;

const selects = ["contains", "excludes", "matches", "where"];
const echoes = ["searched", "why", "empty", "columns"];
const inRange = { clock: "range" as const, range: { from: "since", to: "until" }, selects, echoes };

function tool(
  name: string,
  description: string,
  properties: object,
  rest: Pick<Tool, "handler" | "output_schema" | "clock" | "range" | "selects" | "echoes"> & {
    readonly required?: readonly string[];
  },
): Tool {
  const { required = ["files"], ...how } = rest;
  const input_schema = {
    type: "object",
    properties,
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
  return { name, description, effect: "read", input_schema, ...how };
}

export default defineSkill({
  id: "logs",
  name: "Log files",
  description: "Search, count and measure local log, metric and trace files, packed ones too, however large they are",
  category: "observability",
  config: variables({
    LOGS_ROOT: setting(
      "directory",
      "A directory of log files beside the working directory; also one whose name begins with a dot, or a former run's.",
    ),
  }),
  tools: [
    tool(
      "alert",
      "Reads an alert of any system: title, service, start, files, repository",
      { alert: { type: ["object", "array", "string"], description: "As posted" } },
      { required: ["alert"], clock: "none", handler: readAlert, output_schema: alerted },
    ),
    tool(
      "survey",
      "Gives a first picture: files, small ones whole, shapes of errors, new lines, routes, services and hosts that changed, series with steps, deploys and config changes",
      {
        files: { ...filters.files, description: "As in search" },
        around: { ...text(40), description: "Its start; default: when errors rose most" },
        window: { type: "string", pattern: LENGTH, description: "To either side; default 30m" },
        focus: { ...text(200), description: "Word, for errors and series" },
      },
      { clock: "range", range: { to: "around" }, selects: ["focus"], handler: surveyLogs, output_schema: surveyed },
    ),
    tool(
      "files",
      "Lists files with format, lines, first and last time, and field names. Cheap",
      {
        files: { ...filters.files, description: "As in search; default: all that look like logs" },
        limit: { ...integer(1, 100), description: "Default 30" },
      },
      { required: [], clock: "snapshot", handler: listFiles, output_schema: overview },
    ),
    tool(
      "search",
      "Finds lines and tells how many match; gives the first or last by time. A line's key is `file alias@offset`, `files` tells the aliases",
      {
        ...described,
        order: { enum: ["first", "last"], description: "Default first" },
        limit: { ...integer(1, 200), description: "Default 50" },
        skip: { ...integer(0, 5000), description: "Matches to pass over from that end" },
      },
      { ...inRange, handler: searchLines, output_schema: found },
    ),
    tool(
      "around",
      "Gives the neighbours of a found line; fields as in search",
      {
        file: { ...text(500), description: "Its path, no alias" },
        offset: { ...integer(0, Number.MAX_SAFE_INTEGER), description: "The number behind @" },
        before: { ...integer(0, 100), description: "Lines; default 10" },
        after: { ...integer(0, 100), description: "Lines; default 20" },
        fields,
      },
      { required: ["file", "offset"], clock: "range", echoes, handler: linesAround, output_schema: found },
    ),
    tool(
      "sample",
      "Gives lines spread evenly over all that match. Filters and fields as in search",
      { ...filters, ...times, fields, limit: { ...integer(1, 100), description: "Default 20" } },
      { ...inRange, handler: sampleLines, output_schema: found },
    ),
    tool(
      "count_by",
      "Counts lines by fields, pattern or shape (several: by combination; none: all), most frequent first, over time if wanted. Filters as in search",
      {
        ...filters,
        ...times,
        by: { ...texts(200, 5), description: "Fields, dotted if nested" },
        pattern: { ...text(300), description: "Regular expression; what its first group matched" },
        shape: { type: "boolean", description: "Lines alike but for numbers and ids" },
        bucket: { type: "string", pattern: LENGTH, description: "Also per 30s, 5m, 1h…" },
        limit: { ...integer(1, 100), description: "Default 20" },
      },
      { ...inRange, handler: countBy, output_schema: counted },
    ),
    tool(
      "series",
      "Sums up numbers over time, for metrics and durations: per group and field count, interval, min, max, mean, first, last, and the steps: when its level changed, from → to. Filters as in search",
      {
        ...filters,
        ...times,
        fields: { ...texts(200, 10), description: "Numeric fields; in exports `value`. Default: all, by `metric`" },
        by: { ...texts(200, 5), description: "Fields that tell series apart" },
        rate: { type: "boolean", description: "For counters: growth per second" },
        limit: { ...integer(1, 200), description: "Default 30, those that change most first" },
      },
      { ...inRange, handler: summarizeSeries, output_schema: summed },
    ),
    tool(
      "time_window",
      "Gives the lines nearest to an instant, files merged by time, and counts around it. Filters and fields as in search",
      {
        ...filters,
        at: { ...text(40), description: "The middle, as since" },
        seconds: { ...integer(1, 86_400), description: "To either side; default 60" },
        fields,
        limit: { ...integer(1, 200), description: "Default 50" },
      },
      {
        required: ["files", "at"],
        clock: "range",
        range: { to: "at" },
        selects,
        echoes: [...echoes, "from", "to"],
        handler: timeWindow,
        output_schema: windowed,
      },
    ),
  ],
});
