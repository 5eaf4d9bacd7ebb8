import { accessSync, constants, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { REPORT_KINDS, type Report, type ReportKind, renderReport } from "../app/views/reports.ts";
import { projectFolder } from "../app/workspace.ts";
import { attempt, unwritten, usageError } from "../core/base/errors.ts";
import { defined, nearest } from "../core/base/values.ts";
import type { Plan } from "../core/engine/event/operation.ts";
import { makeFolder, replaceFile } from "../files/files.ts";
import { list, text } from "./flags.ts";
import type { Flags, Io } from "./io.ts";

export interface Outputs {
  readonly out: string | undefined;
  readonly reports: readonly ReportFile<ReportKind>[];
}

export interface ReportFile<Kind extends string> {
  readonly kind: Kind;
  readonly path: string;
}

/** Reports in the `--out` folder, in addition to the trace and the plan. */
const OUT_FILES: Readonly<Record<string, ReportKind>> = {
  "result.json": "json",
  "summary.md": "md",
  "junit.xml": "junit",
  "report.html": "html",
};

/** Reads and checks the output flags before anything runs. */
export function chooseOutputs(flags: Flags): Outputs {
  return { out: text(flags, "out"), reports: chooseReports(flags, REPORT_KINDS) };
}

export function chooseReports<Kind extends string>(flags: Flags, kinds: readonly Kind[]): ReportFile<Kind>[] {
  return list(flags, "report").map((pair) => {
    const [said = "", ...rest] = pair.split("=");
    const kind = kinds.find((known) => known === said);
    const path = rest.join("=");
    if (kind !== undefined && path !== "") return { kind, path };
    const near = nearest(said, kinds);
    const hint = near && near !== said ? `did you mean ${near}=PATH?` : `KIND is one of ${kinds.join(", ")}`;
    throw usageError(`--report takes KIND=PATH, not "${pair}"`, hint);
  });
}

/** Checks that all outputs can be written before the run costs money. */
export function checkPlaces(
  { host }: Io,
  { out, reports }: Pick<Outputs, "out"> & { readonly reports: readonly ReportFile<string>[] },
): void {
  const paths = reports.map(({ path }) => resolve(host.cwd, path));
  const folders = [...(out === undefined ? [] : [resolve(host.cwd, out)]), ...paths.filter(isOurs).map(dirname)];
  const isFolder = (path: string) => attempt(() => statSync(path))?.isDirectory();
  const file = folders.find((folder) => isFolder(folder) === false);
  if (file !== undefined) throw usageError(`cannot write the results, so nothing ran: ${file} is not a folder`);
  const folder = paths.find(isFolder);
  if (folder !== undefined) throw usageError(`cannot write the results, so nothing ran: ${folder} is a folder`);
  const kinds = new Map<string, string>(filesIn(out).map(({ kind, path }) => [resolve(host.cwd, path), kind]));
  for (const [index, { kind }] of reports.entries()) {
    const path = paths[index] ?? "";
    if (isOurs(path) && (kinds.get(path) ?? kind) !== kind) {
      const message = `${path} would be written as ${kinds.get(path)} and as ${kind}`;
      throw usageError(message, "name another file for one of them");
    }
    kinds.set(path, kind);
  }
  try {
    for (const folder of folders) accessSync(makeFolder(folder, { root: projectFolder(host) }), constants.W_OK);
    for (const path of paths.filter((each) => !isOurs(each))) accessSync(path, constants.W_OK);
  } catch (error) {
    throw unwritten("cannot write the results, so nothing ran", error);
  }
}

/** Lists the files in the `--out` folder, apart from the plan. */
function filesIn(out: string | undefined) {
  const inFolder = Object.entries({ ...OUT_FILES, "trace.jsonl": "trace" as const });
  return out === undefined ? [] : inFolder.map(([name, kind]) => ({ kind, path: join(out, name) }));
}

export interface WrittenFile {
  readonly kind: string;
  /** Path as the user would type it. */
  readonly path: string;
}

interface Output {
  readonly report: Report;
  /** Plan of the run, and its path without `--out`. */
  readonly planned: { readonly plan: Plan; readonly place: string | undefined } | undefined;
  readonly written: WrittenFile[];
}

/** Writes the requested outputs and adds each to `written`. Throws if one cannot be written. */
export async function writeOutputs(
  io: Io,
  { out, reports }: Outputs,
  { report, planned, written }: Output,
): Promise<void> {
  const { cwd } = io.host;
  for (const { kind, path } of [...filesIn(out), ...reports]) {
    const place = resolve(cwd, path);
    const seen = { ...report, ...defined("blobs", report.blobs && relative(dirname(place), report.blobs)) };
    await writeReport(io, place, kind === "trace" ? traceOf(report) : await renderReport(kind, seen, path));
    written.push({ kind, path });
  }
  const path = out === undefined ? planned?.place : join(out, "plan.json");
  if (!planned || path === undefined) return;
  await writeReport(io, resolve(cwd, path), `${JSON.stringify(planned.plan, undefined, 2)}\n`);
  written.push({ kind: "plan", path });
}

/** Writes an output. Links in the checkout must not redirect it out of the project. */
export async function writeReport({ host }: Io, path: string, content: string): Promise<void> {
  try {
    if (isOurs(path)) await replaceFile(path, content, { root: projectFolder(host) });
    else writeFileSync(path, content);
  } catch (error) {
    throw unwritten("cannot write a result", error);
  }
}

/** Replaces a file that the user keeps, such as a test. */
export async function replaceOwn(path: string, content: string, how: Parameters<typeof replaceFile>[2] = {}) {
  await replaceFile(path, content, how).catch((error: unknown) => {
    throw unwritten(`${path} cannot be written`, error);
  });
}

/** Rejects devices such as `/dev/stdout`, which are written to and never replaced. */
function isOurs(path: string): boolean {
  return !/^\/(dev|proc)\//.test(path);
}

function traceOf({ record, events }: Report): string {
  return [record, ...events].map((line) => `${JSON.stringify(line)}\n`).join("");
}
