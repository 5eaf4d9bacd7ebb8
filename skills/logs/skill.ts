import { defineSkill, defineTool } from "skillflow";
import * as z from "zod";
import { listFiles } from "./overview.ts";
import { countBy, linesAround, sampleLines, searchLines, timeWindow } from "./tools.ts";

const scalar = z.union([z.string().max(500), z.number(), z.boolean()]);
const texts = (description: string) =>
  z
    .union([z.string().min(1).max(500), z.array(z.string().min(1).max(500)).min(1).max(10)])
    .optional()
    .describe(description);
const instant = (description: string) =>
  z.string().min(4).max(40).describe(`${description}: ISO 8601 (UTC unless it has a zone) or epoch seconds`);

const path = z.string().min(1).max(500);
const files = z
  .union([path, z.array(path).min(1).max(50)])
  .describe("Path, glob (*, **, ?, {a,b}) or list of them, relative to the working directory; .gz files are unpacked");

const lineFilter = {
  contains: texts("Text that the line must hold, as it is written; of a list every one. The fastest filter"),
  excludes: texts("Text that the line must not hold; of a list none"),
  matches: z
    .string()
    .min(1)
    .max(300)
    .optional()
    .describe("JavaScript regular expression, tried on the first 8 KB of a line; slower than contains"),
  ignore_case: z.boolean().optional().describe("Ignore the case of A-Z in contains, excludes and matches"),
  where: z
    .record(z.string().min(1).max(200), z.union([scalar, z.array(scalar).min(1).max(50)]))
    .optional()
    .describe(
      "Values of fields of JSON or key=value lines, such as {level: error, http.status: [502, 503]}; all must hold",
    ),
};
const selector = {
  ...lineFilter,
  since: instant("Only lines at or after this time").optional(),
  until: instant("Only lines at or before this time").optional(),
};
const limitOf = (most: number, usual: number) =>
  z.number().int().min(1).max(most).optional().describe(`Most to return; default ${usual}`);

export default defineSkill({
  id: "logs",
  name: "Log files",
  description: "Search, sample and count lines of local log files, packed ones too, however large they are",
  category: "observability",
  config: {
    LOGS_ROOT: {
      description:
        "A directory of log files beside the working directory; also one whose name begins with a dot, or a former run's.",
      env: "LOGS_ROOT",
      secret: false,
    },
  },
  tools: [
    defineTool({
      name: "files",
      description:
        "Lists log files with size, format, estimated lines, first and last timestamp, and field names. Cheap; begin here",
      effect: "read",
      input_schema: z.strictObject({
        files: files.optional().describe("Path, glob or list of them; default: everything that looks like a log file"),
        limit: limitOf(100, 30),
      }),
      handler: listFiles,
    }),
    defineTool({
      name: "search",
      description:
        "Finds lines; reads the files from front to back, tells how many lines match and returns the first or last",
      effect: "read",
      input_schema: z.strictObject({
        files,
        ...selector,
        order: z.enum(["first", "last"]).optional().describe("Which end of the matches to return; default first"),
        limit: limitOf(200, 50),
        skip: z.number().int().min(0).max(5000).optional().describe("Matches to pass over from that end, to page on"),
      }),
      handler: searchLines,
    }),
    defineTool({
      name: "around",
      description: "Returns the lines before and after one line, given by the file and offset of a line found earlier",
      effect: "read",
      input_schema: z.strictObject({
        file: path.describe("One file's path"),
        offset: z.number().int().min(0).describe("The number behind @ in a line's `at`"),
        before: z.number().int().min(0).max(100).optional().describe("Lines before it; default 10"),
        after: z.number().int().min(0).max(100).optional().describe("Lines after it; default 20"),
      }),
      handler: linesAround,
    }),
    defineTool({
      name: "sample",
      description: "Returns lines spread evenly over all matching lines, to see what a file holds",
      effect: "read",
      input_schema: z.strictObject({ files, ...selector, limit: limitOf(100, 20) }),
      handler: sampleLines,
    }),
    defineTool({
      name: "count_by",
      description:
        "Counts matching lines per value of a field, per text captured by a pattern, or per shape of line, most frequent first, and per time bucket if wanted",
      effect: "read",
      input_schema: z.strictObject({
        files,
        ...selector,
        by: z
          .union([
            z.strictObject({ field: z.string().min(1).max(200).describe("Field, dotted for nested JSON") }),
            z.strictObject({
              pattern: z.string().min(1).max(300).describe("Regular expression; its first group is counted"),
            }),
            z.strictObject({ shape: z.literal(true).describe("Lines alike except for numbers and ids") }),
          ])
          .optional()
          .describe("What to count by; left out: all matching lines together (useful with bucket)"),
        bucket: z
          .string()
          .regex(/^[1-9]\d{0,4}[smhd]$/)
          .optional()
          .describe("Length of time buckets, such as 30s, 5m, 1h"),
        top: limitOf(100, 20),
      }),
      handler: countBy,
    }),
    defineTool({
      name: "time_window",
      description:
        "Returns the lines nearest to an instant, of all files merged by time, and how many lines fall in each part of the window",
      effect: "read",
      input_schema: z.strictObject({
        files,
        at: instant("The middle of the window"),
        seconds: z.number().int().min(1).max(86_400).optional().describe("Seconds before and after; default 60"),
        ...lineFilter,
        limit: limitOf(200, 50),
      }),
      handler: timeWindow,
    }),
  ],
});
