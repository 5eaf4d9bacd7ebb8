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
const live = lazy(() =>
  z.literal("live").describe("tools without a fixture are called for real; else they are not reached"),
);

const fixture = lazy(() =>
  z
    .strictObject({
      when: json()
        .optional()
        .describe("objects by the keys named here, * in a text is any characters; default: anything"),
      output: json().optional().describe('what the call comes to: a value, or "@file"'),
      error: z.string().optional().describe("in place of output: the call fails with it"),
      acted: z
        .enum(["no", "unknown"])
        .optional()
        .describe("with error: whether the write may have happened; default unknown unless the tool is idempotent"),
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
      equals: json().optional().describe("this very value"),
      in: z.array(json()).optional().describe("one of these, values or matchers"),
      matches: z.string().optional().describe("a pattern, on a text or on the JSON of anything else"),
      not: json().optional().describe("a value or a matcher; true beside others turns those round"),
      at_least: z.number().optional().describe("a number of this or more"),
      at_most: z.number().optional().describe("a number of this or less"),
      length: z
        .union([z.int().min(0), jsonObject()])
        .optional()
        .describe("of a list, a text or a map: a number or a matcher"),
      exists: z.boolean().optional().describe("whether there is anything, null not counted"),
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
    .describe("what a person says at an approval, by its node: sure, each[fp-81]/sure, each/sure for every item"),
);

const expected = lazy(() =>
  z.strictObject({
    status: oneOrMatcher(z.enum(RUN_STATUSES)).optional().describe("default: succeeded"),
    verdict: oneOrMatcher(z.string()).optional().describe("the run's verdict"),
    path: oneOrMatcher(names())
      .optional()
      .describe("every node, once a visit; with those of inner runs where one is named: each[fp-81]/look"),
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
      .describe("path in the nodes' data, inner ones as each[fp-81]/look.kind -> a value or a matcher"),
    called: names().optional().describe("tools, by the names that the model sees"),
    not_called: names().optional().describe("tools that nobody may ask for"),
    planned: z
      .array(
        z.strictObject({
          tool: oneOrMatcher(text()).optional().describe("by the name that the model sees"),
          node: oneOrMatcher(text()).optional().describe("that planned it"),
          skill: oneOrMatcher(text()).optional().describe("whose tool it is"),
          audience: oneOrMatcher(text()).optional().describe("who would read it: team or public"),
          held: oneOrMatcher(text()).optional().describe("why it is planned although writes are allowed"),
          input: json().optional().describe("by the keys that are named here"),
        }),
      )
      .optional()
      .describe("each of these writes was planned; empty: none was"),
    evidence: z
      .strictObject({
        claims: amount().optional().describe("before any is taken out"),
        supported: amount().optional().describe("claims that a result shows"),
        dropped: amount().optional().describe("claims that were taken out"),
        cites: amount().optional().describe("quotes of results, before any is taken out"),
        held: amount().optional().describe("quotes that stand in the result that they name"),
      })
      .optional()
      .describe("counts of claims and their quotes, over all nodes"),
    cost_usd: amount().optional().describe("of a recording: what it cost when it was recorded"),
    tokens: amount().optional().describe("input and output"),
    prompts: z.literal("unchanged").optional().describe("against the recording"),
  }),
);
export type Expected = Fitting<typeof expected>;

const testCase = lazy(() =>
  z.strictObject({
    name: text().describe("told in its line; no two cases share one"),
    input: z
      .union([z.string().regex(/^@./, 'must be a map, or "@file"'), jsonObject()])
      .optional()
      .describe('the run\'s input: a map, or "@file"; default: empty'),
    writes: writes().optional().describe("in place of the file's"),
    fixtures: live().optional(),
    approvals: approvals().optional(),
    expect: expected().optional().describe("what has to come of it"),
  }),
);
export type TestCase = Fitting<typeof testCase>;

export const testFileSchema = lazy(() =>
  z.strictObject({
    workflow: text().describe("its file; paths start from the test's own"),
    model: text().optional().describe("script:FILE, replay:FILE, or provider:name"),
    writes: writes().optional().describe("default: what the workflow and the project say"),
    fixtures: live().optional(),
    tools: z
      .record(z.string(), z.array(fixture()))
      .optional()
      .describe("a tool's name as the model sees it -> rows: the first that fits answers"),
    cases: z.array(testCase()).min(1).describe("run one after another, each by itself"),
  }),
);
export type TestFile = Fitting<typeof testFileSchema>;
