import * as z from "zod";
import { PATH_PATTERN } from "../../base/path.ts";
import { type Fitting, lazy } from "../../base/values.ts";
import { RUN_STATUSES } from "../../engine/event/end.ts";
import {
  json,
  jsonObject,
  lazyOneOf,
  lazyStrictObject,
  matching,
  optional,
  text,
  writesMode,
} from "../../skill/field.ts";

/** Test files (`*.test.yml`). One declaration serves as type, validator and published schema. */

const names = lazy(() => z.array(text()));
const live = lazy(() => z.literal("live").describe("Call tools without a fixture for real"));

export const fixture = lazyOneOf(["output", "error"], () => ({
  when: optional(
    json(),
    "Arguments to match. Only the given keys of objects are compared, and * in a string matches any characters. Default: any arguments.",
  ),
  output: optional(json(), 'Output of the call: a value, or "@file"'),
  error: optional(z.string(), "Error message with which the call fails, instead of output"),
  acted: optional(
    z.enum(["no", "unknown"]),
    "With error: whether the write may have happened. Defaults to unknown, or to no if the tool is idempotent.",
  ),
}));

const matcher = lazy(() =>
  z
    .strictObject({
      equals: optional(json(), "Exact value"),
      in: optional(z.array(json()), "Accepted values or matchers"),
      matches: optional(z.string(), "Regular expression, applied to a string or to the JSON of any other value"),
      not: optional(json(), "Value or matcher that must not match. true inverts the other matchers."),
      at_least: optional(z.number(), "Minimum number"),
      at_most: optional(z.number(), "Maximum number"),
      length: optional(
        z.union([z.int().min(0), jsonObject()]),
        "Length of a list, string or map: a number or a matcher",
      ),
      exists: optional(z.boolean(), "Whether there is a value other than null"),
    })
    .meta({ minProperties: 1 })
    .refine((value) => Object.keys(value).length > 0, "is empty"),
);
const amount = lazy(() => z.union([z.number(), matcher()]));
const oneOrMatcher = <Value extends z.ZodType>(value: Value) => z.union([value, matcher()]);

/** Data path, optionally after the path of an inner run. */
const PLACED_PATH = new RegExp(
  `^(?:[^[\\]/.]+(?:\\[[^\\]]*\\])?/)*(?:${PATH_PATTERN.source.replace(/^\^|\$$/g, "")})$`,
);

const approvals = lazy(() =>
  z
    .record(text(), z.enum(["approve", "deny"]))
    .describe("Decisions at approvals, by node: sure, each[fp-81]/sure, or each/sure for every item"),
);

const plannedWrite = lazyStrictObject(() => ({
  tool: optional(oneOrMatcher(text()), "Tool name as the model sees it"),
  node: optional(oneOrMatcher(text()), "Node that planned the write"),
  skill: optional(oneOrMatcher(text()), "Skill of the tool"),
  audience: optional(oneOrMatcher(text()), "Who would read the write: team or public"),
  held: optional(oneOrMatcher(text()), "Why it was planned although writes are allowed"),
  input: optional(json(), "Input of the write. Only the given keys are compared."),
}));

const expected = lazyStrictObject(() => ({
  status: optional(oneOrMatcher(z.enum(RUN_STATUSES)), "Status of the run (default succeeded)"),
  verdict: optional(oneOrMatcher(z.string()), "Verdict of the run"),
  path: optional(
    oneOrMatcher(names()),
    "Nodes in the order of their visits. Includes nodes of inner runs, such as each[fp-81]/look, if one is named.",
  ),
  data: optional(
    z.record(
      matching(
        PLACED_PATH,
        "is not a path: [all:|any:]node.key(.key)*, where a key can end in [*]; for an inner run each[KEY]/node.key",
      ),
      json(),
    ),
    "Values or matchers, by path in the nodes' data. Inner runs: each[fp-81]/look.kind.",
  ),
  called: optional(names(), "Tools that must be called, by the names that the model sees"),
  not_called: optional(names(), "Tools that must not be called"),
  planned: optional(z.array(plannedWrite()), "Writes that must be planned. An empty list means that none was planned."),
  steps: optional(
    z.record(
      matching(
        /^(?:[^[\]/.]+(?:\[[^\]]*\])?\/)*[^/.]+\.[a-z][a-z0-9_]*$/,
        "is not a step: node.step, or each[KEY]/node.step",
      ),
      z.enum(["success", "failed", "skipped", "planned"]),
    ),
    "Results of steps, such as look.logs: success. The last visit of a node counts.",
  ),
  evidence: optional(
    z.strictObject({
      claims: optional(amount(), "Number before any are removed"),
      supported: optional(amount(), "Claims that results support"),
      dropped: optional(amount(), "Claims that were removed"),
      cites: optional(amount(), "Cites before any are removed"),
      held: optional(amount(), "Cites whose quote is in the result that they name"),
    }),
    "Counts of claims and cites over all nodes",
  ),
  cost_usd: optional(amount(), "Cost of the run in US dollars. For a recording, the cost when it was recorded."),
  tokens: optional(amount(), "Input and output tokens"),
  prompts: optional(z.literal("unchanged"), "Prompts must be the same as in the recording"),
}));
export type Expected = Fitting<typeof expected>;

const testCase = lazyStrictObject(() => ({
  name: text().describe("Unique name, shown in the case's line"),
  input: optional(
    z.union([matching(/^@./, 'must be a map, or "@file"'), jsonObject()]),
    'Input of the run: a map, or "@file" (default: empty)',
  ),
  writes: optional(writesMode(), "Overrides the file's writes"),
  fixtures: live().optional(),
  approvals: approvals().optional(),
  expect: optional(expected(), "Expected result"),
}));
export type TestCase = Fitting<typeof testCase>;

export const testFileSchema = lazyStrictObject(() => ({
  workflow: text().describe("Workflow file. Paths are relative to the test file."),
  model: optional(text(), "Model: script:FILE, replay:FILE, or provider:name"),
  writes: optional(writesMode(), "Same as --writes (default: the setting of the workflow and project)"),
  fixtures: live().optional(),
  tools: optional(
    z.record(z.string(), z.array(fixture())),
    "Fixtures, by the tool name that the model sees. The first matching row answers; rows with an equal when, one call each.",
  ),
  cases: z.array(testCase()).min(1).describe("Cases, run separately and in order"),
}));
export type TestFile = Fitting<typeof testFileSchema>;
