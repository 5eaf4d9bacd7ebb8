import type { Coverage } from "../../../app/testing/coverage.ts";
import { modelOf } from "../../../app/testing/documents.ts";
import type { TestedCase } from "../../../app/testing/run-tests.ts";
import { plainLine, plainText } from "../../../core/base/inert.ts";
import { firstOf, sumCosts } from "../../../core/base/preview.ts";
import type { Json } from "../../../core/base/values.ts";
import type { Update } from "../../../core/outward/testing/update.ts";
import { amount, colourDiff, duration, oneLine, type Paint, padTable } from "../../terminal/terminal.ts";

interface View {
  readonly paint: Paint;
  readonly isCompared: boolean;
}

/** Formats a case as `✔ triage.test.yml > a leak is filed once 12 ms`. */
export function describeCase(one: TestedCase, { paint, isCompared }: View): string {
  const mark = one.passed ? paint("green", "✔") : paint("red", "✘");
  const ms = one.runs.reduce((sum, run) => sum + run.durationMs, 0);
  const counted = one.runs.length > 1 ? ` ${one.passes} of ${one.runs.length}` : "";
  const model = isCompared ? paint("dim", ` [${plainLine(nameOfModel(one))}]`) : "";
  const title = `${plainLine(one.ready.loaded.file)} > ${plainLine(one.name)}`;
  return `${mark} ${title}${model}${counted} ${paint("dim", duration(ms))}\n`;
}

function nameOfModel(one: TestedCase): string {
  return modelOf(one) ?? "default";
}

const MOST_LINES = 40;

export async function describeFailures(failed: readonly TestedCase[], view: View): Promise<string> {
  const { structuredPatch } = await import("diff");
  const { paint } = view;
  const blocks = failed.map((one) => {
    const { loaded } = one.ready;
    const { line, column } = loaded.position(["cases", one.index, "name"]);
    const place = [plainLine(loaded.file), line, column].filter((part) => part !== undefined).join(":");
    const head = `${paint(["red", "bold"], "FAIL")} ${paint("bold", place)} > ${plainLine(one.name)}`;
    const model = view.isCompared ? ` [${plainLine(nameOfModel(one))}]` : "";
    const run = one.runs.find(({ failures }) => failures.length > 0);
    const told = (run?.failures ?? []).flatMap(({ path, message, expected, actual }) => {
      const { hunks } = structuredPatch("", "", textOf(expected), textOf(actual), "", "", { context: 3 });
      const lines = hunks.flatMap((hunk) => hunk.lines).filter((each) => !each.startsWith("\\"));
      return [`  ${paint("bold", plainLine(path))}: ${oneLine(message, 400)}`, ...shown(lines, paint)];
    });
    return [`${head}${model}`, ...told, ...prompts(run, paint, structuredPatch), ""].join("\n");
  });
  return `\n${paint("dim", "- expected, + actual")}\n${blocks.join("\n")}`;
}

type Patch = typeof import("diff").structuredPatch;

/** Describes each changed expectation with its old and new value. Warns if the test becomes weaker. */
export function describeUpdates({ ready, name }: TestedCase, updates: readonly Update[], paint: Paint): string {
  const rows = updates.map(({ path, before, after, weaker }) => {
    const change = `${before === undefined ? "nothing" : JSON.stringify(before)} -> ${JSON.stringify(after)}`;
    const row = `  ${paint("bold", plainLine(path))}: ${oneLine(change, 400)}`;
    return weaker === undefined ? row : `${row}\n    ${paint("yellow", `weaker: it ${oneLine(weaker, 400)}`)}`;
  });
  return `${plainLine(ready.loaded.file)} > ${plainLine(name)}\n${rows.join("\n")}\n`;
}

function prompts(run: TestedCase["runs"][number] | undefined, paint: Paint, structuredPatch: Patch): string[] {
  const isTold = run?.failures.some(({ path }) => path === "prompts");
  const [change] = run?.changed ?? [];
  if (!isTold || !change?.recorded) return [];
  const [before, after] = [change.recorded, change.now].map(
    ({ text, tools, output }) => `${text}\n${JSON.stringify({ tools, output }, undefined, 1)}\n`,
  );
  const { hunks } = structuredPatch("", "", before ?? "", after ?? "", "", "", { context: 1 });
  return [
    `  ${paint("bold", `the prompt of ${plainLine(change.node)}, step ${plainLine(change.key)}`)}`,
    ...shown(
      hunks.flatMap((hunk) => hunk.lines),
      paint,
    ),
  ];
}

function shown(lines: readonly string[], paint: Paint): string[] {
  const coloured = lines.map((line) => `    ${colourDiff(plainText(line).slice(0, 400), paint)}`);
  return firstOf(coloured, MOST_LINES, (more) => `    … ${amount(more, "line")} more`);
}

function textOf(value: Json | undefined): string {
  return value === undefined ? "" : `${JSON.stringify(value, undefined, 2)}\n`;
}

export function describeSummary(tested: readonly TestedCase[], left: readonly TestedCase[], { paint }: View): string {
  const failed = tested.filter(({ passed }) => !passed).length;
  const passed = tested.length - failed;
  const updated = failed - left.length;
  const parts = [
    ...(left.length > 0 ? [paint("red", `${left.length} failed`)] : []),
    ...(updated > 0 ? [paint("yellow", `${updated} updated`)] : []),
    paint("green", `${passed} passed`),
  ];
  return `\n${parts.join(", ")} (${amount(tested.length, "case")})\n`;
}

/** Formats as `coverage of triage.yml: 3 of 4 nodes, 2 of 3 edges, 0 of 0 steps`. */
export function describeCoverage({ workflow, parts }: Coverage, paint: Paint): string {
  const counts = Object.entries(parts).map(([kind, { reached, total }]) => {
    return paint(reached === total ? "green" : "yellow", `${reached} of ${total} ${kind}`);
  });
  return `coverage of ${plainLine(workflow)}: ${counts.join(", ")}\n`;
}

export function describeTable(tested: readonly TestedCase[], { paint }: View): string {
  const models = [...new Set(tested.map((one) => nameOfModel(one)))];
  const titles = [...new Set(tested.map((one) => `${one.ready.loaded.file} > ${one.name}`))];
  const find = (title: string, model: string) =>
    tested.find((one) => `${one.ready.loaded.file} > ${one.name}` === title && nameOfModel(one) === model);
  const rows = titles.map((title) => [
    oneLine(title, 60),
    ...models.map((model) => {
      const one = find(title, model);
      return one ? `${one.passed ? "✔" : "✘"} ${one.passes} of ${one.runs.length}` : "";
    }),
  ]);
  const totals = models.map((model) => {
    const runs = tested.filter((one) => nameOfModel(one) === model).flatMap((one) => one.runs);
    const tokens = runs.reduce((sum, run) => sum + run.tokens, 0);
    const cost = sumCosts(runs.map((run) => run.costUsd));
    return `${tokens} tokens, ${cost === null ? "unpriced" : `$${cost.toFixed(4)}`}`;
  });
  const table = [["", ...models.map((model) => oneLine(model, 40))], ...rows, ["", ...totals]];
  const [head = "", ...lines] = padTable(table);
  return `\n${[paint("bold", head), ...lines].join("\n")}\n`;
}
