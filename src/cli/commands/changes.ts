import { structuredPatch } from "diff";
import { type ChangedPrompt, openingTexts, type Prompt } from "../../core/prompt.ts";
import { plainText } from "../../reports/inert.ts";
import { amount, type Paint } from "../terminal.ts";

const MOST_SHOWN = 5;
const MOST_LINES = 60;

/** The prompts that differ from the recorded ones, each as a diff. */
export function describeChanges(changed: readonly ChangedPrompt[], paint: Paint): string {
  const shown = changed.slice(0, MOST_SHOWN).map((change) => describeChange(change, paint));
  const more = changed.length - shown.length;
  const head = paint(
    "yellow",
    `${amount(changed.length, "prompt")} changed since the recording; the recorded answers were used:`,
  );
  return [head, ...shown, ...(more > 0 ? [`and ${more} more`] : []), ""].join("\n");
}

function describeChange({ key, recorded, now }: ChangedPrompt, paint: Paint): string {
  const title = paint("bold", `  step ${key}`);
  if (!recorded) return `${title}\n    the recorded prompt cannot be rebuilt by this version`;
  const { hunks } = structuredPatch("", "", promptText(recorded), promptText(now), "", "", { context: 2 });
  const lines = hunks.flatMap((hunk) => hunk.lines);
  const cut = lines.length > MOST_LINES ? [`… ${amount(lines.length - MOST_LINES, "line")} more`] : [];
  return [
    title,
    ...[...lines.slice(0, MOST_LINES), ...cut].map((line) => `    ${colour(plainText(line), paint)}`),
  ].join("\n");
}

function colour(line: string, paint: Paint): string {
  if (line.startsWith("+")) return paint("green", line);
  return line.startsWith("-") ? paint("red", line) : paint("dim", line);
}

/** A prompt as text, one fact a line, so that a diff is small. */
function promptText(prompt: Prompt): string {
  return [
    ...openingTexts(prompt),
    ...prompt.tools.map((tool) => `tool ${tool.name}: ${tool.description} ${JSON.stringify(tool.input_schema)}`),
    ...(prompt.output ? [`output ${JSON.stringify(prompt.output, undefined, 1)}`] : []),
    ...prompt.turns.map((turn) => JSON.stringify(turn, undefined, 1)),
  ].join("\n");
}
