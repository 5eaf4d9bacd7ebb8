import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OPTIONS, type OptionRow } from "../src/app/options.ts";
import { githubJob, gitlabJob } from "../src/cli/commands/init/jobs.ts";
import { DIAGNOSTIC_THEMES, type Explained, explainCode, explainedCodes } from "../src/core/base/codes/explained.ts";
import { type OptionName, variableOf } from "../src/core/base/options.ts";
import { publishedSchemas } from "../src/core/outward/published.ts";
import {
  CATEGORIES,
  type Category,
  describeTools,
  type Skill,
  type Tool,
  wholeReach,
} from "../src/core/skill/skill.ts";
import { exposedName } from "../src/core/skill/tool-names.ts";
import { loadSkillModule } from "../src/loaders/formats/module/skill-module.ts";
import { codeSkill } from "../src/loaders/own/code.ts";
import { toolMakerSkill } from "../src/loaders/own/tool-maker.ts";
import { workspaceSkill } from "../src/loaders/own/workspace/skill.ts";
import { type FieldsOf, fieldsPage } from "./generate-fields.ts";

/** Writes the generated files that are checked in: schemas/, .env.example, examples/ and pages of docs/. */

const ROOT = join(import.meta.dirname, "..");

/** Returns the path and content of every generated file. */
export async function generatedFiles(): Promise<ReadonlyMap<string, string>> {
  const schemas = [...publishedSchemas()].map(([name, schema]) => {
    return [`schemas/${name}.json`, `${JSON.stringify(schema, undefined, 2)}\n`] as const;
  });
  const folders = await Promise.all(readdirSync(join(ROOT, "skills")).sort().map(loadSkill));
  const own = [...folders, codeSkill(noRegistry), toolMakerSkill()];
  // The settings of workspace count in no file of a checkout, so that .env.example leaves them out.
  const byId = (all: readonly Skill[]) => [...all].sort((a, b) => (a.id < b.id ? -1 : 1));
  const skills = byId([...own, workspaceSkill({})]);
  return new Map([
    ...schemas,
    [".env.example", envExample(byId(own))],
    ["src/core/skill/skill-variables.json", skillVariables(skills)],
    ["docs/skills.md", skillsPage(skills)],
    ["README.md", readme(folders)],
    ["docs/errors.md", errorsPage()],
    ["docs/options.md", optionsPage()],
    ["docs/fields.md", fieldsPage(writtenDocuments())],
    ...exampleJobs(),
  ]);
}

/** Returns the jobs that `init` writes for the shipped workflows. */
function exampleJobs(): [path: string, content: string][] {
  const triage = {
    workflow: "workflows/incident-triage.yml",
    key: "ANTHROPIC_API_KEY",
    reads: ["GITHUB_TOKEN", "SENTRY_AUTH_TOKEN"],
    writes: ["GITHUB_TOKEN", "SLACK_WEBHOOK_URL"],
  };
  const board = { ...triage, workflow: "workflows/board-triage.yml", state: "skillflow-state" };
  const review = { workflow: "workflows/review.yml", reads: [], writes: [] };
  return [
    ["examples/triage-on-github.yml", githubJob({ ...triage, startedBy: "alert" })],
    ["examples/schedule-on-github.yml", githubJob({ ...triage, startedBy: "schedule" })],
    ["examples/pull-request-on-github.yml", githubJob({ ...review, startedBy: "pull request" })],
    ["examples/triage-on-gitlab.yml", gitlabJob(triage)],
    ["examples/board-on-github.yml", githubJob({ ...board, startedBy: "schedule" })],
    ["examples/board-on-gitlab.yml", gitlabJob(board)],
  ];
}

const MODELS = `# Variables that skillflow reads. All are optional: a skill without its required variables is not used.
# Skillflow reads such a file only if you name it: skillflow run WORKFLOW --env-from .env
# The file must not contain SKILLFLOW_… or GIT_… variables. Set those in the environment.
# Secrets in a checkout's .env are always redacted: docs/safety.md, "Values of .env".

# Models: one is enough
#ANTHROPIC_API_KEY=
#OPENAI_API_KEY=
# Another server that speaks Chat Completions, for --model openai-compatible:NAME
#OPENAI_BASE_URL=
# Azure OpenAI, for --model azure:DEPLOYMENT. Bedrock and Vertex AI: docs/models.md, "Clouds"
#AZURE_OPENAI_ENDPOINT=
#AZURE_OPENAI_API_KEY=
# The default model, as in --model
#SKILLFLOW_MODEL=
# Limits of a run, as in --writes, --max-cost, --max-tokens, --max-steps and --timeout
#SKILLFLOW_WRITES=
#SKILLFLOW_MAX_COST=
#SKILLFLOW_MAX_TOKENS=
#SKILLFLOW_MAX_STEPS=
#SKILLFLOW_TIMEOUT=

# Verifies the requests of Slack, for skillflow listen
#SLACK_SIGNING_SECRET=

# The Sentry project that receives internal errors of skillflow (default: none)
#SENTRY_DSN=
`;

function noRegistry(): never {
  throw new Error("no tool is called here");
}

function loadSkill(id: string): Promise<Skill> {
  return loadSkillModule(join(ROOT, "skills", id, "skill.ts"));
}

function envExample(skills: readonly Skill[]): string {
  return [MODELS, ...skills.map(envSection)].filter((section) => section !== "").join("\n");
}

function envSection({ id, name, config }: Skill): string {
  const fields = Object.values(config).filter(({ env }) => env !== undefined && env !== "PATH");
  if (fields.length === 0) return "";
  const lines = fields.map(({ description, env, required, unless }) => {
    const needed = required ? ` (required${unless ? `, or ${unless}` : ""})` : "";
    return `# ${description}${needed}\n#${env}=\n`;
  });
  return `# ${name} (${id})\n${lines.join("")}`;
}

/** Lists the variables of the built-in skills, by whether their values are secret. */
function skillVariables(skills: readonly Skill[]): string {
  const fields = skills.flatMap(({ config }) => Object.entries(config));
  const named = (isReadable: boolean) =>
    [
      ...new Set(fields.flatMap(([key, field]) => ((field.secret === false) === isReadable ? [field.env ?? key] : []))),
    ].sort();
  return `${JSON.stringify({ readable: named(true), secret: named(false) }, undefined, 2)}\n`;
}

const TABLE = /(?<=^\| For \| Skills \|\n.*\n)[\s\S]*?(?=^\| What the program adds \|)/m;

const PURPOSES: Readonly<Record<Category, string>> = {
  git: "Code, changes, releases",
  observability: "Logs, metrics, traces, alerts, on call",
  tasks: "Issues",
  notification: "Messages",
  data: "Databases",
  general: "Other",
};

/** Returns the README with a row for each category. The last row, of skills that are not in skills/, is written by hand. */
function readme(skills: readonly Skill[]): string {
  const rows = CATEGORIES.map((wanted) => {
    const ids = skills.filter(({ category }) => category === wanted).map(({ id }) => `\`${id}\``);
    return `| ${PURPOSES[wanted]} | ${ids.join(", ")} |\n`;
  });
  return readFileSync(join(ROOT, "README.md"), "utf8").replace(TABLE, () => rows.join(""));
}

/** Skills that are not in skills/. Their requirements are no config fields. */
const OWN_ROWS = `| \`code\` | Runs Python that the model writes in a sandbox, also on results too large for a prompt | a Linux sandbox and Python |
| \`skills.protocol.guide\` | Explains to a model how to use a Skills Protocol server | nothing |
| \`tool-maker\` | Defines and removes tools during a run | \`--allow-define-tool\` |
| \`workspace\` | Reads, changes and tests the repository's code in a [private copy](workspace.md) | a git repository; for commands a Linux sandbox and \`WORKSPACE_COMMANDS\` |
`;

/** Returns a table of all skills, those without requirements first. */
function overview(skills: readonly Skill[]): string {
  const others = skills.filter(({ id }) => !OWN_ROWS.includes(`| \`${id}\` |`));
  const sorted = CATEGORIES.flatMap((wanted) => others.filter(({ category }) => category === wanted));
  const rows = sorted.map(({ id, description, config }) => {
    const needs = needsOf(Object.values(config));
    return { needs, row: `| \`${id}\` | ${cell(description.replace(/\.$/, ""))} | ${needs} |\n` };
  });
  rows.sort((a, b) => Number(b.needs === NOTHING) - Number(a.needs === NOTHING));
  const all = rows.map(({ row }) => row).join("");
  return `## All skills\n\n| Skill | What it does | Needs |\n| --- | --- | --- |\n${all}${OWN_ROWS}`;
}

function needsOf(fields: readonly Skill["config"][string][]): string {
  const required = fields.filter((field) => field.required);
  if (required.length > 0)
    return required.map(({ env, unless }) => `\`${env}\`${unless ? ` or \`${unless}\`` : ""}`).join(", ");
  return fields.some(({ secret }) => secret !== false) ? "one of several" : NOTHING;
}

const NOTHING = "nothing";

function skillsPage(skills: readonly Skill[]): string {
  const head = `# Skills

Generated from the skills by \`npm run generate\`. Tools have the names that the model sees and that
\`tools: { allow, deny }\` takes. Who wrote what a tool returns, who reads what it writes, and whether its source is private:
[Origin, audience and source](skill-formats.md#origin-audience-and-source).
`;
  return [head, overview(skills), ...skills.map(skillSection)].join("\n");
}

function skillSection(skill: Skill): string {
  const config = Object.entries(skill.config).map(([key, { description, env, required, unless }]) => {
    const needed = required ? (unless ? `yes, or \`${unless}\`` : "yes") : "no";
    return `| \`${env ?? key}\` | ${needed} | ${cell(description)} |`;
  });
  const tools = skill.tools.map((tool) => {
    const repeatable = tool.effect === "write" && tool.idempotent ? ", repeatable" : "";
    const name = exposedName(skill.id, tool.name);
    return `| \`${name}\` | ${tool.effect}${repeatable} | ${reachCells(skill, tool)} | ${cell(tool.description)} |`;
  });
  return [
    `## ${skill.name} (\`${skill.id}\`, ${skill.category})`,
    `${skill.description}`,
    ...(config.length > 0
      ? [["| Variable | Required | Description |", "| --- | --- | --- |", ...config].join("\n")]
      : []),
    [
      "| Tool | Effect | Origin | Audience | Reads | Description |",
      "| --- | --- | --- | --- | --- | --- |",
      ...tools,
    ].join("\n"),
    "",
  ].join("\n\n");
}

function reachCells(skill: Skill, tool: Tool): string {
  const [described] = describeTools(skill, [tool]);
  const { origin, audience = "", reads = "" } = described ? wholeReach(described) : {};
  return [origin, typeof tool.audience === "function" ? "decided per call" : audience, reads].join(" | ");
}

function writtenDocuments(): readonly FieldsOf[] {
  const schemas = publishedSchemas();
  return [
    {
      title: "Workflow",
      about:
        "A YAML or JSON file. How its parts work together: [a first workflow](../README.md#a-first-workflow), [routes](routes.md).",
      schema: schemas.get("workflow"),
      parts: {
        "nodes.ID": "Node",
        "edges.[]": "Edge",
        "rules.[]": "Source",
        "nodes.ID.rules": "Node sources: The rules or the context of a node, in addition to those of the workflow",
        "nodes.ID.eval.[]": "Evaluator",
        "nodes.ID.requires": "Requires",
        "edges.[].if": "Condition",
        "nodes.ID.requires.output_matches.[]": "Comparison",
        "skills.ID.mcp": "MCP server",
      },
    },
    {
      title: "Config",
      about:
        "`.skillflow.yml` in the project, and the same shape in `~/.config/skillflow/config.yml`. A project's file cannot raise trust.",
      schema: schemas.get("config"),
      parts: {},
    },
    {
      title: "Policy",
      about: "`/etc/skillflow/policy.yml`, or the file that `SKILLFLOW_POLICY` names: [policy.md](policy.md).",
      schema: schemas.get("policy"),
      parts: {},
    },
    {
      title: "Skill",
      about:
        "The result of reading any format, and the export of a `skill.ts` ([how to write skills](skill-formats.md)). Tool handlers are in its code.",
      schema: schemas.get("skill"),
      parts: { "tools.[]": "Tool" },
    },
    {
      title: "tools.json",
      about:
        "Next to a SKILL.md: a list of script tools, a descriptor, or a list of described tools with `allowlist.json` and `execution.json`.",
      schema: schemas.get("tools"),
      parts: { "#0.[]": "Script tool", "#1": "Descriptor", "#1.tools.[]": "Described tool" },
    },
    {
      title: "Test",
      about: "A file whose name ends in `.test.yml`: [tests of workflows](testing.md).",
      schema: schemas.get("test"),
      parts: {
        "cases.[]": "Case",
        "tools.ID.[]": "Fixture",
        "cases.[].expect": "Expectations",
        "cases.[].expect.planned.[]": "Planned write",
        "cases.[].expect.evidence": "Evidence counts",
        "cases.[].expect.status.#1": "Matcher",
      },
    },
    {
      title: "Listen",
      about: "`listen.yml`: [webhooks](listen.md) and [mentions in Slack](slack.md) that start runs.",
      schema: schemas.get("listen"),
      parts: { "sources.ID": "Source of webhooks" },
    },
    {
      title: "Script",
      about: "Replies for `--model script:FILE` and for the `model` of a test.",
      schema: schemas.get("script"),
      parts: { "replies.[]": "Reply" },
    },
  ];
}

/** Meaning of each exit code of an error. */
const EXITS: readonly (readonly [exitCode: number, meaning: string])[] = [
  [1, "the workflow ran and failed"],
  [2, "the workflow, input, skill or command line is wrong"],
  [3, "required config or skills are missing, at the start or when the run was resumed"],
  [4, "an external service or system failed"],
  [5, "a limit stopped the run"],
  [130, "interrupted"],
];

/** Lists the shared options with their names on every surface. */
function optionsPage(): string {
  const rows = Object.entries<OptionRow>(OPTIONS).map(([name, [flags, help, extra = {}]]) => {
    const config = extra.config && `\`${extra.config}\`${extra.raisesTrust ? ", in your own file" : ""}`;
    const library = extra.library && `\`${extra.library}\``;
    const variable = extra.variable && `\`${variableOf(name as OptionName)}\``;
    return `| \`${flags}\` | ${help} | ${config ?? ""} | ${variable ?? ""} | ${library ?? ""} |`;
  });
  return `# Options

The options that several commands have, generated from the program by \`npm run generate\`. \`skillflow COMMAND --help-all\` lists
all options of a command. How flags, variables and config files override each other: [config.md](config.md).

| Option | Effect | Config file | Variable | [Library](library.md) |
| --- | --- | --- | --- | --- |
${rows.join("\n")}
`;
}

function errorsPage(): string {
  const head = `# Codes of findings and errors

Generated from the program by \`npm run generate\`. \`skillflow validate --explain CODE\` prints the same, with \`--json\` as
\`skillflow.explanation/1\`. Without a code, it lists all of them. Codes are case-insensitive there.

A **finding** is a problem in a file. It has a place and a severity. An **error** is the reason why the program could not
continue, and decides its exit code. Some are also the code of a failed tool call.`;
  const findings = Object.entries(DIAGNOSTIC_THEMES).flatMap(([title, codes]) => {
    return [
      `## ${title}`,
      ...Object.keys(codes)
        .flatMap((code) => explainCode(code) ?? [])
        .flatMap(codeSection),
    ];
  });
  const errors = EXITS.flatMap(([exitCode, meaning]) => {
    const ending = explainedCodes().filter((found) => found.kind === "error" && found.exitCode === exitCode);
    return [`## Errors with exit code ${exitCode}: ${meaning}`, ...ending.flatMap(codeSection)];
  });
  return `${[head, ...findings, ...errors].join("\n\n")}\n`;
}

function codeSection({ code, what, why, mend, example }: Explained): string[] {
  return [
    `### <a id="${code}"></a>\`${code}\``,
    what,
    ...(why === undefined ? [] : [`**Usual cause:** ${why}`]),
    `**What to do:** ${mend}`,
    ...(example ? ["Wrong:", fenced(example.wrong), "Right:", fenced(example.right)] : []),
  ];
}

function fenced(text: string): string {
  return `\`\`\`${text.startsWith("[") ? "json" : "yaml"}\n${text}\n\`\`\``;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}

if (process.argv[1] === import.meta.filename) {
  for (const folder of ["schemas", "docs", "examples"]) mkdirSync(folder, { recursive: true });
  for (const [path, content] of await generatedFiles()) writeFileSync(path, content);
}
