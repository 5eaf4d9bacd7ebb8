import { resolve } from "node:path";
import { recordedSettings } from "../../core/engine/settings/settings.ts";
import { nodePlaces } from "../../loaders/documents/workflow-file.ts";
import type { PlanView } from "../../reports/model/plan.ts";
import type { Place, Report } from "../../reports/model/report.ts";
import { digestPrompt } from "../../run/digest.ts";
import { readRecording } from "../../stores/file/run-lines.ts";
import { documentsOf, type Host } from "../host.ts";

/** A report with what the record alone does not tell: lines of the workflow's file, and what a recording cost. */
export function completeReport(host: Host, report: Report): Report {
  const { file } = report.record;
  let places: ((node: string) => Place) | undefined;
  const placeOf = (node: string) => {
    places ??= file === undefined ? () => ({}) : nodePlaces(resolve(documentsOf(host), file));
    return places(node);
  };
  const cost = recordingCost(host, report);
  return { ...report, placeOf, digest: digestPrompt, ...(cost === undefined ? {} : { recordingCost: cost }) };
}

/** Undefined where the run was not answered from a recording, or that is gone. */
function recordingCost(host: Host, { record, events }: Report): number | null | undefined {
  const path = /^replay:(.*)$/s.exec(recordedSettings(record.settings, events).model)?.[1];
  if (path === undefined) return undefined;
  try {
    const replies = readRecording(resolve(host.cwd, path)).events.filter((event) => event.type === "model:reply");
    const costs = replies.map(({ usage }) => usage?.costUsd ?? null);
    return costs.includes(null) ? null : costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0);
  } catch {
    return undefined;
  }
}

/** Every kind of report, loaded when it is asked for. */
const KINDS = {
  json: async ({ result }: Report) => `${JSON.stringify(result, undefined, 2)}\n`,
  md: async (report: Report) => (await import("../../reports/markdown.ts")).summaryMarkdown(report),
  html: drawnHtml,
  postmortem: async (report: Report) => (await import("../../reports/postmortem.ts")).postmortemMarkdown(report),
  junit: async (report: Report) => (await import("../../reports/junit.ts")).junitXml(report),
  sarif: async (report: Report) => (await import("../../reports/sarif.ts")).sarifOfRun(report),
  digest: async (report: Report, path: string) => (await import("../../reports/digest.ts")).digestFor(report, path),
  mermaid: async ({ record, result }: Report) =>
    (await import("../../reports/drawing/mermaid.ts")).runMermaid(record, result),
};

/** Drawings of larger workflows help nobody. */
const MOST_DRAWN = 200;

async function drawnHtml(report: Report): Promise<string> {
  const { reportHtml } = await import("../../reports/html/report.ts");
  if (Object.keys(report.record.workflow.nodes).length > MOST_DRAWN) return reportHtml(report);
  const [{ embedSvg, renderSvg }, { runDot }] = await Promise.all([
    import("../../reports/drawing/svg.ts"),
    import("../../reports/drawing/dot.ts"),
  ]);
  return reportHtml(report, { graph: embedSvg(await renderSvg(runDot(report.record, report.result))) });
}

export type { Report };
export type ReportKind = keyof typeof KINDS;

export const REPORT_KINDS = Object.keys(KINDS) as readonly ReportKind[];

export const PLAN_REPORTS = ["md", "html"] as const;

/** A plan alone, as the text of its file. */
export async function renderPlan(kind: (typeof PLAN_REPORTS)[number], plan: PlanView): Promise<string> {
  if (kind === "html") return (await import("../../reports/html/plan.ts")).planPage(plan);
  return (await import("../../reports/plan-markdown.ts")).planMarkdown(plan);
}

export function isReportKind(kind: string): kind is ReportKind {
  return Object.hasOwn(KINDS, kind);
}

/** A run's report as the text of its file; what the file is called decides the form of a digest. */
export function renderReport(kind: ReportKind, report: Report, path = ""): Promise<string> {
  return KINDS[kind](report, path);
}
