import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { callingJob, GITHUB_FILE, GITLAB_FILE, githubJob, gitlabJob } from "../../src/cli/commands/init/jobs.ts";
import { COMMANDS } from "../../src/cli/table/commands.ts";
import type { CommandSpec } from "../../src/cli/table/options.ts";
import { optionsOf } from "../../src/cli/table/options.ts";
import { startGitHub, stepHere } from "../entry/action/step.ts";
import { TOKEN } from "../services/github.ts";
import { closeWorlds, makeDesk, startWorld } from "../workflows/triage-world.ts";

/** The jobs of the examples do what they claim, with the action and the program's own commands. */

interface Step {
  readonly id?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}
interface Job {
  readonly environment?: string;
  readonly permissions: Readonly<Record<string, string>>;
  readonly outputs?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}
interface Document {
  readonly permissions: object;
  readonly jobs: Readonly<Record<string, Job>>;
}

const ROOT = join(import.meta.dirname, "..", "..");
const read = (name: string) => parse(readFileSync(join(ROOT, name), "utf8"));
const GITHUB = [
  "triage-on-github",
  "schedule-on-github",
  "board-on-github",
  "pull-request-on-github",
  "reusable-on-github",
] as const;
const documentOf = (name: (typeof GITHUB)[number]): Document => read(`examples/${name}.yml`);
const isOurs = ({ uses }: Step) => uses === "OWNER/skillflow@v0";
const variablesOf = ({ steps }: Job) => steps.flatMap(({ env }) => Object.entries(env ?? {}));

afterEach(closeWorlds);

function specOf(words: readonly string[], specs: readonly CommandSpec[] = COMMANDS): CommandSpec | undefined {
  const found = specs.find(({ usage }) => usage.split(" ")[0] === words[0]);
  return found?.commands ? specOf(words.slice(1), found.commands) : found;
}

function expectKnown(words: readonly string[]): void {
  const spec = specOf(words);
  expect(spec, words.join(" ")).toBeDefined();
  const known = (spec ? optionsOf(spec) : []).map(([flags]) => flags.split(" ")[0]);
  for (const word of words.filter((one) => one.startsWith("-"))) expect(known).toContain(word);
}

it("the page about plans shows commands and flags that the program has", () => {
  const page = readFileSync(join(ROOT, "docs/plans.md"), "utf8");
  const lines = [...page.matchAll(/^skillflow (.*?)(?: +#.*)?$/gm)].map(([, line = ""]) => line.split(" "));
  expect(lines.length).toBeGreaterThan(5);
  for (const words of lines) expectKnown(words);
});

describe.each(GITHUB)("the example %s", (name) => {
  const document = documentOf(name);
  const jobs = Object.values(document.jobs);
  const steps = jobs.flatMap((job) => job.steps);

  it("pins each third-party action to a commit, and has no script", () => {
    for (const step of steps) {
      if (!isOurs(step)) expect(step.uses).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
      expect(step.run).toBeUndefined();
    }
  });

  it("passes only inputs that the action has, and no text of an event except the input", () => {
    const known = Object.keys(read("action.yml").inputs);
    const ours = steps.filter(isOurs);
    expect(ours.length).toBeGreaterThan(0);
    for (const given of ours) {
      expect(known).toEqual(expect.arrayContaining(Object.keys(given.with ?? {})));
      const { input: _, ...rest } = given.with ?? {};
      expect(JSON.stringify(rest)).not.toMatch(/github\.event/);
    }
  });

  it("has no more permissions than each job states, and leaves no credentials in a checkout", () => {
    expect(document.permissions).toEqual({});
    for (const [id, job] of Object.entries(document.jobs)) {
      // It pushes the branch of the state, with what the checkout leaves.
      const remembers = name === "board-on-github" && id === "analyse";
      expect(job.permissions).toMatchObject({ contents: remembers ? "write" : "read" });
      const checkout = job.steps.find(({ uses }) => uses?.startsWith("actions/checkout@"));
      if (!remembers) expect(checkout?.with).toMatchObject({ "persist-credentials": false });
    }
  });

  it("uses a state only if it states so", () => {
    const told = JSON.stringify(document).includes("--state git:skillflow-state");
    expect(told).toBe(name === "board-on-github");
    if (told) expect(document).toMatchObject({ concurrency: "skillflow" });
  });
});

it("the example of pull requests fetches the base", () => {
  const { jobs } = documentOf("pull-request-on-github");
  const steps = Object.values(jobs).flatMap((job) => job.steps);
  expect(steps[0]?.with).toMatchObject({ "fetch-depth": 0 });
});

describe("the example of two jobs", () => {
  const { analyse, apply } = documentOf("triage-on-github").jobs as Record<"analyse" | "apply", Job>;

  it("gives the first job no tool that writes, and the second no model", () => {
    const first = variablesOf(analyse).map(([name]) => name);
    expect(first).toContain("ANTHROPIC_API_KEY");
    expect(first.filter((name) => /SLACK|LINEAR|WEBHOOK/.test(name))).toEqual([]);
    expect(Object.values(analyse.permissions)).toEqual(["read", "read"]);
    expect(analyse.environment).toBeUndefined();
    const second = variablesOf(apply);
    expect(second.map(([name]) => name)).toEqual(expect.arrayContaining(["GITHUB_TOKEN", "SLACK_WEBHOOK_URL"]));
    expect(second.filter((pair) => /ANTHROPIC|OPENAI|MODEL/.test(pair.join()))).toEqual([]);
    expect(apply.environment).toBe("skillflow-writes");
  });

  it("applies in the second job what the first one planned, and nothing else", async () => {
    const world = await startWorld({});
    const people = await startGitHub({ roles: { maria: "write" } });
    const cwd = makeDesk();
    // Without credentials, both trackers can be planned, and the second job only has a token of GitHub.
    writeFileSync(join(cwd, ".skillflow.yml"), "skills: { disabled: [linear] }\n");
    const alert = JSON.parse(readFileSync(join(ROOT, "workflows/incidents/checkout-5xx/alert.json"), "utf8"));
    const event = { name: "repository_dispatch", payload: { action: "alert", client_payload: alert } };
    const step = (job: Job, values: Readonly<Record<string, string>>) => {
      const given = job.steps.find(isOurs)?.with ?? {};
      const filled = Object.entries(given).map(([name, from]) => [name, values[String(from)] ?? String(from)]);
      const inputs: Record<string, string> = Object.fromEntries(filled);
      expect(Object.values(inputs).join()).not.toContain("${{");
      return { cwd, event, inputs, github: people };
    };
    try {
      const script = { model: "script:workflows/incident-triage.script.yml" };
      const first = step(analyse, { "${{ toJSON(github.event.client_payload) }}": JSON.stringify(alert) });
      const analysed = await stepHere({ ...first, inputs: { ...first.inputs, ...script } });
      expect(analysed.code, analysed.stderr).toBe(0);
      const handed = Object.entries(analyse.outputs ?? {}).map(([name, from]) => {
        const [, output = ""] = /^\$\{\{ steps\.run\.outputs\.([\w-]+) \}\}$/.exec(from) ?? [];
        return [`\${{ needs.analyse.outputs.${name} }}`, analysed.outputs[output] ?? `nothing for ${name}`] as const;
      });
      const values = Object.fromEntries(handed);
      expect(values["${{ needs.analyse.outputs.plan-count }}"]).toBe("2");

      const secrets = { ...world.places, GITHUB_TOKEN: TOKEN, SLACK_WEBHOOK_URL: world.webhook };
      const written = () => [world.issues("github").length, world.messages.length];
      const second = step(apply, values);
      const unverified = Object.entries(second.inputs).filter(([name]) => name !== "record-digest");
      const without = await stepHere({ ...second, inputs: Object.fromEntries(unverified), env: secrets });
      expect([without.code, without.stderr]).toEqual([2, expect.stringContaining("record-digest is missing")]);
      const changed = { ...second.inputs, "plan-digest": "0".repeat(64) };
      const named = { "allow-actors": "maria" };
      const refused = await stepHere({ ...second, github: undefined, inputs: { ...changed, ...named }, env: secrets });
      expect(refused.code, refused.stderr).toBe(2);
      expect(written()).toEqual([0, 0]);
      const applied = await stepHere({
        ...second,
        github: undefined,
        inputs: { ...second.inputs, ...named },
        env: secrets,
      });
      expect(applied.code, applied.stderr).toBe(0);
      expect(applied.outputs).toMatchObject({ status: "succeeded", "plan-count": "2" });
      expect(written()).toEqual([1, 1]);
    } finally {
      await people.close();
    }
  }, 120_000);
});

describe("the example of GitLab", () => {
  const jobs: Readonly<Record<string, { readonly script?: readonly string[]; readonly when?: string }>> = read(
    "examples/triage-on-gitlab.yml",
  );
  const PROGRAM = "npx --no-install skillflow ";
  const lines = Object.values(jobs).flatMap(({ script = [] }) => script);

  it("uses commands and flags that the program has, and quotes values of variables", () => {
    const commands = lines.filter((line) => line.startsWith(PROGRAM));
    expect(commands).toHaveLength(3);
    for (const line of commands) expectKnown(line.slice(PROGRAM.length).split(" "));
    for (const line of lines) expect(line.replace(/"\$[A-Z_]+"/g, "")).not.toContain("$");
  });

  it("applies only by hand, in a protected environment, with the digest that a user passes", () => {
    expect(jobs["skillflow-apply"]).toMatchObject({
      environment: "skillflow-writes",
      rules: [{ when: "manual" }],
    });
    expect(lines.at(-2)).toContain('runs verify "$CI_PIPELINE_ID" --digest "$RECORD_DIGEST"');
    expect(lines.at(-1)).toContain('--plan-digest "$PLAN_DIGEST"');
  });
});

describe("jobs that other repositories call", () => {
  it("accept every input and permission that init's caller passes, on GitHub", () => {
    const { on, jobs } = read("examples/reusable-on-github.yml");
    const caller = parse(
      callingJob(
        { workflow: "w.yml", model: "openai:gpt-5", reads: [], writes: ["SLACK_WEBHOOK_URL"] },
        `acme/ci/.github/workflows/skillflow.yml@${"0".repeat(40)}`,
      ),
    ).jobs.skillflow;
    expect(Object.keys(on.workflow_call.inputs)).toEqual(expect.arrayContaining(Object.keys(caller.with)));
    const needed = Object.values<Job>(jobs).flatMap(({ permissions }) => Object.entries(permissions));
    for (const [name, access] of needed) expect([access, "write"]).toContain(caller.permissions[name]);
    expect(jobs.analyse.permissions).toEqual({ contents: "read", issues: "read" });
  });

  it("declare every input that they use, and run the program's own commands, on GitLab", () => {
    const [spec, jobs] = parseAllDocuments(readFileSync(join(ROOT, "examples/component-on-gitlab.yml"), "utf8"));
    const inputs = Object.keys(spec?.toJSON().spec.inputs);
    const text = JSON.stringify(jobs?.toJSON());
    const used = [...text.matchAll(/\$\[\[ inputs\.(\w+) \]\]/g)].map(([, name]) => name);
    expect([...new Set(used)].sort()).toEqual([...inputs].sort());
    const lines = Object.values<{ script?: string[] }>(jobs?.toJSON()).flatMap(({ script = [] }) => script);
    const commands = lines.flatMap((line) => line.split("/.bin/skillflow ")[1] ?? []);
    expect(commands).toHaveLength(3);
    for (const command of commands) expectKnown(command.split(" "));
    // A value of an input reaches the shell only as a variable.
    for (const line of lines) expect(line.replace(/"\$[A-Z_]+"/g, "")).not.toContain("$");
  });
});

describe("the jobs for a user's own project", () => {
  const job = { workflow: "flows/my flow: 1.yml", model: "openai:gpt-5", reads: [], writes: [] };

  it("are YAML with its workflow and model, and without variables that it does not need", () => {
    const text = githubJob({ ...job, startedBy: "schedule" });
    const steps = Object.values<Job>(parse(text).jobs).flatMap((one) => one.steps.filter(isOurs));
    expect(steps.map(({ env }) => env)).toEqual([undefined, undefined]);
    expect(steps[0]?.with).toMatchObject({ workflow: job.workflow, model: job.model });
    expect(parse(gitlabJob(job))["skillflow-analyse"].variables).toMatchObject({
      WORKFLOW: job.workflow,
      MODEL: job.model,
    });
  });

  it("are written to the paths that each CI reads", () => {
    expect([GITHUB_FILE, GITLAB_FILE]).toEqual([".github/workflows/skillflow.yml", ".gitlab-ci.skillflow.yml"]);
  });
});
