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

/** Returns a renamed copy of a shipped workflow, with a script and a test that need no model or key. */
export function shippedFiles(kind: Shipped, name: string, read: (file: string) => string): StarterFile[] {
  const workflows = RENAMED[kind](name, read).map(([id, text]): StarterFile => {
    return [pathsOf(id).workflow, editorLine("workflow", "../") + text.replace(/^id: .*$/m, `id: ${id}`)];
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

type Renamed = (name: string, read: (file: string) => string) => readonly (readonly [id: string, text: string])[];

const RENAMED: Readonly<Record<Shipped, Renamed>> = {
  triage: (name, read) => [
    [name, read("incident-triage.yml").replaceAll("workflows/incident-triage.yml", pathsOf(name).workflow)],
  ],
  review: (name, read) => [[name, read("pr-review.yml").replaceAll("workflows/pr-review.yml", pathsOf(name).workflow)]],
  // Adds log files as a source, so that users can try the workflow without a tracker.
  board: (name, read) => [
    [
      name,
      read("board-triage.yml")
        .replace(" A demo without keys: npm run demo:board", "")
        .replaceAll("workflows/board-triage.yml", pathsOf(name).workflow)
        .replaceAll("./one-issue.yml", `./${name}-issue.yml`)
        .replace(
          "else from Datadog, GitHub or Linear, whichever answers.",
          "$& Without any, group the errors of log files.",
        )
        .replaceAll("[sentry, datadog, github, linear]", "[sentry, datadog, github, linear, logs]")
        .replace(/^( +)- linear_search_issues$/m, "$&\n$1- logs_search"),
    ],
    [`${name}-issue`, read("one-issue.yml").replaceAll("board-triage.yml", `${name}.yml`)],
  ],
};
