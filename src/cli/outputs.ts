import { accessSync, constants, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { projectFolder } from "../app/workspace.ts";
import { messageOf, SkillflowError } from "../core/errors.ts";
import { defined, nearest } from "../core/values.ts";
import { makeFolder, replaceFile } from "../files.ts";
import type { Report } from "../reports/visits.ts";
import { list, text } from "./flags.ts";
import type { Flags, Io } from "./io.ts";

export interface Outputs {
  readonly out: string | undefined;
  readonly reports: readonly { readonly kind: string; readonly path: string }[];
}

/** Every kind of report, loaded when it is asked for. */
const KINDS: Readonly<Record<string, (report: Report) => Promise<string>>> = {
  json: async ({ result }) => `${JSON.stringify(result, undefined, 2)}\n`,
  md: async (report) => (await import("../reports/markdown.ts")).summaryMarkdown(report),
  html: drawnHtml,
  junit: async (report) => (await import("../reports/junit.ts")).junitXml(report),
  sarif: async (report) => (await import("../reports/sarif.ts")).sarifOfRun(report),
  mermaid: async ({ record, result }) => (await import("../reports/mermaid.ts")).runMermaid(record, result),
};

/** Drawings of larger workflows help nobody. */
const MOST_DRAWN = 200;

async function drawnHtml(report: Report): Promise<string> {
  const { reportHtml } = await import("../reports/html.ts");
  if (Object.keys(report.record.workflow.nodes).length > MOST_DRAWN) return reportHtml(report);
  const [{ renderSvg }, { embedSvg, runDot }] = await Promise.all([
    import("../reports/svg.ts"),
    import("../reports/mermaid.ts"),
  ]);
  return reportHtml(report, { graph: embedSvg(await renderSvg(runDot(report.record, report.result))) });
}

/** What goes into `--out`; the trace is the run's own file. */
const OUT_FILES = { "result.json": "json", "summary.md": "md", "junit.xml": "junit", "report.html": "html" };

/** Checked before anything runs. */
export function chooseOutputs(flags: Flags): Outputs {
  const reports = list(flags, "report").map((pair) => {
    const [kind = "", ...rest] = pair.split("=");
    const path = rest.join("=");
    if (Object.hasOwn(KINDS, kind) && path !== "") return { kind, path };
    const near = nearest(kind, Object.keys(KINDS));
    throw new SkillflowError("usage.invalid", `--report takes KIND=PATH, not "${pair}"`, {
      hint: near && near !== kind ? `did you mean ${near}=PATH?` : `KIND is one of ${Object.keys(KINDS).join(", ")}`,
    });
  });
  return { out: text(flags, "out"), reports };
}

/** Whether all can be written, before a run is paid for. */
export function checkPlaces({ host }: Io, { out, reports }: Outputs): void {
  const paths = reports.map(({ path }) => resolve(host.cwd, path));
  const folders = [...(out === undefined ? [] : [resolve(host.cwd, out)]), ...paths.filter(isOurs).map(dirname)];
  try {
    for (const folder of folders) accessSync(makeFolder(folder, { root: projectFolder(host) }), constants.W_OK);
    for (const path of paths.filter((each) => !isOurs(each))) accessSync(path, constants.W_OK);
  } catch (error) {
    throw new SkillflowError("output.failed", `results cannot be written: ${messageOf(error)}; nothing ran`);
  }
}

export interface WrittenFile {
  readonly kind: string;
  /** As a person would type it. */
  readonly path: string;
}

/** Writes what was asked for and adds it to `written`. A result that could not be written is an error of its own. */
export async function writeOutputs(
  io: Io,
  { out, reports }: Outputs,
  report: Report,
  written: WrittenFile[],
): Promise<void> {
  const { cwd } = io.host;
  const inFolder = Object.entries({ ...OUT_FILES, "trace.jsonl": "trace" });
  const folder = out === undefined ? [] : inFolder.map(([name, kind]) => ({ kind, path: join(out, name) }));
  for (const { kind, path } of [...folder, ...reports]) {
    const place = resolve(cwd, path);
    const seen = { ...report, ...defined("blobs", report.blobs && relative(dirname(place), report.blobs)) };
    await writeReport(io, place, kind === "trace" ? traceOf(report) : ((await KINDS[kind]?.(seen)) ?? ""));
    written.push({ kind, path });
  }
}

/** What the checkout holds leads no output out of the project; what the operator names elsewhere is theirs. */
async function writeReport({ host }: Io, path: string, content: string): Promise<void> {
  try {
    if (isOurs(path)) await replaceFile(path, content, { root: projectFolder(host) });
    else writeFileSync(path, content);
  } catch (error) {
    throw new SkillflowError("output.failed", `a result could not be written: ${messageOf(error)}`);
  }
}

/** Not as in `--report md=/dev/stdout`, which is written to and never replaced. */
function isOurs(path: string): boolean {
  return !/^\/(dev|proc)\//.test(path);
}

function traceOf({ record, events }: Report): string {
  return [record, ...events].map((line) => `${JSON.stringify(line)}\n`).join("");
}
