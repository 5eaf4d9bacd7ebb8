import { structuredPatch } from "diff";
import { openingTexts, type Prompt } from "../../core/engine/event/prompt.ts";

/** Returns the lines of a diff of two prompts, each with its sign. */
export function diffPrompts(before: Prompt, after: Prompt): readonly string[] {
  const { hunks } = structuredPatch("", "", promptText(before), promptText(after), "", "", { context: 2 });
  return hunks.flatMap((hunk) => hunk.lines);
}

/** Formats a prompt as text with short lines, to keep diffs small. */
function promptText(prompt: Prompt): string {
  return [
    ...openingTexts(prompt),
    ...prompt.tools.map((tool) => `tool ${tool.name}: ${tool.description} ${JSON.stringify(tool.input_schema)}`),
    ...(prompt.output ? [`output ${JSON.stringify(prompt.output, undefined, 1)}`] : []),
    ...prompt.turns.map((turn) => JSON.stringify(turn, undefined, 1)),
  ].join("\n");
}
