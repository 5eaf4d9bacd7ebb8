import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runHere } from "../cli/in-process.ts";
import { makeProject, removeProjects } from "../cli/program.ts";
import { startCollector } from "../services/otlp.ts";

/** The commands of docs/runs.md and docs/observability.md work. `ui` waits for Ctrl-C, and has separate tests. */

const ROOT = join(import.meta.dirname, "..", "..");
const PAGES = ["docs/runs.md", "docs/observability.md"];

const commands = PAGES.flatMap((page) => {
  const text = readFileSync(join(ROOT, page), "utf8");
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block = ""]) => block);
  const lines = blocks.flatMap((block) => block.split("\n"));
  return lines.flatMap((line) => /(?:^|<\()skillflow ([^)|]+)/.exec(line)?.[1]?.trim() ?? []);
});

let cwd = "";
let collector: Awaited<ReturnType<typeof startCollector>>;
beforeAll(async () => {
  cwd = makeProject();
  collector = await startCollector();
  const alert = ["--input", "@workflows/incidents/checkout-5xx/alert.json"];
  const model = ["--model", "replay:workflows/incident-triage.run.jsonl", "--store", join(cwd, ".skillflow/runs")];
  for (const [id = "", ...flags] of [["first"], ["second", "--max-steps", "3"]]) {
    await runHere(["run", "workflows/incident-triage.yml", ...alert, ...model, "--run-id", id, ...flags], {
      cwd: ROOT,
    });
  }
});
afterAll(async () => {
  await collector.close();
  removeProjects();
});

describe("the pages about runs", () => {
  it("show a command of each kind", () => {
    const kinds = new Set(commands.map((command) => command.split(" ").slice(0, 2).join(" ")));
    expect([...kinds].sort()).toEqual([
      "completion bash",
      "completion fish",
      "completion zsh",
      "graph first",
      "report first",
      "runs diff",
      "runs export",
      "runs list",
      "runs prune",
      "runs show",
      "runs verify",
      "ui",
    ]);
  });

  it.each(commands.filter((command) => command !== "ui"))("show a command that works: %s", async (command) => {
    const argv = command.replace("http://localhost:4318/v1/traces", collector.url).split(" ");
    const { code, stdout, stderr } = await runHere(argv, { cwd });
    expect([code, code === 0 ? "" : stdout + stderr]).toEqual([0, ""]);
    expect(collector.faults).toEqual([]);
  });

  it("name every attribute that a span has", async () => {
    const argv = ["runs", "export", "first", "--otlp", collector.url, "--otlp-content"];
    await runHere(argv, { cwd });
    const told = new Set(collector.spans.flatMap(({ attributes }) => Object.keys(attributes)));
    expect(told.size).toBeGreaterThan(15);
    const page = readFileSync(join(ROOT, "docs/observability.md"), "utf8");
    const untold = [...told].filter((name) => {
      const end = `.${name.split(".").slice(1).join(".")}`;
      const short = [
        `\`${name}\``,
        `\`${end}\``,
        `\`.${name.split(".").at(-1)}\``,
        `\`.${name.split(".").slice(-2).join(".")}\``,
      ];
      return !short.some((form) => page.includes(form));
    });
    expect(untold).toEqual([]);
  });
});
