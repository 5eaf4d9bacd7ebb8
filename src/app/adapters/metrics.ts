import { attempt } from "../../core/base/errors.ts";
import { type ModelChoice, modelsOf } from "../../core/document/model-list.ts";
import type { RunEvent } from "../../core/engine/event/event.ts";
import type { Observer } from "../../core/engine/ports.ts";
import type { RunChoices } from "../../core/engine/settings/settings.ts";
import { exposedName } from "../../core/skill/tool-names.ts";
import { settingsOf } from "../checks/settings.ts";
import { readWorkflow } from "../documents.ts";
import type { Workspace } from "../host.ts";
import type { FinishedRun } from "../runs/drive.ts";
import type { PreparedRun } from "../runs/prepare.ts";

/** Prometheus metrics of the runs that this process drives. Labels contain only names from the operator's files. */

export type Metrics = Awaited<ReturnType<typeof openMetrics>>;

const BUCKETS = [1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 14_400];

/** Label of whatever an outsider could have named: models of other people, tools of servers, made-up names. */
const OTHER = "other";

export async function openMetrics(workspace: Workspace, choices: RunChoices, queued: () => Promise<number>) {
  const { Counter, Gauge, Histogram, Registry } = await import("prom-client");
  const registry = new Registry();
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name: `skillflow_${name}`, help, labelNames, registers: [registry] });
  const gauge = (name: string, help: string, read: () => number | Promise<number>) =>
    new Gauge({
      name: `skillflow_${name}`,
      help,
      registers: [registry],
      async collect() {
        this.set(await read());
      },
    });
  const runs = counter("runs_total", "Runs that ended or wait for an approval", ["workflow", "status"]);
  const tokens = counter("tokens_total", "Tokens of model calls. Input includes cached.", ["model", "kind"]);
  const cost = counter("cost_usd_total", "Known cost of model calls in US dollars", ["model"]);
  const errors = counter("tool_errors_total", "Failed tool calls", ["skill", "tool"]);
  const seconds = new Histogram({
    name: "skillflow_run_duration_seconds",
    help: "Active time of ended runs",
    buckets: BUCKETS,
    registers: [registry],
  });
  const running = new Map<string, Names>();
  gauge("queue", "Runs that wait for a process", queued);
  gauge("running", "Runs that this process drives", () => running.size);
  const take = (names: Names, event: RunEvent) => {
    if (event.type === "tool:result" && event.error !== undefined) errors.inc(names.tool(event.tool));
    if (event.type !== "model:reply" || !event.usage) return;
    const model = names.model(event.model);
    const { inputTokens, cachedTokens, outputTokens, costUsd } = event.usage;
    tokens.inc({ model, kind: "input" }, inputTokens);
    tokens.inc({ model, kind: "cached" }, cachedTokens);
    tokens.inc({ model, kind: "output" }, outputTokens);
    cost.inc({ model }, costUsd ?? 0);
  };
  return {
    /** Counts a run that starts or resumes here. Returns the observer of its events. */
    start({ record, entries }: PreparedRun): Observer {
      const names = namesOf(workspace, choices, { record, entries });
      running.set(record.run, names);
      return { onEvent: (event) => take(names, event) };
    },
    /** Counts a run that is no longer driven here. `finished` is undefined if it could not be driven. */
    end(run: string, finished: FinishedRun | undefined): void {
      const workflow = running.get(run)?.workflow ?? OTHER;
      running.delete(run);
      if (!finished) return;
      const { status, usage } = finished.result;
      runs.inc({ workflow, status });
      if (status !== "waiting") seconds.observe(usage.durationMs / 1000);
    },
    contentType: registry.contentType,
    text: (): Promise<string> => registry.metrics(),
  };
}

type Names = ReturnType<typeof namesOf>;

/** Returns the labels of a run. A workflow is the operator's own if its file, read here, has the same id. */
function namesOf(
  workspace: Workspace,
  choices: RunChoices,
  { record, entries }: Pick<PreparedRun, "record" | "entries">,
) {
  const { file } = record;
  const workflow = file === undefined ? undefined : attempt(() => readWorkflow(workspace, file).workflow);
  if (workflow?.id !== record.workflow.id) {
    return { workflow: OTHER, model: () => OTHER, tool: () => ({ skill: OTHER, tool: OTHER }) };
  }
  const settings = attempt(() => settingsOf(workspace, workflow, choices).settings);
  const nodes = Object.values(workflow.nodes);
  const judges = nodes
    .flatMap((node) => node.eval ?? [])
    .map((each) => (each.kind === "judge" ? each.model : undefined));
  const named = [settings, workflow, ...nodes].flatMap((place) => [place?.model, place?.judge_model]);
  const models = new Set([...named, ...judges].flatMap((choice: ModelChoice = []) => modelsOf(choice)));
  const tools = new Map(
    [...entries].flatMap(([skill, entry]) =>
      (entry?.skill.tools ?? []).map(({ name }) => {
        const tool = entry?.skill.mcp === undefined ? name : OTHER;
        return [exposedName(skill, name), { skill, tool }] as const;
      }),
    ),
  );
  return {
    workflow: workflow.id,
    model: (name: string) => (models.has(name) || models.has(name.slice(name.indexOf(":") + 1)) ? name : OTHER),
    tool: (exposed: string) => tools.get(exposed) ?? { skill: OTHER, tool: OTHER },
  };
}
