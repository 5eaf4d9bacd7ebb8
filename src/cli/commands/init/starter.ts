import { editYaml, type YamlEdit } from "../../../app/documents.ts";
import { shortText } from "../../../core/base/preview.ts";
import { fillTemplate, fillTemplates, titleOf, type Values } from "../../templates/fill.ts";
import type { LogError } from "./last-error.ts";
import type { Survey } from "./survey.ts";

export type StarterFile = readonly [path: string, text: string];

/** Returns a first line that makes editors complete fields, using the schema in the installed package. */
export function editorLine(schema: string, folder: "" | "../"): string {
  return `# yaml-language-server: $schema=${folder}node_modules/skillflow/schemas/${schema}.json\n`;
}

export function pathsOf(name: string) {
  const base = `workflows/${name}`;
  return {
    workflow: `${base}.yml`,
    script: `${base}.script.yml`,
    test: `${base}.test.yml`,
    example: `${base}.example.txt`,
  };
}

interface Starter extends Pick<Survey, "readers" | "looks" | "tellers" | "logs"> {
  /** Id of the workflow and base name of its files. */
  readonly name: string;
  /** The project's last errors. Without any, an example is written. */
  readonly errors: readonly LogError[];
}

/** Writes of a new workflow, by skill. Code inserts the checked finding. */
const TELLS: Readonly<Record<string, string>> = {
  slack: 'tool: slack_send_message, with: { text: "{{finding.slack}}" }',
  jira: 'tool: jira_create_issue, with: { title: "{{finding.title}}", text: "{{finding.markdown}}" }',
  linear: 'tool: linear_create_issue, with: { title: "{{finding.title}}", body: "{{finding.markdown}}" }',
};

/** Returns a new workflow, with a script and a test that need no model or key. */
export function starterFiles({ name, readers, looks, tellers, logs, errors }: Starter): StarterFile[] {
  const tells = tellers.filter((id) => TELLS[id] !== undefined);
  const { example } = pathsOf(name);
  const steps = [...(readers.includes("git") ? [["git", "git_log"] as const] : []), ...looks];
  const told = tells.map((id) => `      - { id: ${id}, ${TELLS[id]}, on_error: skip }\n`).join("");
  const isOwn = errors.length > 0;
  const isTold = !isOwn && tells.length > 0;
  const files = filesFor(name, "starter", {
    title: titleOf(name),
    readers: readers.join(", "),
    files: (isOwn ? logs : [example]).map((glob) => JSON.stringify(glob)).join(", "),
    steps: steps.map(([id, tool]) => `      - { id: ${id}, tool: ${tool}, on_error: skip }\n`).join(""),
    fixtures: steps.map(([, tool]) => `  ${tool}: [{ error: no result in this test }]\n`).join(""),
    tell: told === "" ? "" : `  tell:\n    name: Tell people\n    skills: [${tells.join(", ")}]\n    steps:\n${told}\n`,
    telling: told === "" ? "" : "  - { from: diagnose, to: tell, if: diagnose.verdict = incident }\n",
    path: `look, diagnose${isTold ? ", tell" : ""}`,
    ...(isOwn ? ownReply(errors) : exampleReply()),
  });
  return isOwn ? files.filter(([path]) => path !== example) : files;
}

/** Scripted answer about errors in the project's own logs. A script cannot judge them. */
function ownReply(errors: readonly LogError[]): Values {
  const by = "this answer was written by skillflow init, not by a model";
  const counted = errors.map(({ count, example }) => `${count} × ${shortText(example, 100)}`).join("; ");
  return replyOf(errors, {
    about:
      "A model's reply about the last errors in your logs, so that the workflow runs and can be tested without a model. It judges nothing:",
    verdict: "inconclusive",
    headline: `Last error in the logs: ${shortText(errors[0]?.example ?? "", 160)}`,
    impact: `not judged; in the logs: ${counted}`,
    cause: `not investigated: ${by}`,
    missing: "a model's judgement",
    first_step: "set a model's key and run the workflow without --model",
  });
}

function exampleReply(): Values {
  const shape = "error mailer connect to relay.example:<n>: refused";
  const example = "error mailer connect to relay.example:587: refused";
  return replyOf([{ shape, count: 2, at: "", last: "", example }], {
    about: "A model's reply about the example, so that the workflow runs and can be tested without a model:",
    verdict: "incident",
    headline: "mailer: receipts wait, because the relay refuses connections",
    impact: "mailer sends receipts; none leaves, and none is lost",
    cause: "The mail relay refuses connections.",
    missing: "the relay's own logs",
    first_step: "the relay's operators restart it",
  });
}

/** Writes each text as JSON, which is YAML too, and the errors as claims and as records of the test's fixture. */
function replyOf(errors: readonly LogError[], { about = "", ...texts }: Values): Values {
  const lines = (indent: number, list: readonly unknown[]) =>
    list.map((item) => `${" ".repeat(indent)}- ${JSON.stringify(item)}\n`).join("");
  const claims = errors.map(({ count, example }) => {
    return { claim: `${count} errors like ${shortText(example, 200)}`, evidence: [{ ref: "r1", quote: example }] };
  });
  const quoted = Object.entries(texts).map(([name, text]) => [name, JSON.stringify(text)]);
  return { about, ...Object.fromEntries(quoted), claims: lines(8, claims), errors: lines(10, errors) };
}

export type Shipped = "triage" | "review" | "board" | "fix";

interface Copied {
  readonly file: string;
  /** Workflow that runs inside it, copied next to it. */
  readonly inner?: string;
  readonly edits?: readonly YamlEdit[];
}

const LOGS_STEP = { id: "logs", tool: "logs_survey", with: { files: "workflows/*.example.txt" } };

const COPIED: Readonly<Record<Shipped, Copied>> = {
  triage: { file: "incident-triage" },
  review: { file: "pr-review" },
  fix: { file: "incident-fix" },
  board: {
    file: "board-triage",
    inner: "one-issue",
    // Reads log files, so that users can try the workflow without a tracker.
    edits: [{ path: ["nodes", "board", "steps", 4], value: LOGS_STEP }],
  },
};

/** Returns a renamed copy of a shipped workflow, with a script and a test that need no model or key. */
export function shippedFiles(kind: Shipped, name: string, read: (file: string) => string): StarterFile[] {
  const { file, inner, edits = [] } = COPIED[kind];
  const names = new Map([[file, name], ...(inner === undefined ? [] : [[inner, `${name}-issue`] as const])]);
  const workflows = [...names].map(([own, id]): StarterFile => {
    const text = read(`${own}.yml`).replace(/(?<![\w-])[\w-]{1,80}(?=\.yml)/g, (named) => names.get(named) ?? named);
    const changes = [{ path: ["id"], value: id }, ...(own === file ? edits : [])];
    return [pathsOf(id).workflow, editorLine("workflow", "../") + editYaml(text, changes)];
  });
  return [...workflows, ...filesFor(name, kind, {})];
}

/** Fills in the files of a template, sorted in reading order. */
function filesFor(name: string, template: string, values: Values): StarterFile[] {
  const texts = fillTemplates(`init/${template}`, { id: name, ...values });
  return Object.entries(pathsOf(name)).flatMap(([part, path]) => {
    return texts.filter(([file]) => file.startsWith(`${part}.`)).map(([, text]): StarterFile => [path, text]);
  });
}

export function configText({ key }: Survey): string {
  const model = key === "OPENAI_API_KEY" ? "openai:gpt-5" : "anthropic:claude-sonnet-4-5";
  return fillTemplate("project/config.txt", { off: key === undefined ? "# " : "", model });
}

/** Returns the `.env.example`, with the variables of all skills that a triage may use. */
export function environmentText({ variables }: Survey): string {
  const sections = [...variables].flatMap(([id, fields]) => {
    if (fields.length === 0) return [];
    const lines = fields.map(({ name, description, isRequired }) => {
      return `# ${description.replace(/\s+/g, " ")}${isRequired ? " (required)" : ""}\n#${name}=\n`;
    });
    return [`\n# ${id}\n${lines.join("")}`];
  });
  return fillTemplate("project/variables.txt", { skills: sections.join("") });
}
