import * as z from "zod";
import { PATH_PATTERN } from "../../base/path.ts";
import { type Fitting, type Json, type JsonObject, lazy } from "../../base/values.ts";
import { RUN_STATUSES } from "../../engine/event/end.ts";

/** Test files (`*.test.yml`). One declaration serves as type, validator and published schema. */

const json = lazy((): z.ZodType<Json> => z.json());
const jsonObject = lazy((): z.ZodType<JsonObject> => z.record(z.string(), z.json()));
const text = lazy(() => z.string().min(1));
const names = lazy(() => z.array(text()));
const writes = lazy(() => z.enum(["allow", "plan", "deny"]));
const live = lazy(() => z.literal("live").describe("Call tools without a fixture for real"));

const fixture = lazy(() =>
  z
    .strictObject({
      when: json()
        .optional()
        .describe(
          "Arguments to match. Only the given keys of objects are compared, and * in a string matches any characters. Default: any arguments.",
        ),
      output: json().optional().describe('Output of the call: a value, or "@file"'),
      error: z.string().optional().describe("Error message with which the call fails, instead of output"),
      acted: z
        .enum(["no", "unknown"])
        .optional()
        .describe(
          "With error: whether the write may have happened. Defaults to unknown, or to no if the tool is idempotent.",
        ),
    })
    .refine(
      ({ output, error }) => (output === undefined) !== (error === undefined),
      "needs exactly one of output and error",
    )
    .meta({ oneOf: [{ required: ["output"] }, { required: ["error"] }] }),
);

const matcher = lazy(() =>
  z
    .strictObject({
      equals: json().optional().describe("Exact value"),
      in: z.array(json()).optional().describe("Accepted values or matchers"),
      matches: z
        .string()
        .optional()
        .describe("Regular expression, applied to a string or to the JSON of any other value"),
      not: json().optional().describe("Value or matcher that must not match. true inverts the other matchers."),
      at_least: z.number().optional().describe("Minimum number"),
      at_most: z.number().optional().describe("Maximum number"),
      length: z
        .union([z.int().min(0), jsonObject()])
        .optional()
        .describe("Length of a list, string or map: a number or a matcher"),
      exists: z.boolean().optional().describe("Whether there is a value other than null"),
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

const expected = lazy(() =>
  z.strictObject({
    status: oneOrMatcher(z.enum(RUN_STATUSES)).optional().describe("Status of the run (default succeeded)"),
    verdict: oneOrMatcher(z.string()).optional().describe("Verdict of the run"),
    path: oneOrMatcher(names())
      .optional()
      .describe(
        "Nodes in the order of their visits. Includes nodes of inner runs, such as each[fp-81]/look, if one is named.",
      ),
    data: z
      .record(
        z
          .string()
          .regex(
            PLACED_PATH,
            "is no path: [all:|any:]node.key(.key)*, where a key may end in [*]; of an inner run each[KEY]/node.key",
          ),
        json(),
      )
      .optional()
      .describe("Values or matchers, by path in the nodes' data. Inner runs: each[fp-81]/look.kind."),
    called: names().optional().describe("Tools that must be called, by the names that the model sees"),
    not_called: names().optional().describe("Tools that must not be called"),
    planned: z
      .array(
        z.strictObject({
          tool: oneOrMatcher(text()).optional().describe("Tool name as the model sees it"),
          node: oneOrMatcher(text()).optional().describe("Node that planned the write"),
          skill: oneOrMatcher(text()).optional().describe("Skill of the tool"),
          audience: oneOrMatcher(text()).optional().describe("Who would read the write: team or public"),
          held: oneOrMatcher(text()).optional().describe("Why it was planned although writes are allowed"),
          input: json().optional().describe("Input of the write. Only the given keys are compared."),
        }),
      )
      .optional()
      .describe("Writes that must be planned. An empty list means that none was planned."),
    evidence: z
      .strictObject({
        claims: amount().optional().describe("Number before any are removed"),
        supported: amount().optional().describe("Claims that results support"),
        dropped: amount().optional().describe("Claims that were removed"),
        cites: amount().optional().describe("Cites before any are removed"),
        held: amount().optional().describe("Cites whose quote is in the result that they name"),
      })
      .optional()
      .describe("Counts of claims and cites over all nodes"),
    cost_usd: amount()
      .optional()
      .describe("Cost of the run in US dollars. For a recording, the cost when it was recorded."),
    tokens: amount().optional().describe("Input and output tokens"),
    prompts: z.literal("unchanged").optional().describe("Prompts must be the same as in the recording"),
  }),
);
export type Expected = Fitting<typeof expected>;

const testCase = lazy(() =>
  z.strictObject({
    name: text().describe("Unique name, shown in the case's line"),
    input: z
      .union([z.string().regex(/^@./, 'must be a map, or "@file"'), jsonObject()])
      .optional()
      .describe('Input of the run: a map, or "@file" (default: empty)'),
    writes: writes().optional().describe("Overrides the file's writes"),
    fixtures: live().optional(),
    approvals: approvals().optional(),
    expect: expected().optional().describe("Expected result"),
  }),
);
export type TestCase = Fitting<typeof testCase>;

export const testFileSchema = lazy(() =>
  z.strictObject({
    workflow: text().describe("Workflow file. Paths are relative to the test file."),
    model: text().optional().describe("Model: script:FILE, replay:FILE, or provider:name"),
    writes: writes().optional().describe("Same as --writes (default: the setting of the workflow and project)"),
    fixtures: live().optional(),
    tools: z
      .record(z.string(), z.array(fixture()))
      .optional()
      .describe("Fixtures, by the tool name that the model sees. The first matching row answers."),
    cases: z.array(testCase()).min(1).describe("Cases, run separately and in order"),
  }),
);
export type TestFile = Fitting<typeof testFileSchema>;
