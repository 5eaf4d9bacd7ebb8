import * as z from "zod";
import { PATH_PATTERN } from "./path.ts";
import { AUDIENCES, ORIGINS, SOURCES } from "./skill.ts";
import { DURATION_PATTERN, type Fitting, type JsonSchema, lazy } from "./values.ts";

/** The workflow document (workflow-format), declared once: type, validator and published schema. */

/** How a document is parsed: a process reads few, and compiling validators would take longer than they save. */
export const PARSED_ONCE = { jitless: true } as const;

const text = lazy(() => z.string().min(1));
const flag = lazy(() => z.boolean());
const positive = lazy(() => z.int().min(1));
const strings = lazy(() => z.array(z.string()));
const schemaObject = lazy((): z.ZodType<JsonSchema> => z.record(z.string(), z.json()));

export const durationSchema = lazy(() =>
  z
    .union([
      z.number().positive(),
      z.string().regex(DURATION_PATTERN, "is no duration: use seconds, or 500ms, 90s, 10m, 2h, 14d"),
    ])
    .describe("seconds, or 500ms, 90s, 10m, 2h, 14d"),
);

export const pathSchema = lazy(() =>
  z
    .string()
    .regex(PATH_PATTERN, "is no path: [all:|any:]key(.key)*, where a key may end in [*]")
    .describe("[all:|any:]segment(.segment)*; a segment may end in [*]"),
);

const sourceSchema = lazy(() =>
  z
    .union([
      text(),
      z.strictObject({ inline: text().describe("the text itself, also where it looks like a path") }),
      z.strictObject({ file: text().describe("a file, from the document's folder, inside the project") }),
      z.strictObject({
        url: text().describe("an address that is fetched once, when the run begins"),
        type: z.literal("fetch").optional().describe("the same, said"),
      }),
    ])
    .describe("text, or a ./path, an https:// address, {inline}, {file} or {url}"),
);
export type Source = Fitting<typeof sourceSchema>;
const sources = lazy(() => z.array(sourceSchema()));

const nodeSources = lazy(() =>
  z.union([
    sources(),
    z.strictObject({
      only: flag().optional().describe("true: those of the workflow are left out here"),
      sources: sources().describe("in their order"),
    }),
  ]),
);
export type NodeSources = Fitting<typeof nodeSources>;

const COMPARISONS = ["equals", "in", "matches", "at_least", "at_most"] as const;
const outputMatch = lazy(() =>
  z
    .strictObject({
      path: pathSchema().describe("what is compared"),
      equals: z.json().optional().describe("the value, deeply"),
      in: z.array(z.json()).optional().describe("one of these values"),
      matches: z.string().optional().describe("a pattern (ECMAScript), which has one second"),
      at_least: z.number().optional().describe("a number that is not smaller"),
      at_most: z.number().optional().describe("a number that is not larger"),
      not: z
        .literal(true)
        .optional()
        .describe("turns the comparison round; a path that leads nowhere fails either way"),
    })
    .refine(
      (match) => COMPARISONS.filter((test) => match[test] !== undefined).length === 1,
      "needs exactly one of equals, in, matches, at_least and at_most",
    )
    .meta({ oneOf: anyRequired(COMPARISONS) }),
);
export type OutputMatch = Fitting<typeof outputMatch>;

const checks = lazy(() => ({
  output_required: z.array(pathSchema()).min(1).optional().describe("paths at which something other than null stands"),
  output_matches: z.array(outputMatch()).min(1).optional().describe("comparisons, all of which hold"),
}));
const checkNames = ["output_required", "output_matches"];

const requires = lazy(() =>
  z
    .strictObject({
      ...checks(),
      on_fail: z.enum(["fail", "skip"]).optional().describe("what becomes of the node; default fail"),
    })
    .refine(...atLeastOne(checkNames))
    .meta({ anyOf: anyRequired(checkNames) }),
);
export type Requires = Fitting<typeof requires>;

const valueRule = lazy(() =>
  z
    .strictObject(checks())
    .refine(...atLeastOne(checkNames))
    .meta({ anyOf: anyRequired(checkNames) }),
);
export type ValueRule = Fitting<typeof valueRule>;

export const conditionSchema = lazy(() =>
  z
    .union([z.string().regex(/\S/, "is empty: write PATH = VALUE"), valueRule()])
    .describe("a value rule, or PATH = VALUE, !=, >=, <=, PATH in [A, B], PATH exists"),
);
export type Condition = Fitting<typeof conditionSchema>;

const tools = lazy(() => z.array(text()).min(1).optional());
const functionNames = ["any_tool_called", "all_tools_called", "no_tool_called"];
const functionRule = lazy(() =>
  z
    .strictObject({
      any_tool_called: tools().describe("one of these was called with success"),
      all_tools_called: tools().describe("each of these was called with success"),
      no_tool_called: tools().describe("none of these was called"),
    })
    .refine(...atLeastOne(functionNames))
    .meta({ anyOf: anyRequired(functionNames) }),
);
export type FunctionRule = Fitting<typeof functionRule>;

const evidenceRule = lazy(() =>
  z.strictObject({
    claims: pathSchema().describe("the claims in the result data, such as claims[*]"),
    cites: pathSchema().optional().describe("what a claim cites, from the claim; default evidence[*]"),
    ref: pathSchema().optional().describe("a cite's reference, from the cite; default ref"),
    quote: pathSchema().optional().describe("its quote of that result; default quote"),
    independent: flag().optional().describe("a claim wants a cite of a tool whose origin is team"),
    min_supported: z.int().min(0).optional().describe("default 1"),
  }),
);
export type EvidenceRule = Fitting<typeof evidenceRule>;

const evaluatorName = lazy(() => text().describe("unique at the node; paths see its result by it"));
const evaluator = lazy(() =>
  z.discriminatedUnion("kind", [
    z.strictObject({
      name: evaluatorName(),
      kind: z.literal("value").describe("the result data hold what the rule says"),
      rule: valueRule().describe("paths begin in the node's own data"),
    }),
    z.strictObject({
      name: evaluatorName(),
      kind: z.literal("function").describe("which tools were called"),
      rule: functionRule().describe("names as the model sees them, or as their skill has them"),
    }),
    z.strictObject({
      name: evaluatorName(),
      kind: z.literal("evidence").describe("every claim cites results of this run, and code has looked there"),
      rule: evidenceRule().describe("where claims, cites, references and quotes stand"),
      on_unsupported: z
        .enum(["fail", "drop", "mark"])
        .optional()
        .describe("claims that no result supports: fail the evaluation (default), are taken out, or are marked"),
    }),
    z.strictObject({
      name: evaluatorName(),
      kind: z.literal("judge").describe("a model says whether the answer holds, without tools"),
      rubric: text().describe("what is asked about the answer"),
      pass_when: z
        .string()
        .regex(/^\S+$/, "is one word without white space")
        .optional()
        .describe("the judge's word that passes; default yes"),
      model: text().optional().describe("which judges; default the node's judge_model"),
    }),
  ]),
);
export type Evaluator = Fitting<typeof evaluator>;
export type EvidenceEvaluator = Extract<Evaluator, { kind: "evidence" }>;

const retry = lazy(() =>
  z.strictObject({
    max: positive().describe("further attempts after a failed evaluation"),
    instruction: z
      .union([
        text(),
        z.strictObject({ auto: z.literal(true).describe("a model says what to do otherwise") }),
        z.strictObject({ reflect: text().describe("the same, asked in these words") }),
      ])
      .optional()
      .describe("said to the next attempt beside what failed"),
  }),
);
export type Retry = Fitting<typeof retry>;

const filterNames = ["allow", "deny"];
const toolFilter = lazy(() =>
  z
    .strictObject({
      allow: z.array(text()).min(1).optional().describe("these tools of its skills and no other"),
      deny: z.array(text()).min(1).optional().describe("all but these, whatever allow says"),
    })
    .refine(...atLeastOne(filterNames))
    .meta({ anyOf: anyRequired(filterNames) }),
);

const edge = lazy(() =>
  z.strictObject({
    from: z.string().describe("a node"),
    to: z.string().describe("a node"),
    if: conditionSchema().optional(),
    when: z
      .string()
      .optional()
      .describe("in words, judged by the model without tools; neither if nor when: the default"),
    max_iterations: positive().optional().describe("how often a run may follow it; a cycle needs it"),
  }),
);
export type Edge = Fitting<typeof edge>;

const unseenSchema = lazy(() =>
  z.strictObject({
    state: text().describe("the declared state that knows which items were judged"),
    within: durationSchema()
      .optional()
      .describe("how long a judgement holds; default for as long as its entry is kept"),
    unless_changed: z
      .array(pathSchema())
      .min(1)
      .optional()
      .describe("values of the item that are judged anew once they changed, such as issue.level"),
  }),
);

const mapSchema = lazy(() =>
  z
    .strictObject({
      over: pathSchema().describe("the list: of an earlier node's data, or of the input"),
      as: z
        .string()
        .regex(/^[A-Za-z_][A-Za-z0-9_-]*$/, "is no name: letters, digits, _ and -")
        .describe("what the item is called: input.NAME inside"),
      key: pathSchema()
        .optional()
        .describe("a stable name of the item, such as issue.fingerprint; default its position"),
      max_items: positive().optional().describe("what is beyond is left for the next run; default 100"),
      concurrency: positive().optional().describe("how many are under way at once; default 1"),
      on_error: z
        .enum(["fail", "collect", "skip"])
        .optional()
        .describe("an item that fails: begins no further one, is kept as failed (default), or counts as skipped"),
      unseen: unseenSchema().optional().describe("leaves out what was judged before and has not changed"),
    })
    .refine((map) => map.unseen === undefined || map.key !== undefined, "unseen needs key")
    .meta({ dependentRequired: { unseen: ["key"] } }),
);
export type MapSettings = Fitting<typeof mapSchema>;

const approvalSchema = lazy(() =>
  z.strictObject({
    ask: sourceSchema().describe("what is asked, word for word"),
    of: z.literal("plan").optional().describe("the writes planned so far are what is approved, and no others"),
    timeout: durationSchema().optional().describe("how long the run waits; default for ever"),
    on_timeout: z.enum(["fail", "deny"]).optional().describe("what no answer in time counts as; default fail"),
  }),
);

/** Of an item of a map, or of a call. */
const innerLimits = lazy(() => workflowLimitsSchema().omit({ per_day: true }));

/** What a node is, by the field that says so, and which other fields it may have. */
const ONE_OF = ["instruction", "map", "call", "approval"] as const;
const AROUND = ["name", "requires", "output", "eval", "limits", "timeout", "fail_soft", "with"];
const FIELDS_OF: Readonly<Record<Exclude<(typeof ONE_OF)[number], "instruction">, readonly string[]>> = {
  map: ["map", "workflow", "nodes", "edges", "entry", ...AROUND],
  call: ["call", ...AROUND],
  approval: ["approval", "name", "requires"],
};
const INNER_ONLY = ["workflow", "nodes", "edges", "entry", "with", "limits"];

function kindOf(fields: object): (typeof ONE_OF)[number] | undefined {
  const [only, ...others] = ONE_OF.filter((kind) => kind in fields && Reflect.get(fields, kind) !== undefined);
  return others.length === 0 ? only : undefined;
}

function checkKind(fields: object, refuse: (problem: { path: string[]; message: string }) => void): void {
  const kind = kindOf(fields);
  if (kind === undefined) {
    const told = ONE_OF.filter((field) => field in fields);
    if (told.length > 1) refuse({ path: [told[1] ?? ""], message: `a node has one of ${ONE_OF.join(", ")}` });
    else refuse({ path: ["instruction"], message: `is missing: a node has one of ${ONE_OF.join(", ")}` });
    return;
  }
  for (const field of Object.keys(fields)) {
    const isFitting = kind === "instruction" ? !INNER_ONLY.includes(field) : FIELDS_OF[kind].includes(field);
    if (!isFitting) refuse({ path: [field], message: `is no field of a node with ${kind}` });
  }
  if (kind !== "map") return;
  const isInline = "nodes" in fields;
  if (isInline === "workflow" in fields)
    refuse({ path: ["map"], message: "needs workflow, or nodes, edges and entry" });
  for (const field of ["edges", "entry"]) {
    if (isInline && !(field in fields)) refuse({ path: [field], message: "is missing beside nodes" });
    if (!isInline && field in fields) refuse({ path: [field], message: "needs nodes beside it" });
  }
}

/** As JSON Schema says it. */
const kindsMeta = () => ({
  oneOf: ONE_OF.map((kind) => ({ required: [kind] })),
  allOf: [
    ...Object.entries(FIELDS_OF).map(([kind, fields]) => ({
      if: { required: [kind] },
      // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema.
      then: { propertyNames: { enum: [...new Set(fields)] } },
    })),
    {
      if: { required: ["instruction"] },
      // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema.
      then: { propertyNames: { not: { enum: INNER_ONLY } } },
    },
    {
      if: { required: ["map"] },
      // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema.
      then: { oneOf: [{ required: ["workflow"] }, { required: ["nodes", "edges", "entry"] }] },
    },
  ],
  dependentRequired: { nodes: ["edges", "entry"], edges: ["nodes"], entry: ["nodes"] },
});

const plainNode = lazy(() =>
  z.strictObject({
    name: text().describe("what people call it"),
    instruction: sourceSchema().optional().describe("what the model is to do here, word for word"),
    map: mapSchema().optional().describe("runs a workflow for each item of a list"),
    call: text().optional().describe("runs another workflow: its file, from the document's folder, inside the project"),
    approval: approvalSchema().optional().describe("waits for a person's word: skillflow signal"),
    workflow: text().optional().describe("of a map: the file of the workflow that each item runs through"),
    entry: text().optional().describe("of a map with nodes: the one that an item begins with"),
    edges: z.array(edge()).optional().describe("of a map with nodes: the ways between them"),
    with: z
      .record(z.string(), z.json())
      .optional()
      .describe("of a map or call: the inner input; {{path}} stands for what is there, a lone one keeps its type"),
    limits: innerLimits().optional().describe("of a map's item, or of a call: reaching one fails it, the run goes on"),
    skills: strings()
      .optional()
      .describe("ids of the skills whose tools and instructions the model has here; id@range for a version"),
    output: schemaObject().optional().describe("JSON Schema of the result data"),
    max_turns: positive().optional().describe("model invocations of one attempt"),
    model: text().optional().describe("which works here; default the workflow's"),
    judge_model: text().optional().describe("which judges here; default the workflow's"),
    disallowed_tools: z.array(text()).optional().describe("the executor's own tools that are not offered here"),
    tools: toolFilter().optional().describe("which tools of its skills are offered; default all"),
    fail_soft: flag()
      .optional()
      .describe(
        "true: a turn cap or a fault of model or tools counts as success, with fail_soft and error in the data",
      ),
    rules: nodeSources().optional().describe("what must be followed, beside the workflow's rules"),
    context: nodeSources().optional().describe("what is good to know, beside the workflow's context"),
    requires: requires().optional().describe("what must stand in the input and earlier results before the node begins"),
    eval: z.array(evaluator()).min(1).optional().describe("how its answer is checked; all have to pass"),
    eval_policy: z
      .enum(["all_pass", "any_pass", "weighted"])
      .meta({ enum: ["all_pass"], description: "any_pass and weighted are reserved" })
      .optional(),
    retry: retry().optional().describe("what happens after a failed evaluation"),
    effects: z.enum(["read", "write"]).optional().describe("read: no tool that writes is offered"),
    state: z
      .array(text())
      .min(1)
      .optional()
      .describe("declared states that the model may read and write here: state_get, state_search, state_put"),
    once: pathSchema()
      .optional()
      .describe("the key of the finding that its writes tell of: it is applied once, however worded"),
    timeout: durationSchema()
      .optional()
      .describe("of one attempt, tools included: seconds, or 500ms, 90s, 10m, 2h, 14d"),
  }),
);
type PlainNode = Fitting<typeof plainNode>;
export interface WorkflowNode extends PlainNode {
  readonly nodes?: { readonly [id: string]: WorkflowNode } | undefined;
}

const node = lazy(
  (): z.ZodType<WorkflowNode> =>
    plainNode()
      .extend({
        nodes: z
          .record(
            z.string(),
            z.lazy(() => node()),
          )
          .optional()
          .describe("of a map: the workflow that each item runs through, written here"),
      })
      .superRefine((fields, context) =>
        checkKind(fields, (problem) => context.addIssue({ code: "custom", ...problem })),
      )
      .meta(kindsMeta()) as unknown as z.ZodType<WorkflowNode>,
);

/** What documents say of a tool beside its effect: whose texts it gives, and who reads what it writes. */
export const toolReach = () => ({
  origin: z.enum(ORIGINS).optional().describe("who writes what it gives; unknown counts as a stranger's"),
  audience: z.enum(AUDIENCES).optional().describe("who reads what it writes; default the team"),
  reads: z
    .enum(SOURCES)
    .optional()
    .describe("whether what it reads is private; the default for skills of the category git, observability or tasks"),
});

const stringMap = lazy(() => z.record(z.string(), z.string()));
const clientId = lazy(() => text().describe("the client's id at the authorization server"));
const mcpAuth = lazy(() => {
  const issuer = z
    .string()
    .regex(/^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/)
    .describe("the authorization server that is given the client's secret");
  const scopes = { scopes: strings().optional().describe("in place of those that the server asks for") };
  const variable = (what: string) => text().describe(`the name of the variable that holds ${what}`);
  return z
    .discriminatedUnion("type", [
      z.strictObject({
        type: z.literal("client_credentials").describe("a machine with a secret"),
        issuer,
        clientId: clientId(),
        secret: variable("the client's secret"),
        ...scopes,
      }),
      z.strictObject({
        type: z.literal("private_key_jwt").describe("a machine with a private key"),
        issuer,
        clientId: clientId(),
        key: variable("the client's private key, as PEM"),
        ...scopes,
      }),
      z
        .strictObject({
          type: z.literal("authorization_code").describe("a person, asked once in a browser"),
          issuer: issuer.optional(),
          clientId: text().optional().describe("without it, one is registered"),
          secret: variable("the client's secret").optional(),
          ...scopes,
        })
        .refine(({ secret, issuer }) => secret === undefined || issuer !== undefined, "secret needs issuer")
        .meta({ dependentRequired: { secret: ["issuer"] } }),
    ])
    .describe("OAuth 2.1 for a server at an address; counts in the user's file");
});

export const mcpServerSchema = lazy(() =>
  z
    .strictObject({
      type: z.enum(["stdio", "http"]).optional().describe("default: by whether there is a command or an url"),
      command: text().optional().describe("the program that is started"),
      args: strings().optional().describe("its arguments"),
      url: text().optional().describe("the address of a server that runs"),
      headers: stringMap().optional().describe("sent with each request; ${VARIABLE} stands for one that env declares"),
      env: stringMap().optional().describe("variables that it is given, each with what it is for"),
      effects: z
        .record(z.string(), z.enum(["read", "write"]))
        .optional()
        .describe("tool -> its effect, whatever the server says; read counts in the user's file"),
      ...toolReach(),
      auth: mcpAuth().optional(),
    })
    .refine(...atLeastOne(["command", "url"]))
    .meta({ anyOf: anyRequired(["command", "url"]) }),
);

const inlineSkill = lazy(() =>
  z
    .strictObject({
      name: z.string().optional().describe("what people call it; default its id"),
      description: z.string().optional().describe("what it is for"),
      instruction: z.string().optional().describe("what the model reads of it"),
      mcp: mcpServerSchema().optional().describe("the server whose tools it has"),
    })
    .meta({
      anyOf: [{ properties: { instruction: { pattern: "\\S" } }, required: ["instruction"] }, { required: ["mcp"] }],
    }),
);
export type InlineSkill = Fitting<typeof inlineSkill>;

const common = { description: z.string().optional().describe("what it is, for people and errors") };
const inputField = lazy(() =>
  z.discriminatedUnion("type", [
    inputOf("string", z.string(), z.string()),
    inputOf("number", z.number(), z.number()),
    inputOf("boolean", z.boolean(), z.boolean()),
    inputOf("string[]", strings(), strings()),
  ]),
);
export type InputField = Fitting<typeof inputField>;

function inputOf<Type extends string, Value extends z.ZodType, Allowed extends z.ZodType>(
  type: Type,
  value: Value,
  allowed: Allowed,
) {
  return z
    .strictObject({
      type: z.literal(type).describe("what its value is"),
      ...common,
      required: flag().optional().describe("true: a run without it does not begin"),
      default: value.optional().describe("its value where none is given"),
      enum: z.array(allowed).min(1).optional().describe("the values that it may have"),
    })
    .refine((field) => !(field.required && field.default !== undefined), "required excludes default")
    .meta({ not: { properties: { required: { const: true } }, required: ["required", "default"] } });
}

export const workflowLimitsSchema = lazy(() =>
  z.strictObject({
    max_cost_usd: z.number().positive().optional().describe("US dollars of model calls"),
    max_tokens: positive().optional().describe("tokens that models read and write"),
    max_steps: positive().optional().describe("node visits; default 200"),
    timeout: durationSchema().optional().describe("of the whole run: seconds, or 500ms, 90s, 10m, 2h, 14d"),
    per_day: z
      .strictObject({
        max_cost_usd: z.number().positive().optional().describe("US dollars of model calls of all its runs"),
        max_runs: positive().optional().describe("runs that begin"),
      })
      .optional()
      .describe("what all runs of the workflow may spend in a day (UTC), counted beside the states"),
  }),
);

/** What names a state: its file, too. */
export const STATE_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

const stateSchema = lazy(() =>
  z.strictObject({
    keep: durationSchema().optional().describe("how long an entry is kept after it was last seen; default for ever"),
    max_entries: positive().optional().describe("how many are kept, those last seen; default all"),
  }),
);
/** What a workflow remembers across its runs (extensions G30). */
export type StateDeclaration = Fitting<typeof stateSchema>;

const coolDown = lazy(() =>
  z.strictObject({
    for: durationSchema().describe("how long no second run of the same key does anything"),
    key: pathSchema().describe("what two runs have in common, such as input.fingerprint"),
  }),
);
export type CoolDown = Fitting<typeof coolDown>;

const reportSchema = lazy(() =>
  z.strictObject({
    headline: pathSchema().optional().describe("one line that says it all, such as assess.headline"),
    severity: pathSchema().optional().describe("how bad it is"),
    impact: pathSchema().optional().describe("who feels it, and how"),
    cause: pathSchema().optional().describe("file, line, commit and confidence beside it are shown with it"),
    action: pathSchema().optional().describe("the first step"),
  }),
);

const WORKFLOW_TYPES = ["pr_review", "e2e_test", "content_generation", "monitor", "data_sync", "generic"] as const;

/**
 * Unknown keys are accepted here and nowhere below (W11). What `meta` adds is checked apart from this schema
 * (`checkWorkflow`, W12) and told with codes of its own; the published schema says it too.
 */
export const workflowSchema = lazy(() =>
  z
    .looseObject({
      id: text().describe("names it to programs"),
      name: text().describe("what people call it"),
      description: z.string().optional().describe("what it is for"),
      entry: text().describe("the node that a run begins with"),
      nodes: z
        .record(z.string(), node())
        .meta({ propertyNames: { not: { const: "input" } }, description: "its places of work, by id" }),
      edges: z.array(edge()).describe("the ways between nodes; a node without one that is live ends the run"),
      skills: z.record(z.string(), inlineSkill()).optional().describe("skills of its own, by id"),
      rules: sources().optional().describe("what must be followed at every node"),
      context: sources().optional().describe("what is good to know at every node"),
      workflow_type: z
        .enum(WORKFLOW_TYPES)
        .optional()
        .describe("what kind of workflow it is, for catalogs; default generic"),
      model: text().optional().describe("which works; default: the provider whose key is set"),
      judge_model: text()
        .optional()
        .describe("which judges; default claude-haiku-4-5, or the run's model where there is no Claude"),
      judge_budget: z
        .int()
        .min(0)
        .optional()
        .describe("judge calls that are expected at most; beyond, validate warns; default 50"),
      inputs: z.record(z.string(), inputField()).optional().describe("the fields of its input"),
      verdict: pathSchema().optional().describe("where the run's verdict stands, such as assess.verdict"),
      report: reportSchema()
        .optional()
        .describe("where reports find what the run found; what is not there is left out"),
      writes: z
        .enum(["allow", "plan", "deny"])
        .optional()
        .describe("what becomes of calls that write: carried out, planned for review, or not offered; default allow"),
      limits: workflowLimitsSchema().optional().describe("what a run may spend"),
      state: z
        .record(z.string().regex(STATE_NAME), stateSchema())
        .optional()
        .describe("what it remembers across its runs: entries by key, in states by name"),
      cool_down: coolDown().optional().describe("a run of the same key within this time ends at once, skipped"),
    })
    .meta({ not: { required: ["verify"] } }),
);
export type Workflow = Fitting<typeof workflowSchema>;

function atLeastOne(names: readonly string[]): [(value: Record<string, unknown>) => boolean, string] {
  return [(value) => names.some((name) => value[name] !== undefined), `needs at least one of ${names.join(", ")}`];
}

function anyRequired(names: readonly string[]) {
  return names.map((name) => ({ required: [name] }));
}
