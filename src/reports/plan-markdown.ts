import { logText, markdownBlock, markdownCode, markdownLine } from "../core/base/inert.ts";
import { formatCount, formatTime, plural, shortText } from "../core/base/preview.ts";
import {
  countStandings,
  isRedacted,
  linkOf,
  openCount,
  type PlanView,
  REDACTED_WARNING,
  reviewInput,
  type ShownOperation,
  STANDING_WORDS,
} from "./model/plan.ts";

/** Creates a pull request comment for a plan, within GitHub's size limit and with all content escaped. */
export function planMarkdown(plan: PlanView): string {
  const { workflow, operations } = plan;
  const heading = `## ${line(workflow, 160)}: ${plural(operations.length, "planned write")}, ${countStandings(plan)}`;
  return `${heading}\n\n${planSection(plan, MOST_COMMENT - heading.length - 4)}\n`;
}

/** Size limit, below GitHub's 65,536 characters. */
const MOST_COMMENT = 65_000;

/** Shows the operations for review within a number of characters, and says which ones do not fit. */
export function planSection(plan: PlanView, most: number): string {
  const intro = introOf(plan);
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

function introOf(plan: PlanView): string {
  const { run, digest } = plan;
  const facts = `run ${code(run)} · plan digest ${code(digest)}`;
  const open = openCount(plan);
  if (open === 0) return facts;
  const command = code(`skillflow apply ${run} --yes --plan-digest ${digest}`);
  return `${facts}${GAP}${plural(open, "write")} to apply. What is approved is the content: ${command}`;
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
  if (rest.length === 0) return `The whole of it: ${code(`skillflow apply ${run}`)}`;
  const lines: string[] = [];
  let left = MOST_LISTED;
  for (const { operation } of rest) {
    const told = `- ${code(operation.id)} ${line(operation.summary, 160)} ${code(operation.digest)}`;
    if (told.length > left) break;
    lines.push(told);
    left -= told.length + 1;
  }
  const beyond = rest.slice(lines.length);
  const counts = new Map<string, number>();
  for (const { operation } of beyond) {
    const tool = `${operation.skill} ${operation.tool}`;
    counts.set(tool, (counts.get(tool) ?? 0) + 1);
  }
  const told = [...counts].slice(0, 12).map(([tool, count]) => `${formatCount(count)} × ${code(shortText(tool, 80))}`);
  return [
    `### ${plural(rest.length, "operation")} without room here`,
    `Look at all of them before you approve: ${code(`skillflow apply ${run}`)}`,
    ...(lines.length > 0 ? [lines.join("\n")] : []),
    ...(beyond.length > 0
      ? [`…and ${formatCount(beyond.length)} more: ${told.join(", ")}${counts.size > 12 ? ", …" : ""}`]
      : []),
  ].join(GAP);
}

/** Shows an operation, optionally with limited space for its input. */
function operationMarkdown({ operation, readAs, now }: ShownOperation, room = Number.POSITIVE_INFINITY): string {
  const { id, node, visit, skill, tool, summary, audience, digest, sources, refers, held, filtered = [] } = operation;
  const read = sources.map(({ ref, tool: by, node: at }) => sourceMarkdown(ref, by, at)).slice(0, MOST_SOURCES);
  const unsaid = sources.length - read.length;
  const facts = [
    ...(now.standing === "planned" ? [] : [`**${standingMarkdown(now)}**`]),
    `${code(`${skill} ${tool}`)}, planned by ${code(node)}${visit > 1 ? `, visit ${visit}` : ""}${refers.length > 0 ? `, after ${refers.slice(0, MOST_SOURCES).map(code).join(", ")}` : ""}`,
    audience === "public" ? "**public**: everybody can read it" : "read by the team",
    ...(operation.node_failed ? ["⚠️ its node failed"] : []),
    ...(held ? ["⚠️ held: the text comes from a private source and the target is public"] : []),
    readAs !== undefined
      ? `its node had read what strangers write: the same as before ${code(readAs)}`
      : read.length === 0
        ? "its node had read nothing that strangers write"
        : `its node had read what strangers write: ${read.join(", ")}${unsaid > 0 ? ` and ${formatCount(unsaid)} more` : ""}`,
    ...filtered.map(({ kind, count }) => `taken out of the input: ${plural(count, kind)}`),
    ...(isRedacted(operation) ? [`⚠️ ${REDACTED_WARNING}`] : []),
    `digest ${code(digest)}`,
  ];
  return [
    `### ${id}: ${line(summary, 160)}`,
    facts.map((fact) => `- ${fact}`).join("\n"),
    ...inputMarkdown(operation.input, room),
  ].join(GAP);
}

const MOST_SOURCES = 20;

function sourceMarkdown(ref: string, tool: string | undefined, node: string | undefined): string {
  if (tool === undefined) return ref === "input" ? "the run's input" : code(ref);
  return `${code(`${ref} ${tool}`)}${node === undefined ? "" : ` in ${code(node)}`}`;
}

function standingMarkdown({ standing, by, at, output, error, existing }: ShownOperation["now"]): string {
  const link = standing === "applied" ? linkOf(output) : undefined;
  const told = [
    `${STANDING_WORDS[standing]}${by === undefined ? "" : ` by ${line(by, 120)}`}`,
    ...(at === undefined ? [] : [line(formatTime(at), 40)]),
    ...(existing ? ["it was there already"] : []),
    ...(link === undefined ? [] : [code(shortText(link, 500))]),
    ...(error === undefined ? [] : [line(error, 600)]),
  ];
  return told.join(" · ");
}

function inputMarkdown(input: ShownOperation["operation"]["input"], room: number): string[] {
  const { json, texts } = reviewInput(input);
  let left = room;
  let lost = 0;
  const cut = (text: string) => {
    const kept = text.slice(0, Math.max(0, Math.floor(left))).replace(/[\ud800-\udbff]$/, "");
    left -= kept.length;
    lost += text.length - kept.length;
    return kept;
  };
  const blocks = [
    ...(json === undefined ? [] : [markdownBlock(cut(json), "json")]),
    ...texts.flatMap(({ name, text }) => [`${code(name)}:`, markdownBlock(cut(logText(text)), "text")]),
  ];
  return lost === 0
    ? blocks
    : [...blocks, `**Cut here:** ${formatCount(lost)} more characters of this input are not shown.`];
}

function line(text: string, most: number): string {
  return markdownLine(shortText(text, most));
}

function code(text: string): string {
  return markdownCode(text);
}
