import type { DiagnosticCode } from "../diagnostic.ts";
import type { Explanation } from "./explanation.ts";

/** Findings about a workflow's document: its text, its graph and what strangers may steer in it. */
export const WORKFLOW_CODES = {
  IO: {
    what: "The workflow's file cannot be read. It is missing, a directory, a binary file, no UTF-8 text, or larger than 5 MB.",
    mend: "Check the path from the directory you are in. Save the file as UTF-8.",
  },
  PARSE: {
    what: "The text is neither YAML 1.2 nor JSON. Nothing else of the file was checked.",
    why: "A tab in the indentation, a bracket or quote that is not closed, a key that stands twice, or a plain value that holds `: ` or begins with `@`, `*` or `%`.",
    mend: "Look at the line and column, and at the line before. Put quotes round text that holds punctuation.",
    example: {
      wrong: "description: Look at this: the deploy broke",
      right: 'description: "Look at this: the deploy broke"',
    },
  },
  SCHEMA: {
    what: "A field is missing, unknown, or has a value that the workflow format does not allow.",
    why: "A typing error in a key, a list where a text belongs, or a field at the wrong level. Unknown keys are accepted at the top of the document and nowhere below.",
    mend: "Correct the field that the message names. `skillflow schema workflow` prints the whole format as a JSON Schema, for editors too.",
    example: {
      wrong: "nodes:\n  look: { name: Look, instructions: Find out what broke. }",
      right: "nodes:\n  look: { name: Look, instruction: Find out what broke. }",
    },
  },
  MISSING_ENTRY: {
    what: "`entry` names a node that does not exist, so a run could not begin.",
    mend: "Set `entry` to the id of a node: its key below `nodes`, not its `name`.",
    example: { wrong: "entry: Look", right: "entry: look" },
  },
  UNKNOWN_EDGE_SOURCE: {
    what: "An edge's `from` names a node that does not exist.",
    why: "The node was renamed or removed, or the edge uses the node's `name` in place of its id.",
    mend: "Use the node's key below `nodes`, or remove the edge.",
    example: { wrong: "edges:\n  - { from: lok, to: file }", right: "edges:\n  - { from: look, to: file }" },
  },
  UNKNOWN_EDGE_TARGET: {
    what: "An edge's `to` names a node that does not exist.",
    why: "The node was renamed or removed, or the edge uses the node's `name` in place of its id. A run ends by having no edge to follow; there is no node `end`.",
    mend: "Use the node's key below `nodes`, or remove the edge.",
    example: {
      wrong: "edges:\n  - { from: look, to: file }\n  - { from: file, to: end }",
      right: "edges:\n  - { from: look, to: file }",
    },
  },
  UNREACHABLE_NODE: {
    what: "No chain of edges leads from `entry` to this node, so it could never be visited.",
    mend: "Add an edge to it, or remove the node.",
    example: { wrong: "edges: []", right: "edges:\n  - { from: look, to: file }" },
  },
  SELF_LOOP: {
    what: "An edge leads from a node to itself without a bound, so a run might never end.",
    mend: "Give the edge `max_iterations`. To repeat a node until its answer is good enough, use `eval` and `retry` at the node.",
    example: {
      wrong: "edges:\n  - { from: look, to: look, when: the cause is still unknown }\n  - { from: look, to: file }",
      right:
        "edges:\n  - { from: look, to: look, when: the cause is still unknown, max_iterations: 2 }\n  - { from: look, to: file }",
    },
  },
  UNBOUNDED_CYCLE: {
    what: "Edges lead round in a circle and none of them has a bound, so a run might never end.",
    mend: "Give one edge of the circle `max_iterations`, usually the one that leads back.",
    example: {
      wrong: "edges:\n  - { from: look, to: file }\n  - { from: file, to: look, when: facts are missing }",
      right:
        "edges:\n  - { from: look, to: file }\n  - { from: file, to: look, when: facts are missing, max_iterations: 1 }",
    },
  },
  AMBIGUOUS_EDGES: {
    what: "A node has two edges with neither `if` nor `when`. Only one edge can be the default, so the second could never be followed.",
    mend: "Give all but one of them a condition. Edges are alternatives: a run follows one of them.",
    example: {
      wrong: "edges:\n  - { from: look, to: file }\n  - { from: look, to: look, max_iterations: 1 }",
      right:
        "edges:\n  - { from: look, to: file }\n  - { from: look, to: look, when: it is unclear, max_iterations: 1 }",
    },
  },
  EDGE_ALWAYS: {
    what: "The `!=` of an edge always holds: the data there never has the value that it excludes.",
    why: "A typing error in the value, or a value that was removed from the `enum` in `output`.",
    mend: "Correct the value. To follow the edge always, remove its `if`.",
    example: {
      wrong: `nodes:
  look:
    name: Look
    instruction: Find out what broke.
    output: { type: object, properties: { kind: { enum: [load, leak] } } }
edges:
  - { from: look, to: file, if: look.kind != lod }`,
      right: `nodes:
  look:
    name: Look
    instruction: Find out what broke.
    output: { type: object, properties: { kind: { enum: [load, leak] } } }
edges:
  - { from: look, to: file, if: look.kind != load }`,
    },
  },
  EDGE_NEVER: {
    what: "The `if` of an edge can never hold: the data there never has such a value, by the node's `output` or its kind.",
    why: "A word that is not in the `enum`, or a comparison of numbers with a field that is text.",
    mend: "Correct the condition, or the declared `output`.",
    example: {
      wrong: `nodes:
  look:
    name: Look
    instruction: Find out what broke.
    output: { type: object, properties: { kind: { enum: [load, leak] } } }
edges:
  - { from: look, to: file, if: look.kind = outage }`,
      right: `nodes:
  look:
    name: Look
    instruction: Find out what broke.
    output: { type: object, properties: { kind: { enum: [load, leak] } } }
edges:
  - { from: look, to: file, if: look.kind = leak }`,
    },
  },
  EDGE_SHADOWED: {
    what: "An earlier edge of the same node is taken wherever this edge's `if` holds, so this one never is.",
    why: "Edges are tried in the order of the document, and the first `if` that holds decides.",
    mend: "Put the narrower condition first, or remove the edge.",
    example: {
      wrong:
        "edges:\n  - { from: look, to: file, if: look.score >= 3 }\n  - { from: look, to: look, if: look.score >= 8, max_iterations: 1 }",
      right:
        "edges:\n  - { from: look, to: look, if: look.score >= 8, max_iterations: 1 }\n  - { from: look, to: file, if: look.score >= 3 }",
    },
  },
  INNER_WORKFLOW: {
    what: "The workflow that a node runs cannot be used: its file is missing or broken, lies outside the project, runs itself, or is nested more than eight deep.",
    mend: "Give the path from the document's own folder, and keep the file inside the project. What the file itself lacks is told with its own place.",
    example: {
      wrong: "nodes:\n  file: { name: File, map: { over: input.list, as: it }, workflow: ../elsewhere/file.yml }",
      right:
        "nodes:\n  file:\n    name: File\n    map: { over: input.list, as: it }\n    entry: each\n    nodes: { each: { name: Each, instruction: File it. } }\n    edges: []",
    },
  },
  UNKNOWN_PATH_ROOT: {
    what: "A path begins with what is neither a node, nor `input`, nor `skills`. Nothing ever stands there.",
    why: "A node was renamed, or the path leaves the node's id out. `once`, `verdict` and `report` do not take `skills`, and `cool_down` takes `input` alone. It is an error in `if`, `verdict` and `cool_down`, else a warning.",
    mend: "Begin the path with the id of the node whose result is meant, or with `input`.",
    example: {
      wrong: "edges:\n  - { from: look, to: file, if: score >= 3 }",
      right: "edges:\n  - { from: look, to: file, if: look.score >= 3 }",
    },
  },
  UNKNOWN_PATH: {
    what: "A path names a field that the data there never has. The data of a node are its declared `output`, or those of its kind: an approval has `approved`, `by` and `note`, a map `items`, `left` and `failed`, a call `verdict` and `results`, and a node without `output` only `summary`.",
    why: "A field was renamed in `output`, there is a typing error, or a list is read without `[*]`. Nothing is reported where `output` is open: with `additionalProperties`, `patternProperties`, `$ref`, `allOf`, `anyOf` or `oneOf`.",
    mend: "Correct the path, or declare the field in `properties`. The executor's own fields (`error`, `skipped_reason`, `fail_soft`, `evals`, `summary`) need no declaration.",
    example: {
      wrong: `nodes:
  look:
    name: Look
    instruction: Find out what broke.
    output: { type: object, properties: { cause: { type: string } } }
edges:
  - { from: look, to: file, if: look.reason exists }`,
      right: `nodes:
  look:
    name: Look
    instruction: Find out what broke.
    output: { type: object, properties: { cause: { type: string } } }
edges:
  - { from: look, to: file, if: look.cause exists }`,
    },
  },
  RESERVED_NODE_ID: {
    what: "A node has an id that means something else in paths. `input` is the run's input and is refused; `skills` hides `skills.available` and `skills.missing`, which is a warning.",
    mend: "Give the node another id, and change the edges and paths that name it.",
    example: {
      wrong:
        "entry: input\nnodes:\n  input: { name: Input, instruction: Read the alert. }\nedges:\n  - { from: input, to: look }\n  - { from: look, to: file }",
      right:
        "entry: read\nnodes:\n  read: { name: Read, instruction: Read the alert. }\nedges:\n  - { from: read, to: look }\n  - { from: look, to: file }",
    },
  },
  DUPLICATE_EVALUATOR: {
    what: "Two evaluators of a node have the same `name`. Paths such as `look.evals.NAME` see the last one alone.",
    mend: "Give each evaluator of the node a name of its own.",
  },
  UNSUPPORTED_EVAL_POLICY: {
    what: "`eval_policy` is `any_pass` or `weighted`. Both words are reserved and not carried out.",
    mend: "Leave `eval_policy` out or set it to `all_pass`: every evaluator has to pass.",
    example: {
      wrong: "nodes:\n  look: { name: Look, instruction: Find out what broke., eval_policy: any_pass }",
      right: "nodes:\n  look: { name: Look, instruction: Find out what broke., eval_policy: all_pass }",
    },
  },
  JUDGE_BUDGET: {
    what: "More judge calls may be needed than `judge_budget` says (50 without it). Each judge counts once for each attempt of its node, and in the workflow of a map once for each item that the map may take.",
    why: "Many evaluators of kind `judge`, or a high `retry.max`.",
    mend: "Raise `judge_budget`, or replace judges by evaluators of kind `value`, `function` or `evidence`, which ask no model. It is a warning; what a run may spend is bounded by `limits`.",
  },
  INVALID_OUTPUT_SCHEMA: {
    what: "The `output` of a node is no valid JSON Schema, so no answer could be checked by it.",
    why: "A type that JSON Schema does not have, an empty `enum`, a `required` that is no list of names, or a `$ref` that leads nowhere.",
    mend: "Correct it. Drafts 2020-12 and 7 are taken; the types are `string`, `number`, `integer`, `boolean`, `object`, `array` and `null`.",
    example: {
      wrong: `nodes:
  look:
    name: Look
    instruction: Find out what broke.
    output: { type: object, properties: { cause: { type: text } } }`,
      right: `nodes:
  look:
    name: Look
    instruction: Find out what broke.
    output: { type: object, properties: { cause: { type: string } } }`,
    },
  },
  INVALID_INLINE_SKILL: {
    what: "A skill that the workflow defines itself, below `skills`, has neither an instruction nor an MCP server: it offers nothing.",
    mend: "Give it an `instruction`, or `mcp` with a `command` or a `url`. To use an installed skill, list its id at the node; it needs no entry here.",
    example: {
      wrong: "skills:\n  tone: { name: Tone }",
      right: "skills:\n  tone: { name: Tone, instruction: Write short and plain sentences. }",
    },
  },
  UNKNOWN_SKILL: {
    what: "A node lists a skill that nobody has. A run goes on without it and is `degraded`.",
    why: "A typing error, a skill's folder in a place where skills are not looked for, or a skill whose files could not be read.",
    mend: "`skillflow skills list` shows every skill that was found, and what was skipped. With `--require-skills` a run does not begin without it.",
    example: {
      wrong: "nodes:\n  look: { name: Look, instruction: Find out what broke., skills: [sentri] }",
      right: "nodes:\n  look: { name: Look, instruction: Find out what broke., skills: [sentry] }",
    },
  },
  UNKNOWN_STATE: {
    what: "A node names a state that the workflow does not declare.",
    why: "A typing error, or the declaration at the top of the document is missing.",
    mend: "Declare the state at the top of the document, or use the name that stands there.",
    example: {
      wrong:
        "state:\n  board: { keep: 90d }\nnodes:\n  look: { name: Look, instruction: Find out what broke., state: [bord] }",
      right:
        "state:\n  board: { keep: 90d }\nnodes:\n  look: { name: Look, instruction: Find out what broke., state: [board] }",
    },
  },
  UNKNOWN_TOOL: {
    what: "No tool of the node's skills has a name that `tools.allow`, `tools.deny` or a function evaluator uses. A denied tool stays offered then, an allowed one is missing, and an evaluator waits for a call that never comes.",
    why: "A typing error, a tool that was renamed, or its skill is not listed at the node. Nothing is said where a node's tools are known only once a server or code is opened.",
    mend: "Use the tool's full name, as models see it: `SKILL_TOOL`. `skillflow skills show ID` lists them.",
    example: {
      wrong: `nodes:
  file:
    name: File
    instruction: File an issue.
    skills: [linear]
    tools: { allow: [linear_create_isue] }`,
      right: `nodes:
  file:
    name: File
    instruction: File an issue.
    skills: [linear]
    tools: { allow: [linear_create_issue] }`,
    },
  },
  UNKNOWN_PROVIDER: {
    what: "The prefix of a model's name is no provider, and looks like one that was mistyped. The whole name is sent to the run's own provider, which will not know it.",
    mend: "Write `anthropic:NAME`, `openai:NAME` or `openai-compatible:NAME`, or the bare name for the run's own provider.",
    example: { wrong: "model: antropic:claude-sonnet-4-5", right: "model: anthropic:claude-sonnet-4-5" },
  },
  "taint.write_held": {
    what: "A node has tools that write at once, and text that strangers write gets to it. Whoever causes an alert could steer the write.",
    why: "The run's input brings text, a tool reads what strangers write, or the node comes after one that does.",
    mend: "Set `writes: plan`, so that a person approves each write with `skillflow apply`; or keep write tools from the node with `effects: read` or `tools`.",
    example: {
      wrong: "nodes:\n  file: { name: File, instruction: File an issue., skills: [linear] }",
      right: "writes: plan\nnodes:\n  file: { name: File, instruction: File an issue., skills: [linear] }",
    },
  },
  "taint.free_text_route": {
    what: "A model chooses the way on from a node by free text, and text that strangers write gets to that node. Whoever causes an alert could choose the way.",
    why: "An edge has `when`, and its node declares no field in `output`.",
    mend: "Declare `output` with properties at the node: only these are shown where the way is chosen. Or let code choose with `if`.",
    example: {
      wrong: "edges:\n  - { from: look, to: file, when: something broke }",
      right: `nodes:
  look:
    name: Look
    instruction: Find out what broke.
    output: { type: object, properties: { broken: { type: boolean } }, required: [broken] }
edges:
  - { from: look, to: file, if: look.broken = true }`,
    },
  },
  "taint.private_to_public": {
    what: "A node can write where all the world reads, and text of a private source (telemetry, code, trackers) gets to it. Under `writes: plan` it is a note: a person sees each write first.",
    why: "A tool with `audience: public`, or one that cannot tell before the call (GitHub's writes ask at each call), at or after a node with a private source.",
    mend: "Keep the write, or the private source, from the node with `effects: read` or `tools`. Without that a run plans such a write in any mode and takes addresses and tokens out; `--allow-public` lifts that.",
    example: {
      wrong: `nodes:
  look: { name: Look, instruction: Find out what broke., skills: [datadog] }
  file: { name: File, instruction: File an issue., skills: [github] }`,
      right: `nodes:
  look: { name: Look, instruction: Find out what broke., skills: [datadog] }
  file: { name: File, instruction: Find the commit., skills: [github], effects: read }`,
    },
  },
  "taint.state": {
    what: "A node puts into a state what later runs read, and text that strangers write gets to it. Whoever causes an alert could leave words there for later runs.",
    why: "`state` at the node, and an input that brings text, a tool that reads what strangers write, or such a node before it.",
    mend: "Let a node put that text from outside does not get to, or keep `state_put` from it: `effects: read`, or `tools: { deny: [state_put] }`. Entries of such nodes are marked, told to models as such, and never count as evidence.",
    example: {
      wrong: `state: { board: {} }
nodes:
  look: { name: Look, instruction: Find out what broke., skills: [sentry], state: [board] }`,
      right: `state: { board: {} }
nodes:
  look: { name: Look, instruction: Find out what broke., skills: [sentry], state: [board], effects: read }`,
    },
  },
  "secret.in_document": {
    what: "The value of a secret (of a variable, or of a credential file in the checkout) stands in the workflow. Models see the workflow and every run records it: its own text is not redacted.",
    mend: "Take it out, and replace the secret where it is valid: it has been seen. A skill gets it as its config from the environment; a header of an MCP server names it as `${VARIABLE}`.",
  },
} as const satisfies Partial<Record<DiagnosticCode, Explanation>>;
