import { compareRuns, type RunDiff } from "../../../app/runs/inspect.ts";
import { plainLine, plainText } from "../../../core/base/inert.ts";
import { firstOf, formatCost, formatCount, plural } from "../../../core/base/preview.ts";
import type { Json } from "../../../core/base/values.ts";
import { openProject } from "../../flags.ts";
import type { Action } from "../../io.ts";
import { colourDiff, jsonText, oneLine, type Paint, painter } from "../../terminal/terminal.ts";
import { statusMark } from "../../terminal/verdict.ts";

export const diffRuns: Action = async (io, [a = "", b = ""], flags) => {
  const found = await compareRuns(openProject(io, flags), a, b);
  const view = { paint: painter(io, flags), most: flags.verbose === true ? Number.POSITIVE_INFINITY : MOST_SHOWN };
  if (flags.json === true) await io.out(jsonText(found));
  else await io.outText(`${describeDiff(found, view).join("\n")}\n`);
  return found.same || flags.exitCode !== true ? 0 : 1;
};

/** Maximum number of values, calls or prompt lines shown per node without --verbose. */
const MOST_SHOWN = 40;
const MOST_TEXT = 200;

interface View {
  readonly paint: Paint;
  readonly most: number;
}

function describeDiff(found: RunDiff, view: View): string[] {
  const { paint } = view;
  const [a, b] = found.runs;
  const nodes = Object.entries(found.nodes).flatMap(([id, node]) => describeNode(id, node, view));
  const same = paint(["green", "bold"], "✔ same path, calls, results and prompts");
  return [
    describeRun("a", a, paint),
    describeRun("b", b, paint),
    "",
    ...(found.same ? [same, ""] : []),
    ...describePath(found.path, paint),
    ...nodes,
    ...(nodes.length > 0 && nodes.at(-1) !== "" ? [""] : []),
    describeCost(a, b),
  ];
}

type Compared = RunDiff["runs"][number];

function describeRun(side: "a" | "b", { id, status, verdict, model }: Compared, paint: Paint): string {
  const facts = [statusMark(status, paint), ...(verdict === null ? [] : [plainLine(verdict)]), plainLine(model)];
  return `${signOf(side, paint)} ${paint("bold", plainLine(id))}  ${facts.join(" · ")}`;
}

function signOf(side: "a" | "b", paint: Paint): string {
  return side === "a" ? paint("red", "-") : paint("green", "+");
}

function describePath({ first, a, b }: RunDiff["path"], paint: Paint): string[] {
  if (first === null) return [`${paint("bold", "path")}  ${wayOf(a)}`, ""];
  const common = a.findIndex((node, index) => node !== b[index]);
  const known = common === -1 ? a.length : common;
  const start = known === 0 ? "different from the first node on" : `${wayOf(a.slice(0, known))}, then`;
  const rest = (nodes: readonly string[]) => (nodes.length > known ? wayOf(nodes.slice(known)) : "the end");
  return [
    `${paint("bold", "path")}  ${start}`,
    `    ${signOf("a", paint)} ${rest(a)}`,
    `    ${signOf("b", paint)} ${rest(b)}`,
    "",
  ];
}

function wayOf(nodes: readonly string[]): string {
  return nodes.map(plainLine).join(" → ");
}

function describeNode(id: string, { status, data, calls, prompt }: RunDiff["nodes"][string], view: View): string[] {
  const { paint } = view;
  const values = data.map((each) => changed(plainLine(each.path || "result"), [textOf(each.a), textOf(each.b)], paint));
  const called = calls.map((call) => describeCall(call, paint));
  const lines = prompt === null ? [] : prompt.split("\n").map((line) => [`    ${colourDiff(plainText(line), paint)}`]);
  return [
    `${paint("bold", plainLine(id))}  ${statusWords(status, paint)}`,
    ...section("results", values, view),
    ...section("calls", called, view),
    ...section("prompt", lines, view),
    ...(status.a === null || status.b === null ? [] : [""]),
  ];
}

function statusWords({ a, b }: RunDiff["nodes"][string]["status"], paint: Paint): string {
  const [before, after] = [a ?? "not visited", b ?? "not visited"];
  return paint("dim", a === b ? before : `${before} → ${after}`);
}

function section(title: string, items: readonly (readonly string[])[], { paint, most }: View): string[] {
  const more = (left: number) => [`    ${paint("dim", `(${formatCount(left)} more: --verbose)`)}`];
  return items.length === 0 ? [] : [`  ${title}`, ...firstOf(items, most, more).flat()];
}

function changed(head: string, [a, b]: readonly [a: Text, b: Text], paint: Paint): string[] {
  const side = (name: "a" | "b", text: Text) => (text === undefined ? [] : [`      ${signOf(name, paint)} ${text}`]);
  return [`    ${head}`, ...side("a", a), ...side("b", b)];
}

type Text = string | undefined;
type Call = RunDiff["nodes"][string]["calls"][number];

/** Describes a call that only one run made, or that had different results. */
function describeCall({ tool, input, a, b }: Call, paint: Paint): string[] {
  const line = oneLine(`${tool} ${JSON.stringify(input)}`, MOST_TEXT);
  if (a && b) return changed(line, [outcomeText(a), outcomeText(b)], paint);
  return [`    ${signOf(a ? "a" : "b", paint)} ${line}`];
}

function outcomeText(outcome: NonNullable<Call["a"]>): string | undefined {
  if ("error" in outcome) return oneLine(`failed: ${outcome.error}`, MOST_TEXT);
  return "output" in outcome ? textOf(outcome.output) : "no result";
}

function textOf(value: Json | undefined): string | undefined {
  return value === undefined ? undefined : oneLine(JSON.stringify(value), MOST_TEXT);
}

function describeCost(a: Compared, b: Compared): string {
  const spent = ({ costUsd, tokens }: Compared) =>
    `${costUsd === null ? "cost unknown" : formatCost(costUsd)}, ${plural(tokens, "token")}`;
  return `cost  ${spent(a)} → ${spent(b)}`;
}
