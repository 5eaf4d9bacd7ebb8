import { editYaml, type YamlEdit } from "../../../app/documents.ts";
import { fillTemplates, titleOf, type Values } from "../../templates/fill.ts";

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

interface Starter {
  /** Id of the workflow and base name of its files. */
  readonly name: string;
  readonly readers: readonly string[];
  readonly tellers: readonly string[];
  /** Globs for log files. */
  readonly logs: readonly string[];
}

/** Returns a new workflow, with a script and a test that need no model or key. */
export function starterFiles({ name, readers, tellers, logs }: Starter): StarterFile[] {
  return filesFor(name, "starter", {
    title: titleOf(name),
    readers: readers.join(", "),
    context: logs.length === 0 ? "" : `\ncontext:\n  - Logs are in ${logs.join(", ")}.\n`,
    telling: tellers.length === 0 ? "" : `    skills: [${tellers.join(", ")}]\n`,
    writes: tellers.includes("slack") ? "      not_called: [slack_send_message]\n" : "",
  });
}

export type Shipped = "triage" | "review" | "board";

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
