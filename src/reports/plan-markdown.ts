import { logText } from "../core/base/inert.ts";
import { formatCount, plural, shortText } from "../core/base/preview.ts";
import { lineMarkdown, markdownOf } from "./markdown-writer.ts";
import { countStandings, type PlanView, type ShownOperation } from "./model/plan.ts";
import { operationSection, planIntro } from "./model/tree/plan.ts";
import { type Block, code, command, joinWords, section, text, type Words, words } from "./model/tree/tree.ts";

/** Creates a pull request comment for a plan, within GitHub's size limit and with all content escaped. */
export function planMarkdown(plan: PlanView): string {
  const { workflow, operations } = plan;
  const title = words`${shortText(workflow, 160)}: ${plural(operations.length, "planned write")}, ${countStandings(plan)}`;
  const heading = markdownOf([section(title, [])], 2);
  return `${heading}\n\n${planSection(plan, MOST_COMMENT - heading.length - 4)}\n`;
}

/** Size limit, below GitHub's 65,536 characters. */
const MOST_COMMENT = 65_000;

/** Shows the operations for review within a number of characters, and says which ones do not fit. */
export function planSection(plan: PlanView, most: number): string {
  const intro = markdownOf([text(words`run ${code(plan.run)} · plan digest ${code(plan.digest)}`), ...planIntro(plan)]);
  const whole = plan.operations.map((shown) => operationMarkdown(shown));
  if (intro.length + sizeOf(whole) <= most) return [intro, ...whole].join(GAP);
  const room = most - intro.length - MOST_REST;
  const shown = fitting(plan.operations, whole, Math.max(0, room - MOST_LISTED));
  return [intro, ...shown, restMarkdown(plan, shown.length)].join(GAP);
}

const GAP = "\n\n";
/** Space reserved for the one-line list of the remaining operations, and for the closing text. */
const MOST_LISTED = 10_000;
const MOST_REST = 2_000;

function sizeOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length + GAP.length, 0);
}

/** Returns the first operations that fit. Cuts an operation that is too long on its own. */
function fitting(operations: readonly ShownOperation[], whole: readonly string[], room: number): string[] {
  const shown: string[] = [];
  let left = room;
  for (const [index, text] of whole.entries()) {
    const operation = operations[index];
    if (text.length > left && (left < LEAST_SHOWN || !operation)) break;
    const fits = text.length > left && operation ? operationMarkdown(operation, left - LEAST_SHOWN / 2) : text;
    if (fits.length > left) break;
    shown.push(fits);
    left -= fits.length + GAP.length;
  }
  return shown;
}

const LEAST_SHOWN = 4_000;

function restMarkdown({ run, operations }: PlanView, from: number): string {
  const rest = operations.slice(from);
  const apply = command(`apply ${run}`);
  if (rest.length === 0) return markdownOf([text(words`Full plan: ${apply}`)]);
  const lines: string[] = [];
  let left = MOST_LISTED;
  for (const { operation } of rest) {
    const told = `- ${lineMarkdown(words`${code(operation.id)} ${operation.summary} ${code(operation.digest)}`, 160)}`;
    if (told.length > left) break;
    lines.push(told);
    left -= told.length + 1;
  }
  const intro = text(words`Review all of them before you approve: ${apply}`);
  const beyond = rest.slice(lines.length);
  return [
    markdownOf([section(words`${plural(rest.length, "operation")} without room here`, [intro])]),
    ...(lines.length > 0 ? [lines.join("\n")] : []),
    ...(beyond.length > 0 ? [markdownOf([text(beyondWords(beyond))])] : []),
  ].join(GAP);
}
function beyondWords(operations: readonly ShownOperation[]): Words {
  const counts = new Map<string, number>();
  for (const { operation } of operations) {
    const tool = shortText(`${operation.skill} ${operation.tool}`, 80);
    counts.set(tool, (counts.get(tool) ?? 0) + 1);
  }
  const told = [...counts].slice(0, 12).map(([tool, count]) => words`${formatCount(count)} × ${code(tool)}`);
  return words`…and ${formatCount(operations.length)} more: ${joinWords(told, ", ")}${counts.size > 12 ? ", …" : ""}`;
}

const MOST_SOURCES = 20;

function operationMarkdown(shown: ShownOperation, room = Number.POSITIVE_INFINITY): string {
  const operation = operationSection(shown, MOST_SOURCES);
  let left = Math.max(0, Math.floor(room));
  let lost = 0;
  const cut = (block: Block): Block => {
    if (block.kind !== "code") return block;
    const whole = logText(block.text);
    const kept = whole.slice(0, left).replace(/[\ud800-\udbff]$/, "");
    left -= kept.length;
    lost += whole.length - kept.length;
    return { ...block, text: kept };
  };
  const parts = operation.parts.map(cut);
  const note = text(words`Truncated: ${formatCount(lost)} more characters of this input are not shown.`, "skipped");
  return markdownOf([{ ...operation, parts: lost === 0 ? parts : [...parts, note] }]);
}
