import type { DiagnosticCode } from "../diagnostic.ts";
import type { Explanation } from "./explanation.ts";

const TOOLS_EXAMPLE = {
  wrong: `[
  {
    "name": "count_words",
    "description": "Counts the words of a text.",
    "parameters": { "type": "object", "properties": { "text": { "type": "string" } } }
  }
]`,
  right: `[
  {
    "name": "count_words",
    "description": "Counts the words of a text.",
    "parameters": { "text": { "type": "string", "description": "The text" } }
  }
]`,
};

/** Findings about the tools of a skill and the manifests that describe them; most of them come from `skills lint`. */
export const TOOL_CODES = {
  MANIFEST_UNREADABLE: {
    what: "A manifest of a skill (tools.json, execution.json, contract.yml, binding.yml or skill.toml) is missing, or is no JSON, YAML or TOML.",
    mend: "Look at the line and column: the text ends being valid there. JSON takes no comments and no comma before a closing bracket.",
  },
  MANIFEST_FIELD: {
    what: "A field of a manifest is missing or has a value of another type than the format asks for.",
    mend: "Correct the field that the message names; `skillflow skills new ID --format FORMAT` writes a whole skill to compare with.",
  },
  MANIFEST_KEY_UNKNOWN: {
    what: "A manifest has a key that the format does not know: nobody reads it. An error in a contract and its binding, elsewhere a warning.",
    mend: "Correct the key, or take it out.",
  },
  TOOLS_SHAPE: {
    what: "tools.json is in neither of its two forms. Skill Tools has a list of tools. A tool descriptor has an object with `tools`, `allowlist` and `execution`, or a list with allowlist.json and execution.json beside it.",
    mend: "Use one form whole.",
  },
  TOOLS_INVALID: {
    what: "tools.json of Skill Tools is of no use as a whole: it is no JSON, or no list. The skill has no tools; its instructions stay.",
    mend: "Write a list of tools, even for one.",
  },
  TOOL_SKIPPED: {
    what: "One tool of a tools.json (Skill Tools) is left out; the rest of the skill stays.",
    why: "No name or description, a name that is taken or not allowed, a script outside of the folder, or parameters that nobody can read.",
    mend: "Mend what the message says; `skillflow skills lint PATH` tells all of it.",
  },
  TOOL_DOUBTFUL: {
    what: "A part of a tool of tools.json (Skill Tools) is passed over, and the tool stays.",
    why: "A parameter without description, an unknown type, an `enum` that is no list, a script that is not there yet, or an `origin`, `audience` or `reads` with an unknown value.",
    mend: "Mend what the message says: until then the model is told less than you wrote.",
  },
  TOOL_NAME: {
    what: "A tool of tools.json (Skill Tools) has no name, or one that is not allowed.",
    mend: "Begin with a lowercase letter; then lowercase letters, digits and underscores: `count_words`.",
  },
  TOOL_NAME_TWICE: {
    what: "Two tools of a tools.json (Skill Tools) have the same name; the second is left out.",
    mend: "Rename one of them.",
  },
  TOOL_NAME_SHARED: {
    what: "Another skill that was checked has a tool of this name (Skill Tools). A model sees both as `SKILL_TOOL`. At a node that lists both, the bare name in `tools.allow` and in evaluators means the tool of the skill that is listed first; in `tools.deny` it means both.",
    mend: "If a node lists both skills, write the full names there, as the hint gives them.",
  },
  TOOL_RESERVED: {
    what: "A tool has a name that skillflow itself uses, so it is left out; the rest of the skill stays.",
    why: "Reserved are `read_skill`, `read_blob`, `search_blob`, `read_result`, `run_script`, `run_code`, `define_tool`, `remove_tool`, `state_get`, `state_search` and `state_put`.",
    mend: "Rename the tool.",
  },
  TOOL_DESCRIPTION: {
    what: "A tool has no description, so a model cannot tell what it is for. An error in Skill Tools, a warning in a tool descriptor.",
    mend: "Say in one sentence what it does and what it gives.",
  },
  TOOL_SCHEMA: {
    what: "The input or output schema of a tool is no JSON Schema, so nobody could say whether a call fits. The tool is left out.",
    mend: "Correct the schema; drafts 2020-12 and 7 are taken.",
  },
  TOOL_PARAMETERS: {
    what: "The parameters of a tool (Skill Tools) are no map from name to `{type, description, enum?, optional?}`, so the tool is left out; or, as a warning, one is called `__workDir`, which the runtime adds itself.",
    why: "A JSON Schema was written, which is the form of other formats.",
    mend: "Write the schema's properties one by one, with `optional: true` where they are not required.",
    example: TOOLS_EXAMPLE,
  },
  PARAMETER_TYPE: {
    what: "A parameter (Skill Tools) has no type, which costs the tool, or one that is not known, which is a warning.",
    mend: "Use `string`, `number`, `boolean`, `object` or `array`.",
  },
  PARAMETER_DESCRIPTION: {
    what: "A parameter (Skill Tools) has no description, so a model has to guess what to give.",
    mend: "Say what it is, with its unit and form.",
  },
  PARAMETER_ENUM: {
    what: "The `enum` of a parameter (Skill Tools) is no list of values of the parameter's type.",
    mend: 'Write a list: `"enum": ["words", "lines"]`.',
  },
  PARAMETER_OPTIONAL: {
    what: "`optional` of a parameter (Skill Tools) is neither true nor false. The parameter counts as required.",
    mend: 'Write `"optional": true`, without quotes round `true`.',
  },
  TOOL_SCRIPT: {
    what: "The script of a tool (Skill Tools) is missing, leads out of the skill's folder, or is of a kind that nothing here runs.",
    mend: "Name a file in the folder, from the folder: `scripts/count.js`. Scripts in JavaScript, TypeScript, Python and for sh are run by their ending; any other has to be executable.",
  },
  TOOL_SCRIPT_PLACE: {
    what: "The script of a tool (Skill Tools) lies outside of scripts/. It works; the format wants it there.",
    mend: "Move it to scripts/.",
  },
  TOOL_HANDLER: {
    what: "The script of a tool (Skill Tools) has no handler: no default export in JavaScript or TypeScript, no function `handler(args)` in Python.",
    mend: "Export one function that takes the input as an object and returns the result.",
  },
  TOOL_VARIABLE: {
    what: "A script of the skill (Skill Tools) reads a variable that SKILL.md does not name. It does not get it by itself: a script sees `PATH`, `HOME`, `LANG`, `TMPDIR` and what its skill declares.",
    mend: "Name the variable in SKILL.md, and declare it below `config` or hand it over with `--skill-env ID=VARIABLE`.",
  },
  DESCRIPTOR_INVALID: {
    what: "A part of a tool descriptor (tools.json with `allowlist` and `execution`) is malformed. What it is about is left out.",
    mend: "Correct the entry that the message names; `skillflow skills new ID --format tool-descriptor` writes one that works.",
  },
  DESCRIPTOR_UNSUPPORTED: {
    what: "A tool descriptor asks for something that is not carried out: `denyResolveCommand` or `denyAlwaysResolve` together with a `denyPattern`. The entry is left out, because a value that is not looked up would pass where the pattern is to stop it.",
    mend: "Write a `denyPattern` that stops the value as it is given, and take the other key out.",
  },
  DESCRIPTOR_MISMATCH: {
    what: "The parts of a tool descriptor do not fit together: a tool without `execution`, with two of them or named twice, an `execution` without its tool, or a program or subcommand that the allowlist does not name. The tool is left out or fails when it is called.",
    mend: "Give each tool one execution entry, or several that differ by `paramCondition`, and name each program with its subcommands in `allowlist`.",
  },
  DESCRIPTOR_LAUNCHER: {
    what: "The allowlist of a tool descriptor names a program that runs any code its arguments name (sh, python, env, find), or a path in place of a program's name. It allows nearly everything.",
    mend: "Allow the program that does the work, by its bare name.",
  },
  ARGUMENT_FLAG: {
    what: "An argument of a tool descriptor has keys that do not count together, so a flag never reaches the program.",
    why: "`flagIfTrue` and `flagIfFalse` count with `kind: flagifboolean`, `flag` with `kind: flag` or `tempfile`. A `flag` is written without dashes.",
    mend: "Give the argument the `kind` that its keys belong to.",
  },
  ARGUMENT_PARAMETER: {
    what: "Arguments and parameters of a tool (tool descriptor) do not meet: an argument uses a parameter that the tool does not have, a positional one may be missing, or a parameter becomes no argument.",
    mend: "Make `param` the name of a property in `parameters`. List what is positional in `required`, or give the argument `optional: true` or an `absentDefault`.",
  },
  RESOLVE_COMMAND: {
    what: "The `resolveCommand` of an argument (tool descriptor) leads nowhere: its script is not in scripts/, or it has neither a script nor a binary with a subcommand.",
    mend: "Name a file in scripts/ without its folder, or an allowlisted `binary` and `subcommand`.",
  },
  CONTRACT_SHAPE: {
    what: "The contract is no map of fields.",
    mend: "Write `id`, `version`, `description`, `input` and `output`; `skillflow skills new ID --format contract` writes one that works.",
  },
  CONTRACT_DEFAULT: {
    what: "A `default` in a contract's input or output does not fit the schema that it stands in. It would be filled in and then refused.",
    mend: "Correct the default or the schema.",
  },
  BINDING_MISSING: {
    what: "Nothing carries the contract out: there is no binding.yml beside it. The skill is unavailable.",
    mend: "Write a binding.yml with exactly one of `function`, `command`, `tool`, `mcp` and `a2a`.",
  },
  BINDING_TARGET: {
    what: "What a contract is bound to is not there: its file exports nothing of that name, or no skill has the id.",
    mend: "Correct `function: ./FILE#EXPORT` or `tool: SKILL/TOOL` in the binding.",
  },
  PACKAGE_RUNTIME: {
    what: "The `[runtime]` of a skill.toml (Skills Protocol) does not fit: a skill of kind `instruction` has none, and the entry point of an `action` has to hold the function that `export` names.",
    mend: "Take `[runtime]` out of an instruction; correct `export` or the entry point of an action.",
  },
  MODULE_EXPORT: {
    what: "A skill as code exports nothing by default, so there is no skill to load.",
    mend: "`export default defineSkill({ id, name, description, category, config, tools })`",
  },
  MODULE_ID: {
    what: "The id of a skill as code does not stand in its file as plain text, so it cannot be known before the code runs. A warning where it is computed, an error where there is none.",
    mend: 'Write `id: "NAME"` as a literal.',
  },
  MODULE_DEFINITION: {
    what: "What the text of a skill as code says is refused when it is loaded: a field that is missing or wrong, two tools of one name, or a schema that is none.",
    mend: "Correct what the message names. Nothing was run to find it.",
  },
  MODULE_UNREADABLE: {
    what: "The file of a skill as code cannot be read.",
    mend: "Put the file itself in the folder, as UTF-8, in place of a link that leads out of it.",
  },
} as const satisfies Partial<Record<DiagnosticCode, Explanation>>;
