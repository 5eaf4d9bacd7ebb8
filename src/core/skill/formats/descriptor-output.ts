import type { JsonObject } from "../../base/values.ts";
import { asText, own } from "./descriptor-argv.ts";
import type { Execution, HintCondition } from "./descriptor-shapes.ts";

/** Appends the hints whose conditions hold, one per line. `input` includes defaults. */
export function addHints({ hintConditions = [] }: Pick<Execution, "hintConditions">, ended: Ended): string {
  const { output, input } = ended;
  const hints = hintConditions.filter((condition) => isMet(condition, ended));
  if (hints.length === 0) return output;
  const lines = hints.map(({ hint }) => `\nhint: ${fillHint(hint, input)}\n`);
  return (output === "" || output.endsWith("\n") ? output : `${output}\n`) + lines.join("");
}

interface Ended {
  readonly output: string;
  readonly code: number;
  readonly input: JsonObject;
}

function isMet({ match, exitCode, notEmpty, whenArg }: HintCondition, { output, code, input }: Ended): boolean {
  if ([match, exitCode, notEmpty, whenArg].every((condition) => condition === undefined)) return false;
  if (match !== undefined && !output.includes(match)) return false;
  if (exitCode !== undefined && !(exitCode === "nonzero" ? code !== 0 : code === exitCode)) return false;
  if (notEmpty && output === "") return false;
  return Object.entries(whenArg ?? {}).every(([name, wanted]) => {
    const given = own(input, name) ?? null;
    return given !== null && (given === wanted || (typeof wanted === "string" && asText(given) === wanted));
  });
}

/** Fills in a hint. `{name}` is a parameter's value. `{{` and `}}` are braces. */
function fillHint(hint: string, input: JsonObject): string {
  return hint.replace(/\{\{|\}\}|\{([^{}]+)\}/g, (found, name?: string) => {
    if (name === undefined) return found.charAt(0);
    return asText(own(input, name) ?? "");
  });
}

/** Cuts an output to the allowed number of lines and adds a notice. Hints do not count and are kept. */
export function limitLines(
  { maxOutputLines, truncationHint }: Pick<Execution, "maxOutputLines" | "truncationHint">,
  output: string,
): string {
  const lines = output.replace(/\n$/, "").split("\n");
  if (maxOutputLines === undefined || lines.length <= maxOutputLines) return output;
  const isHint = (line: string) => line.startsWith("hint:");
  const shown = lines.filter((line) => !isHint(line));
  const kept = shown.slice(0, maxOutputLines);
  const omitted = shown.length - kept.length;
  const numbered = /^(\d+)\t/.exec(kept.at(-1) ?? "")?.[1];
  const values: Readonly<Record<string, number>> = {
    kept: kept.length,
    total: lines.length,
    omitted,
    next_start: (numbered === undefined ? kept.length : Number(numbered)) + 1,
  };
  const hint = truncationHint?.replace(/\{(\w+)\}/g, (found, name: string) => String(values[name] ?? found));
  const notice = `[… ${omitted} of ${lines.length} lines left out]`;
  return [...kept, notice, ...(hint === undefined ? [] : [hint]), ...lines.filter(isHint)].join("\n");
}
