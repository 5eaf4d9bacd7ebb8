import { shortText } from "../../../base/preview.ts";
import { type Json, type JsonObject, toJson } from "../../../base/values.ts";
import { checkValues } from "../../../document/value-rule.ts";
import type { Evaluator, FunctionRule } from "../../../document/workflow/evaluator.ts";
import { callFailure, type EvalResult, type ToolCall } from "../../event/node-result.ts";
import type { ToolSet } from "../../fold/program.ts";

const MOST_REASONING = 500;

export function evaluateByCode(
  evaluator: Extract<Evaluator, { kind: "value" | "function" }>,
  data: JsonObject,
  calls: readonly ToolCall[],
  sameTool: ToolSet["same"],
): EvalResult {
  const isValue = evaluator.kind === "value";
  const complaints = isValue ? checkValues(evaluator.rule, data) : checkCalls(evaluator.rule, calls, sameTool);
  const praise = !isValue && calls.some((call) => call.planned) ? "planned" : undefined;
  return evalResult(evaluator, complaints.length === 0, complaints.join("; ") || praise);
}

export function evalResult(evaluator: Evaluator, pass: boolean, reasoning: string | undefined): EvalResult {
  const { name, kind } = evaluator;
  return { name, kind, pass, ...(reasoning ? { reasoning: shortText(reasoning, MOST_REASONING) } : {}) };
}

/** Checks the tool calls. A required call must have succeeded, but even a failed call violates `no_tool_called`. */
function checkCalls(rule: FunctionRule, calls: readonly ToolCall[], sameTool: ToolSet["same"]): string[] {
  const called = (name: string) => calls.some((call) => sameTool(name, call.tool));
  const succeeded = (name: string) => {
    return calls.some((call) => sameTool(name, call.tool) && callFailure(call) === undefined);
  };
  const complaints: string[] = [];
  if (rule.any_tool_called && !rule.any_tool_called.some(succeeded)) {
    complaints.push(`none of ${rule.any_tool_called.join(", ")} was called with success`);
  }
  for (const name of rule.all_tools_called ?? []) {
    if (!succeeded(name)) complaints.push(called(name) ? `${name} was called and failed` : `${name} was not called`);
  }
  for (const name of rule.no_tool_called ?? []) if (called(name)) complaints.push(`${name} was called`);
  return complaints;
}

/** Parses `VERDICT: <word>` and `REASONING: <text>`. Returns undefined if there is no verdict. */
export function parseVerdict(text: string, passWhen = "yes") {
  const word = /^[ \t*_#>-]*VERDICT[*_]*[ \t]*:[ \t*_]*(\S+)/im.exec(text)?.[1];
  if (word === undefined) return undefined;
  const plain = (value: string) => value.toLowerCase();
  const trimmed = (value: string) => plain(value).replace(/(?<![\p{P}\p{S}])[\p{P}\p{S}]+$/u, "");
  const pass = plain(word) === plain(passWhen) || trimmed(word) === plain(passWhen);
  const reasoning = /REASONING[*_]*\s*:[\s*_]*([\s\S]*)/i.exec(text)?.[1]?.trim();
  return { pass, reasoning: reasoning || `verdict ${word}` };
}

export function evalError(evals: readonly EvalResult[]): string {
  return ["eval failed (policy: all_pass):", ...failureLines(evals).map((line) => `  - ${line}`)].join("\n");
}

export function failureLines(evals: readonly EvalResult[]): string[] {
  const failed = evals.filter((result) => !result.pass);
  return failed.map((result) => `${result.name} (${result.kind}): ${result.reasoning ?? "failed"}`);
}

/** Returns the results by evaluator name, for paths and routing. If a name repeats, the last result wins. */
export function evalsByName(evals: readonly EvalResult[]): JsonObject {
  return Object.fromEntries(evals.map(({ name, ...rest }): [string, Json] => [name, toJson(rest)]));
}
