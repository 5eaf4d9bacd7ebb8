import { resolve } from "node:path";
import { sumCosts } from "../../core/base/preview.ts";
import { modelText } from "../../core/document/model-list.ts";
import { recordedSettings } from "../../core/engine/settings/settings.ts";
import { nodePlaces } from "../../loaders/documents/workflow-file.ts";
import type { Drawing } from "../../reports/drawing/drawing.ts";
import type { PlanView } from "../../reports/model/plan.ts";
import type { Place, Report } from "../../reports/model/report.ts";
import { digestPrompt } from "../../run/digest.ts";
import { readRecording } from "../../stores/file/run-lines.ts";
import { documentsOf, type Host } from "../host.ts";

/** Adds what the record does not contain: lines of the workflow's file, and the cost of the recording. */
export function completeReport(host: Host, report: Report): Report {
  const { file } = report.record;
  let places: ((node: string) => Place) | undefined;
  const placeOf = (node: string) => {
    places ??= file === undefined ? () => ({}) : nodePlaces(resolve(documentsOf(host), file));
    return places(node);
  };
  return { ...report, placeOf, digest: digestPrompt, recordingCost: () => recordingCost(host, report) };
}

/** Returns undefined if the run was not a replay, or its recording no longer exists. */
function recordingCost(host: Host, { record, events }: Report): number | null | undefined {
  const path = /^replay:(.*)$/s.exec(modelText(recordedSettings(record.settings, events).model))?.[1];
  if (path === undefined) return undefined;
  try {
    const replies = readRecording(resolve(host.cwd, path)).events.filter((event) => event.type === "model:reply");
    return sumCosts(replies.map(({ usage }) => usage?.costUsd ?? null));
  } catch {
    return undefined;
  }
}

const KINDS = {
  json: async ({ result }: Report) => `${JSON.stringify(result, undefined, 2)}\n`,
  md: async (report: Report) => (await import("../../reports/markdown.ts")).summaryMarkdown(report),
  html: drawnHtml,
  postmortem: async (report: Report) => (await import("../../reports/postmortem.ts")).postmortemMarkdown(report),
  junit: async (report: Report) => (await import("../../reports/junit.ts")).junitXml(report),
  sarif: async (report: Report) => (await import("../../reports/sarif.ts")).sarifOfRun(report),
  digest: async (report: Report, path: string) => (await import("../../reports/digest.ts")).digestFor(report, path),
  mermaid: async (report: Report) => (await import("../../reports/drawing/mermaid.ts")).mermaidOf(await drawn(report)),
};

/** Largest workflow to draw. Larger drawings are unreadable. */
const MOST_DRAWN = 200;

async function drawnHtml(report: Report): Promise<string> {
  const { reportHtml } = await import("../../reports/html/report.ts");
  if (Object.keys(report.record.workflow.nodes).length > MOST_DRAWN) return reportHtml(report);
  const [{ embedSvg, renderSvg }, { dotOf }] = await Promise.all([
    import("../../reports/drawing/svg.ts"),
    import("../../reports/drawing/dot.ts"),
  ]);
  return reportHtml(report, { graph: embedSvg(await renderSvg(dotOf(await drawn(report)))) });
}

async function drawn({ record, result }: Report): Promise<Drawing> {
  return (await import("../../reports/drawing/drawing.ts")).drawRun(record, result);
}

export type { Report };
export type ReportKind = keyof typeof KINDS;

export const REPORT_KINDS = Object.keys(KINDS) as readonly ReportKind[];

export const PLAN_REPORTS = ["md", "html"] as const;

export async function renderPlan(kind: (typeof PLAN_REPORTS)[number], plan: PlanView): Promise<string> {
  if (kind === "html") return (await import("../../reports/html/plan.ts")).planPage(plan);
  return (await import("../../reports/plan-markdown.ts")).planMarkdown(plan);
}

export function isReportKind(kind: string): kind is ReportKind {
  return Object.hasOwn(KINDS, kind);
}

/** Renders a run's report as a file. For a digest, the path's extension selects the format. */
export function renderReport(kind: ReportKind, report: Report, path = ""): Promise<string> {
  return KINDS[kind](report, path);
}
