import { plainText } from "../../core/base/inert.ts";
import { firstOf } from "../../core/base/preview.ts";
import type { ChangedPrompt } from "../../core/engine/event/prompt.ts";
import { diffPrompts } from "../../reports/record/prompt-diff.ts";
import { amount, colourDiff, type Paint } from "./terminal.ts";

const MOST_SHOWN = 5;
const MOST_LINES = 60;

/** Describes the prompts that differ from the recorded ones, each as a diff. */
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
  if (!recorded) return `${title}\n    this version cannot rebuild the recorded prompt`;
  const lines = firstOf(diffPrompts(recorded, now), MOST_LINES, (left) => `… ${amount(left, "line")} more`);
  return [title, ...lines.map((line) => `    ${colourDiff(plainText(line), paint)}`)].join("\n");
}
