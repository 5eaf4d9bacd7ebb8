import { execFile } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { outputsOf } from "../../../src/cli/ci/github.ts";
import { INPUT_NAMES } from "../../../src/entry/action/inputs.ts";
import { makeProject, runFile } from "../../cli/program.ts";
import { LONG } from "../../harness/long.ts";
import { FLOW, RUN, readOutputs, runStep, type Told } from "./step.ts";

/** The action as a release publishes it: built from the sources into a folder, with nothing installed around it. */

const ROOT = join(import.meta.dirname, "..", "..", "..");

let folder: string;
/** The result of the step in a commit without the built action. The other tests use the folder that it built. */
let fromSource: Told;
beforeAll(async () => {
  folder = makeProject({ ".git": "", "parts/of-an-earlier-build.js": "" });
  fromSource = await runStep(ROOT, { path: makeTools(folder) });
}, 120_000);

/** Replacements for npm, which would fetch packages, and for mktemp: the build finds the installed packages. */
function makeTools(built: string): string {
  const tools = makeProject({
    npm: `#!/bin/sh\n[ "$1" = ci ] && echo "npm $*" && exit 0\n[ "$1 $2 $3 $4" = "run --silent build:action --" ] || exit 9\nexec node scripts/build-action.mjs "$5"\n`,
    mktemp: `#!/bin/sh\necho '${built}'\n`,
  });
  for (const name of ["npm", "mktemp"]) chmodSync(join(tools, name), 0o755);
  return tools;
}

async function buildAction(): Promise<string> {
  const built = makeProject({ ".git": "", "parts/of-an-earlier-build.js": "" });
  await promisify(execFile)(process.execPath, ["scripts/build-action.mjs", built], { cwd: ROOT });
  return built;
}

describe("an action without its build", () => {
  it("builds it from source, reports that, and then runs", () => {
    expect(fromSource.code, fromSource.stderr).toBe(0);
    expect(fromSource.stdout).toMatch(
      /^This commit has no built action\. Building it from source takes about 30 seconds\.\nnpm ci --include=dev --ignore-scripts /,
    );
    expect(fromSource.outputs).toMatchObject({ status: "succeeded" });
  });

  it("runs nothing, with the exit code of an outside failure, if packages cannot be installed", async () => {
    const path = makeProject({ npm: "#!/bin/sh\necho offline >&2; exit 1\n" });
    chmodSync(join(path, "npm"), 0o755);
    const told = await runStep(ROOT, { path });
    expect([told.code, told.outputs]).toEqual([4, {}]);
    expect(told.stderr).toContain("offline");
  });
});

describe("the built action", () => {
  it("is all that the branch needs, and replaces an earlier build in a checkout of that branch", () => {
    const names = [".git", "LICENSE", "LICENSES.txt", "action.yml", "index.js", "package.json", "parts"];
    expect(readdirSync(folder).sort()).toEqual(names);
    expect(existsSync(join(folder, "parts/of-an-earlier-build.js"))).toBe(false);
    const { runs } = parse(readFileSync(join(folder, "action.yml"), "utf8"));
    expect(runs.using).toBe("composite");
    expect(readFileSync(join(folder, "LICENSES.txt"), "utf8")).toContain("@anthropic-ai/sdk");
    expect(JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))).toEqual({ type: "commonjs" });
  });

  it("runs a workflow, writes to the folders of its inputs, and sets the outputs", async () => {
    const told = await runStep(folder, { inputs: { ...RUN, out: "out", store: "runs" } });
    expect(told.code, told.stderr).toBe(0);
    expect(told.stdout).not.toContain("from source");
    expect(told.outputs).toMatchObject({
      status: "succeeded",
      "result-file": "out/result.json",
      "report-file": "out/report.html",
      "plan-count": "0",
      degraded: "",
      "cost-usd": "0",
      "input-tokens": "0",
    });
    expect(told.outputs["record-digest"]).toMatch(/^[0-9a-f]{64}$/);
    expect(Number(told.outputs["output-tokens"])).toBeGreaterThan(0);
    expect(told.summary).toContain("W: succeeded");
    expect(readFileSync(join(told.cwd, "runs", `${told.outputs["run-id"]}.jsonl`), "utf8")).toContain('"done"');
  });

  it("contains the built-in skills and the modules' imports, with nothing installed around it", async () => {
    const flow = { ...FLOW, nodes: { a: { name: "A", instruction: "Look.", skills: ["logs", "pager"] } } };
    const calls = [
      { tool: "logs_search", input: { files: "*.log", contains: "ERROR" } },
      { tool: "pager_page", input: { who: "maria" } },
    ];
    const cwd = makeProject({
      "w.yml": flow,
      "app.log": "2026-01-31 08:00:00 ERROR pay failed\n",
      "s.json": { replies: [{ calls }, { text: "done" }] },
      ".skillflow.yml": { skills: { modules: ["./pager.ts"] } },
      "pager.ts": `import { defineSkill } from "skillflow";
        import * as z from "zod";
        export default defineSkill({ id: "pager", name: "Pager", description: "Pages.", category: "general", config: {}, tools: [{
          name: "page", description: "Pages.", effect: "read", input_schema: z.object({ who: z.string() }), handler: ({ who }: { who: string }) => \`paged \${who}\`,
        }] });`,
    });
    const told = await runStep(folder, { cwd, inputs: { ...RUN, trust: "pager", args: "--run-id r" } });
    expect(told.code, told.stderr).toBe(0);
    const record = readFileSync(runFile(cwd, "r"), "utf8");
    expect(record).toContain("pay failed");
    expect(record).toContain("paged maria");
  });

  it.runIf(LONG)(
    "has the same bytes when it is built again",
    async () => {
      const again = filesIn(await buildAction());
      const differing = [...filesIn(folder)].filter(([name, bytes]) => !again.get(name)?.equals(bytes));
      expect(differing.map(([name]) => name)).toEqual([]);
    },
    120_000,
  );
});

describe("action.yml", () => {
  const { inputs, outputs, runs } = parse(readFileSync(join(ROOT, "action.yml"), "utf8"));

  it("names the inputs that the action reads, and requires none of them", () => {
    expect(Object.keys(inputs)).toEqual(INPUT_NAMES);
    for (const { required, description } of Object.values<Record<string, unknown>>(inputs)) {
      expect(required).toBeUndefined();
      expect(description).toMatch(/\.$/);
    }
  });

  it("passes each input as a variable, with its name as the program reads it", () => {
    const { env } = runs.steps[0];
    const passed = INPUT_NAMES.map((name) => [
      `INPUT_${name.toUpperCase().replaceAll("-", "_")}`,
      `\${{ inputs.${name} }}`,
    ]);
    expect(Object.entries(env)).toEqual(passed);
  });

  it("names the outputs that the program sets", () => {
    const told = readOutputs(outputsOf({ status: "refused", "plan-count": 0 }, "END"));
    expect(Object.keys(outputs)).toEqual(Object.keys(told));
    for (const [name, { value }] of Object.entries<{ value: string }>(outputs))
      expect(value).toBe(`\${{ steps.run.outputs.${name} }}`);
  });
});

function filesIn(built: string): Map<string, Buffer> {
  const names = readdirSync(built, { recursive: true, encoding: "utf8" });
  const files = names.filter((name) => statSync(join(built, name)).isFile());
  return new Map(files.map((name) => [name, readFileSync(join(built, name))]));
}
