import { relative, resolve } from "node:path";
import type { Workspace } from "../../../app/host.ts";
import { environmentRedactor } from "../../../app/secrets.ts";
import { acceptTests, updatesOf } from "../../../app/testing/accept.ts";
import type { Coverage } from "../../../app/testing/coverage.ts";
import { modelOf, testDocument } from "../../../app/testing/documents.ts";
import { openTestWorkspace, runTests, type TestedCase } from "../../../app/testing/run-tests.ts";
import { messageOf, SkillflowError, usageError } from "../../../core/base/errors.ts";
import { plainLine } from "../../../core/base/inert.ts";
import { testsJunit } from "../../../reports/testing/junit.ts";
import { isCi } from "../../ci/ci.ts";
import { list, number, openGuarded, projectOptions, text } from "../../flags.ts";
import { type Action, confirms, type Flags, type Io, interruptSignal } from "../../io.ts";
import { replaceOwn } from "../../outputs.ts";
import { framesOf } from "../../terminal/frame.ts";
import { describeDiagnostic, jsonText, painter } from "../../terminal/terminal.ts";
import {
  describeCase,
  describeCoverage,
  describeFailures,
  describeSummary,
  describeTable,
  describeUpdates,
} from "./view.ts";

/** Runs `skillflow test`. Exit codes: 0 all passed, 1 a case failed, 2 a file is invalid, 3 a model's key is missing. */
export const test: Action = async (io, places, flags) => {
  if (text(flags, "from") !== undefined) return writeTest(io, places, flags);
  const workspace = openTestWorkspace(io.host, projectOptions(flags));
  try {
    checkFlags(io, flags);
    io.protect(environmentRedactor(workspace));
    if (flags.watch === true) return await (await import("./watch.ts")).watchTests(io, places, flags);
    return await runOnce(io, flags, { workspace, places, signal: interruptSignal(io) });
  } catch (error) {
    if (flags.json === true) await io.out(jsonText(refusal(error, io)));
    throw error;
  }
};

/** Writes a test from a run (`test --from RUN`) and prints its path. */
async function writeTest(io: Io, places: readonly string[], flags: Flags): Promise<number> {
  if (places.length > 0) throw usageError("--from writes a test and runs none: leave out the paths");
  if (io.host.documents) throw usageError("--from cannot be used with --from-ref, because it writes to the checkout");
  const workspace = openGuarded(io, flags);
  const { testFromRun } = await import("../../../app/testing/from-run.ts");
  const files = await testFromRun(workspace, text(flags, "from") ?? "");
  for (const { path, text: content, root } of files) await replaceOwn(path, content, { root, fileMode: 0o666 });
  await io.outText(`${relative(io.host.cwd, files[0].path)}\n`);
  return 0;
}

interface Round {
  readonly workspace: Workspace;
  readonly places: readonly string[];
  readonly signal: AbortSignal;
  readonly onTested?: (tested: readonly TestedCase[]) => void;
}

export async function runOnce(io: Io, flags: Flags, { workspace, places, signal, onTested }: Round): Promise<number> {
  const paint = painter(io, flags);
  const models = list(flags, "model");
  const view = { paint, isCompared: models.length > 1 };
  const isQuiet = flags.quiet === true;
  const tested = await runTests(workspace, {
    paths: places,
    models,
    filter: text(flags, "filter"),
    repeat: number(flags, "repeat") ?? 1,
    signal,
    onCase: (one) => void (isQuiet ? undefined : io.err(describeCase(one, view))),
  });
  onTested?.(tested);
  const failed = tested.filter(({ passed }) => !passed);
  const kept = flags.update === true ? await chooseUpdates(io, flags, failed) : [];
  const accepted = flags.update === true ? await accept(io, workspace, kept) : [];
  const left = failed.filter((one) => !kept.includes(one) || !isAccepted(one, accepted));
  if (left.length > 0) await io.err(await describeFailures(left, view));
  if (models.length > 1) await io.err(describeTable(tested, view));
  if (!isQuiet || left.length > 0) await io.err(describeSummary(tested, left, view));
  await annotate(io, left);
  const coverage = await showCoverage(io, flags, tested);
  await writeReports(io, flags, tested, coverage);
  if (flags.json === true) await io.out(jsonText(testDocument(tested, coverage)));
  if (signal.aborted) return 130;
  return left.length > 0 ? 1 : 0;
}

async function showCoverage(io: Io, flags: Flags, tested: readonly TestedCase[]): Promise<Coverage[] | undefined> {
  if (flags.coverage !== true) return undefined;
  const { coverageOf } = await import("../../../app/testing/coverage.ts");
  const paint = painter(io, flags);
  const frame = framesOf(io, paint, flags);
  const coverage = coverageOf(tested);
  for (const each of coverage) {
    for (const found of each.missed) await io.err(`${describeDiagnostic(found, paint, frame(found))}\n`);
    await io.err(describeCoverage(each, paint));
  }
  return coverage;
}

function checkFlags(io: Io, flags: Flags): void {
  reportPlaces(flags);
  const isOne = list(flags, "model").length < 2 && (number(flags, "repeat") ?? 1) === 1;
  if (flags.update === true) {
    if (isCi(io.host.env))
      throw usageError("-u cannot be used in CI", "accept the changes on your own machine, and commit them");
    if (io.host.documents) throw usageError("-u cannot be used with --from-ref, because it writes to the checkout");
    if (!isOne) throw usageError("-u accepts one run: leave out --repeat and a second --model");
  }
  if (flags.yes === true && flags.update !== true) throw usageError("--yes requires -u");
  if (flags.watch === true && !io.isTerminal) throw usageError("--watch requires a terminal");
}

function reportPlaces(flags: Flags) {
  return list(flags, "report").map((report) => {
    const [, kind, path] = /^(junit|md)=(.+)$/s.exec(report) ?? [];
    if (kind !== undefined && path !== undefined) return { kind, path };
    throw usageError(`--report takes junit=PATH or md=PATH, not "${report}"`);
  });
}

/** Lists what accepting changes. Cases whose tests would become weaker are left out, unless the user agrees. */
async function chooseUpdates(io: Io, flags: Flags, failed: readonly TestedCase[]): Promise<readonly TestedCase[]> {
  const paint = painter(io, flags);
  const cases = failed.map((one) => ({ one, updates: updatesOf(one) })).filter(({ updates }) => updates.length > 0);
  for (const { one, updates } of cases) await io.err(describeUpdates(one, updates, paint));
  const weaker = cases.filter(({ updates }) => updates.some((update) => update.weaker !== undefined));
  if (weaker.length === 0 || flags.yes === true) return failed;
  const question = `${paint("yellow", "?")} Weaken ${weaker.length === 1 ? "this test" : `these ${weaker.length} tests`}?`;
  if (await confirms(io, question)) return failed;
  await io.err(`${paint("yellow", "not updated")}: the tests above would expect less; use -u --yes to accept that\n`);
  return failed.filter((one) => !weaker.some((each) => each.one === one));
}

async function accept(io: Io, workspace: Workspace, tested: readonly TestedCase[]): Promise<string[]> {
  const files = await acceptTests(workspace, tested);
  for (const { path, text: content, root } of files) {
    await replaceOwn(path, content, { root, fileMode: 0o666 });
    await io.err(`updated ${plainLine(path)}\n`);
  }
  return files.map(({ path }) => path);
}

function isAccepted({ runs, ready, model }: TestedCase, accepted: readonly string[]): boolean {
  return runs.every(({ failures }) =>
    failures.every(({ accept: change, path }) =>
      change ? accepted.includes(ready.loaded.path) : path === "prompts" && accepted.includes(model.path ?? ""),
    ),
  );
}

async function writeReports(io: Io, flags: Flags, tested: readonly TestedCase[], coverage?: Coverage[]): Promise<void> {
  const cases = tested.map((one) => ({ ...one, file: one.ready.loaded.file, model: modelOf(one) }));
  for (const { kind, path } of reportPlaces(flags)) {
    const { testsMarkdown } = await import("../../../reports/testing/markdown.ts");
    const text = kind === "md" ? testsMarkdown(cases, coverage) : testsJunit(cases, coverage);
    await replaceOwn(resolve(io.host.cwd, path), io.clean(text));
  }
}

/** In GitHub Actions, annotates each failure at its case in the test file. */
async function annotate(io: Io, failed: readonly TestedCase[]): Promise<void> {
  if (io.host.env.GITHUB_ACTIONS !== "true" || failed.length === 0) return;
  const { annotationOf } = await import("../../ci/github.ts");
  for (const { ready, index, name, runs } of failed) {
    const at = ready.loaded.position(["cases", index, "name"]);
    const [failure] = runs.flatMap(({ failures }) => failures);
    const message = `${name}: ${failure ? `${failure.path}: ${failure.message}` : "failed"}`;
    const found = { severity: "error", code: "TEST_FAILED", path: [], message, file: ready.loaded.file } as const;
    await io.command(annotationOf({ ...found, ...at }));
  }
}

function refusal(error: unknown, io: Io) {
  const known = error instanceof SkillflowError ? error : undefined;
  const { code = "internal.fault", hint, diagnostics = [] } = known ?? {};
  const told = { code, message: io.clean(messageOf(error)), ...(hint === undefined ? {} : { hint }) };
  return { schema: "skillflow.tests/1", passed: 0, failed: 0, files: [], error: told, diagnostics };
}
