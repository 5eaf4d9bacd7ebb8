import { isAddress, logJson, revealText, slackLiteral, slackText } from "../../../core/base/inert.ts";
import { shortText } from "../../../core/base/preview.ts";
import { defined, type Json, type JsonObject } from "../../../core/base/values.ts";
import type { Waiting } from "../../../core/engine/event/end.ts";
import type { Operation } from "../../../core/engine/event/operation.ts";
import { nameOfNode } from "../../../core/engine/event/record.ts";
import { type Finding, findingOf } from "../../../core/engine/finding/finding.ts";
import { findingRoot } from "../../../core/engine/finding/write.ts";
import { stateOf } from "../../../core/engine/fold/fold.ts";
import type { StoredRun } from "../../../core/engine/ports.ts";
import { type Ask, leadOf } from "../../../core/engine/record/ask.ts";
import { endOf, waitsIn } from "../../../core/engine/result/waiting.ts";
import { type FeedbackLine, judgementsIn, withdrawalOf } from "../../../core/engine/state/feedback.ts";
import { isRedacted, linkOf, REDACTED_WARNING, type ShownOperation, viewReport } from "../../../reports/model/plan.ts";
import { hasEnded } from "../../runs/afterwards/verify.ts";
import { reportOf } from "../../runs/inspect.ts";

/** The message of a run in its thread. All text of the run is escaped: it mentions no one and links only to sources. */

export const LABELS = {
  approve: "Approve",
  deny: "Deny",
  show: "Show",
  right: "Right",
  partly: "Partly",
  wrong: "Wrong",
} as const;
type ActionId = keyof typeof LABELS;
const STYLES: { readonly [Id in ActionId]?: string } = { approve: "primary", deny: "danger" };

const MOST_OPERATIONS = 12;
const MOST_APPROVALS = 5;
const MOST_TEXT = 600;
const MOST_ESCAPED = 700;
/** Longest value that Slack accepts for a button. */
const MOST_VALUE = 2000;

/** Writes the message: the phase while the run continues, then its finding, its planned writes and the buttons. */
export function renderMessage(stored: StoredRun, lines: readonly FeedbackLine[]) {
  const { record, events } = stored;
  const { run, workflow } = record;
  const end = endOf(events);
  const status = statusText(stored);
  const lead = `*${safe(workflow.name)}* · ${status}`;
  const text = `${safe(workflow.name)}: ${status} (run ${run})`;
  if (end === undefined) return { text, blocks: [section(lead), footer(stored)], isOver: false, isFinal: false };
  const report = reportOf(stored);
  const found = findingRoot(inertSources(findingOf(stateOf(stored), record)));
  const waits = waitsIn(events);
  const { operations } = viewReport(report);
  const standings = operations.map((shown) => ({
    shown,
    withdrawal: withdrawalOf(lines, { run, ...shown.operation }),
  }));
  const isOpen = ({ shown, withdrawal }: (typeof standings)[number]) =>
    !withdrawal && ["planned", "failed", "refused"].includes(shown.now.standing);
  const shownOperations = standings.slice(0, MOST_OPERATIONS).flatMap((one) => {
    const { id, digest } = one.shown.operation;
    const ids: readonly ActionId[] = waits.length === 0 && isOpen(one) ? ["approve", "deny", "show"] : ["show"];
    return [section(operationText(one.shown, one.withdrawal)), ...buttons(id, ids, { run, op: id, digest })];
  });
  const more = operations.length - MOST_OPERATIONS;
  const isJudged = hasEnded(stored) && found !== undefined;
  const blocks = [
    section(lead),
    ...(typeof found?.slack === "string" ? [section(found.slack)] : [footer(stored)]),
    ...waits.slice(0, MOST_APPROVALS).flatMap((wait, index) => approvalBlocks(run, wait, index)),
    ...shownOperations,
    ...(more > 0 ? [section(`and ${more} more planned writes: \`skillflow apply ${safe(run)}\``)] : []),
    ...(isJudged ? [...buttons("judgement", ["right", "partly", "wrong"], { run }), ...judged(lines, run)] : []),
  ];
  const title = typeof found?.title === "string" ? `${safe(found.title)}. ${text}` : text;
  const isOver = hasEnded(stored);
  // It is final if no planned write waits for a decision.
  return { text: title, blocks, isOver, isFinal: isOver && !standings.some(isOpen) };
}

function statusText({ record, events }: StoredRun): string {
  const end = endOf(events);
  if (end === undefined) {
    const enter = events.findLast((event) => event.type === "node:enter" && event.at === undefined);
    return enter?.type === "node:enter" ? `running: ${safe(nameOfNode(record, undefined, enter.node))}` : "queued";
  }
  const { status, error, degraded = [] } = end;
  if (status === "waiting") return waitsIn(events).length > 0 ? "waiting for a decision" : "continuing";
  const less = status === "succeeded" && degraded.length > 0 ? ", degraded" : "";
  return `${status}${less}${error === undefined ? "" : `: ${safe(error.message)}`}`;
}

function approvalBlocks(run: string, wait: Waiting, index: number): JsonObject[] {
  const { node, ask, since, until, digest } = wait;
  const late = until === undefined ? "" : ` (until ${safe(until)})`;
  const plan = digest === undefined ? "" : `\nPlan \`${safe(digest)}\``;
  const value = { run, node, since, ...defined("digest", digest) };
  return [
    section(`*Approval${late}:* ${safe(ask)}${plan}`),
    ...buttons(`approval-${index + 1}`, ["approve", "deny", "show"], value),
  ];
}

function operationText({ operation, now }: ShownOperation, withdrawal: FeedbackLine | undefined): string {
  const { id, summary, audience } = operation;
  const reach = audience === "public" ? " (public)" : "";
  const by = now.by === undefined ? "" : ` by ${safe(now.by)}`;
  const link = linkOf(now.output);
  const state =
    withdrawal && now.standing !== "applied"
      ? `denied by ${safe(String(withdrawal.by))}`
      : {
          planned: "planned",
          applied: `applied${by}${isAddress(link) ? `: <${slackLiteral(link)}>` : ""}`,
          failed: `failed: ${safe(now.error ?? "")}`,
          in_doubt: `in doubt${by}: check whether the service has it`,
          skipped: "planned",
          refused: `refused: ${safe(now.error ?? "")}`,
          denied: `denied${by}`,
        }[now.standing];
  const redacted = isRedacted(operation) ? `\n${REDACTED_WARNING}` : "";
  return `*${id}*${reach} ${safe(summary)}\n_${state.replaceAll("\n", " ")}_${redacted}`;
}

function judged(lines: readonly FeedbackLine[], run: string): JsonObject[] {
  const line = judgementsIn(lines).get(run);
  if (!line) return [];
  const cause = line.cause === undefined ? "" : `: ${safe(line.cause)}`;
  return [context(`Judged ${line.judgement} by ${safe(line.by)}${cause}`)];
}

function footer({ record: { run, report_url } }: StoredRun): JsonObject {
  return context(`Run \`${safe(run)}\`${isAddress(report_url) ? ` · <${slackLiteral(report_url)}>` : ""}`);
}

/** Removes addresses that the run's input claims, because links may lead only to sources that tools returned. */
function inertSources(finding: Finding): Finding {
  const claims = finding.claims.map((claim) => ({
    ...claim,
    quotes: claim.quotes.map(({ url, ...quote }) =>
      quote.tool === undefined ? quote : { ...quote, ...defined("url", url) },
    ),
  }));
  return { ...finding, claims };
}

/** Escapes a text. One that would become too long is cut further, because Slack refuses a block of over 3000 characters. */
function safe(text: string): string {
  for (let most = MOST_TEXT; ; most = Math.floor(most / 2)) {
    const escaped = slackText(shortText(text, most));
    if (escaped.length <= MOST_ESCAPED) return escaped;
  }
}

function section(text: string): JsonObject {
  return { type: "section", text: { type: "mrkdwn", text, verbatim: true } };
}

function context(text: string): JsonObject {
  return { type: "context", elements: [{ type: "mrkdwn", text, verbatim: true }] };
}

/** Returns a row of buttons. Their value names what they are about, and its digest. */
function buttons(block_id: string, ids: readonly ActionId[], about: JsonObject): JsonObject[] {
  const value = JSON.stringify(about);
  if (value.length > MOST_VALUE) return [];
  const elements = ids.map((action_id): JsonObject => {
    const text = { type: "plain_text", text: LABELS[action_id] };
    return { type: "button", action_id, text, value, ...defined("style", STYLES[action_id]) };
  });
  return [{ type: "actions", block_id, elements }];
}

/** Parts of text that fit into one message and into one block. */
const MOST_SHOWN = 3800;
const MOST_BLOCK = 2900;
const BLOCKS_OF_PAGE = 12;

/** Returns the messages that show the operations' whole inputs, and the diffs of patches. */
export function renderInputs(title: string, operations: readonly Operation[]): Pick<JsonObject, string>[] {
  const text = operations.map(inputText).join("\n\n");
  const chunks = chunksOf(text === "" ? "This approval has no planned writes." : text);
  const pages: JsonObject[] = [];
  for (let at = 0; at < chunks.length; at += BLOCKS_OF_PAGE) {
    const part = chunks.slice(at, at + BLOCKS_OF_PAGE);
    const head = `${safe(title)}${at === 0 ? "" : " (continued)"}`;
    const whole = `${head}\n${fenced(part.join(""))}`;
    const blocks = [section(head), ...part.map((chunk) => section(fenced(chunk)))];
    pages.push({ text: whole, ...(whole.length > MOST_SHOWN ? { blocks } : {}) });
  }
  return pages;
}

function inputText({ id, skill, tool, input, digest, diff }: Operation): string {
  // JSON may escape backticks, so that the value stays the same and no fence ends early.
  const json = logJson(JSON.stringify(input, undefined, 2)).replaceAll("`", "\\u0060");
  const change = diff === undefined ? "" : `\n${revealText(diff).replace(/`(?=`)/g, "`\u200b")}`;
  return `${id} ${skill}.${tool} ${digest}\n${json}${change}`;
}

function fenced(escaped: string): string {
  return `\`\`\`\n${escaped}\n\`\`\``;
}

/** Escapes text and splits it into parts of limited length. No escape is split. */
function chunksOf(text: string): string[] {
  const chunks: string[] = [];
  let chunk = "";
  for (const mark of text) {
    const escaped = slackLiteral(mark);
    if (chunk.length + escaped.length > MOST_BLOCK) {
      chunks.push(chunk);
      chunk = "";
    }
    chunk += escaped;
  }
  return [...chunks, chunk];
}

export type AskedRun = Pick<Ask, "answer" | "claims" | "evidence">;

export function renderAnswer(asked: AskedRun): { readonly text: string; readonly blocks: Json } {
  const shown = asked.claims.slice(0, MOST_CLAIMS).map(({ claim, evidence }) => {
    const refs = [...new Set(evidence.map(({ ref }) => ref))]
      .slice(0, MOST_CLAIMS)
      .map((ref) => `\`${safe(ref)}\``)
      .join(", ");
    return section(`• ${safe(claim)} (${refs})`);
  });
  const { marks, text: said } = leadOf(asked);
  const lines = asked.answer.split(/\n+/).slice(0, MOST_LINES);
  const text = lines.map(safe).join("\n");
  const leads = [...marks.map((mark) => section(`_${mark}_`)), ...(said === undefined ? [] : [section(text)])];
  return { text, blocks: [...leads, ...shown] };
}

const MOST_CLAIMS = 10;
/** Number of an answer's lines that fit into a block. */
const MOST_LINES = 4;
