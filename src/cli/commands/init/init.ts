import { existsSync, lstatSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { projectFolder } from "../../../app/workspace.ts";
import { attempt, unwritten, usageError } from "../../../core/base/errors.ts";
import { plainLine } from "../../../core/base/inert.ts";
import { shortText } from "../../../core/base/preview.ts";
import { makeFolder, replaceFile } from "../../../files/files.ts";
import { packagePath } from "../../../files/own-files.ts";
import { isCi } from "../../ci/ci.ts";
import { openGuarded, text } from "../../flags.ts";
import type { Action, Flags, Io } from "../../io.ts";
import { painter, programName } from "../../terminal/terminal.ts";
import { ACTION, GITHUB_FILE, jobFile, type StartedBy } from "./jobs.ts";
import { lastErrorsIn } from "./last-error.ts";
import {
  configText,
  editorLine,
  environmentText,
  pathsOf,
  type Shipped,
  type StarterFile,
  shippedFiles,
  starterFiles,
} from "./starter.ts";
import { type Survey, surveyProject } from "./survey.ts";

/** Runs `skillflow init`: writes a workflow that runs without a key. Never overwrites existing files. */
export const init: Action = async (io, [given], flags) => {
  const workspace = openGuarded(io, flags);
  const root = projectFolder(io.host);
  const survey = await surveyProject(workspace, root, io.host.env);
  const errors = flags.from === undefined ? await lastErrorsIn(workspace, survey.logs) : [];
  await tellSurvey(io, flags, { ...survey, errors });
  const name = nameOf((given ?? (await ask(io, flags, `Workflow name? [${USUAL}]`))) || USUAL);
  const guess = survey.ci ?? "none";
  const asks = flags.from !== "fix";
  const question = `Write a CI job: github, gitlab or none? [${guess}]`;
  const asked = text(flags, "ci") ?? (asks ? await ask(io, flags, question) : undefined);
  const ci = ciOf(asked === "" ? guess : (asked ?? "none"));
  if (ci === "gitlab" && flags.from === "review") {
    throw usageError("the review has a CI job for GitHub only", "pass --ci github, or leave --ci out");
  }
  if (ci !== undefined && flags.from === "fix") throw usageError("the fix has no CI job", "leave --ci out");
  const reuse = reusedWorkflow(flags, ci);
  const sample = workflowFiles(flags, name, { ...survey, errors });
  const isKept = existsSync(join(root, pathsOf(name).workflow));
  const files: StarterFile[] = [
    // The sample's test and script do not fit a workflow of the user's own.
    ...(isKept && !isSame(root, sample[0]) ? sample.slice(0, 1) : sample),
    [".skillflow.yml", editorLine("config", "") + configText(survey)],
    [".env.example", environmentText(survey)],
    ...(ci === undefined ? [] : [jobFile(ci, { name, survey, reuse, ...STARTS[String(flags.from)] })]),
  ];
  for (const file of files) await put(io, flags, root, file);
  if (isKept && flags.quiet !== true) {
    const from = flags.from === undefined ? "" : ` --from ${flags.from}`;
    await io.err(`\nTo write another workflow next to it, name it: ${programName(io)} init NAME${from}\n`);
  }
  await tellNext(io, flags, { root, name, survey, ci: reuse === undefined ? ci : undefined });
  return 0;
};

function workflowFiles(flags: Flags, name: string, found: Found): StarterFile[] {
  // The command line accepts no other value.
  const from = flags.from as Shipped | undefined;
  if (from === undefined) return starterFiles({ ...found, name });
  return shippedFiles(from, name, (file) => readFileSync(packagePath(join("workflows", file)), "utf8"));
}

/** Job settings of shipped workflows: the branch that stores the state, and the trigger. */
const STARTS: Readonly<Record<string, { readonly state?: string; readonly startedBy: StartedBy }>> = {
  board: { state: "skillflow-state", startedBy: "schedule" },
  review: { startedBy: "pull request" },
};

function isSame(root: string, [path, content]: StarterFile = ["", ""]): boolean {
  return attempt(() => readFileSync(join(root, path), "utf8")) === content;
}

const USUAL = "triage";

/** Asks the user. Returns undefined in CI, without a terminal or with `--quiet`. */
async function ask(io: Io, flags: Flags, question: string): Promise<string | undefined> {
  if (!io.ask || isCi(io.host.env) || flags.quiet === true) return undefined;
  return (await io.ask(`${question} `)).trim();
}

function nameOf(name: string): string {
  if (name.length <= 64 && /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name)) return name;
  throw usageError(`"${name}" is not a name for a workflow: use lowercase letters, digits and single hyphens`);
}

type Ci = Parameters<typeof jobFile>[0];

function ciOf(given: string): Ci | undefined {
  if (given === "none") return undefined;
  if (given === "github" || given === "gitlab") return given;
  throw usageError(`--ci must be github or gitlab, not "${given}"`);
}

/** Returns the workflow of another repository that the job calls. Only a commit pins what receives the project's secrets. */
function reusedWorkflow(flags: Flags, ci: Ci | undefined): string | undefined {
  const reuse = text(flags, "reuse");
  if (reuse === undefined) return undefined;
  if (ci !== "github") throw usageError("--reuse names a workflow of GitHub", "pass --ci github with it");
  if (flags.from === "review" || flags.from === "board") {
    throw usageError(`--reuse cannot be used with --from ${flags.from}`, "leave --reuse out");
  }
  if (reuse.length <= 300 && /^[\w.-]+\/[\w.-]+\/[\w./-]+\.ya?ml@[0-9a-f]{40}$/.test(reuse)) return reuse;
  throw usageError(
    `"${reuse}" is not a workflow of another repository at a commit`,
    "write OWNER/REPO/.github/workflows/FILE.yml@COMMIT, with the 40 digits of the commit",
  );
}

/** Writes a file unless it exists. A symbolic link counts as existing, even if its target does not. */
async function put(io: Io, flags: Flags, root: string, [path, content]: StarterFile): Promise<void> {
  const place = join(root, path);
  const shown = relative(io.host.cwd, place);
  const paint = painter(io, flags);
  if (lstatSync(place, { throwIfNoEntry: false })) {
    await io.err(`${paint("yellow", "=")} ${shown} already exists, not changed\n`);
    return;
  }
  try {
    makeFolder(dirname(place), { root, mode: 0o777 });
    await replaceFile(place, content, { root, fileMode: 0o666 });
  } catch (error) {
    throw unwritten(`${shown} cannot be written`, error);
  }
  await io.err(`${paint("green", "+")} ${shown}\n`);
}

type Found = Omit<Parameters<typeof starterFiles>[0], "name">;

async function tellSurvey(io: Io, flags: Flags, found: Survey & Found): Promise<void> {
  if (flags.quiet === true) return;
  const { remote, logs, errors, readers, tellers, key } = found;
  const [error] = errors;
  const lines = [
    ...(remote === undefined ? [] : [`repository: ${remote}`]),
    `logs: ${logs.length === 0 ? "none found in this folder and two levels below" : logs.join(", ")}`,
    ...(error ? [`last error at ${error.at}: ${shortText(plainLine(error.example), 200)}`] : []),
    ...(error || flags.from !== undefined
      ? []
      : ["no errors in logs: the input `files` names an example, until you change its default"]),
    `usable skills: ${[...readers, ...tellers].join(", ")}`,
    key === undefined ? "no model API key is set" : `model API key: ${key}`,
  ];
  await io.err(`Found here:\n${lines.map((line) => `  ${plainLine(line)}\n`).join("")}\n`);
}

type Written = { readonly root: string; readonly name: string; readonly survey: Survey; readonly ci: Ci | undefined };

/** Prints the three commands to type next. The last one runs without a model's key. */
async function tellNext(io: Io, flags: Flags, { root, name, ci, survey }: Written): Promise<void> {
  const say = async (text: string) => (flags.quiet === true ? undefined : io.err(text));
  const isInstalled = existsSync(join(root, "node_modules", "skillflow", "schemas"));
  if (!isInstalled)
    await say(
      "\nEditors complete the files once the package is installed here: npm install --save-dev <tarball or git URL>\n",
    );
  if (ci === "gitlab") await say("\nInclude the job in .gitlab-ci.yml: include: { local: .gitlab-ci.skillflow.yml }\n");
  if (ci === "github") await say(`\nIn ${GITHUB_FILE}, replace OWNER in ${ACTION} with the owner of the action\n`);
  const at = (path: string) => relative(io.host.cwd, join(root, path));
  const { workflow, script, test } = pathsOf(name);
  const tries = [`test ${at(test)}`, test] as const;
  const runs = `run ${at(workflow)}`;
  const key = survey.key === undefined ? ", once ANTHROPIC_API_KEY or OPENAI_API_KEY is set" : "";
  const next =
    flags.from === "fix"
      ? [
          ["See what it needs; each command that runs tests must be in WORKSPACE_COMMANDS:", `doctor ${at(workflow)}`],
          [`Fix what a run has found${key}:`, `${runs} --from-run latest -i test_command='${TEST_COMMAND}'`],
          ["Test it without a key:", ...tries],
        ]
      : [
          [`Run it with a model${key}:`, `${runs}${flags.from === "triage" ? " --input @alert.json" : ""}`],
          ["Test it:", ...tries],
          ["Run it without a key, with scripted answers:", `${runs} --model script:${at(script)}`, script],
        ];
  for (const [what, command, needed = workflow] of next) {
    if (!existsSync(join(root, needed))) continue;
    await say(`\n${what}\n`);
    await io.outText(`${programName(io)} ${command}\n`);
  }
}

const TEST_COMMAND = "npm test --";
