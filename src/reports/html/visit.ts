import type { BlobInfo } from "../../core/base/blobs.ts";
import {
  formatCost,
  formatCount,
  formatDuration,
  formatTime,
  plural,
  previewJson,
  shortText,
} from "../../core/base/preview.ts";
import { defined, isObject, type Json, type JsonObject } from "../../core/base/values.ts";
import { nodePath } from "../../core/document/inner/place.ts";
import type { EvalResult } from "../../core/engine/event/node-result.ts";
import { nodeAt } from "../../core/engine/event/record.ts";
import { judgeClaims } from "../../core/engine/finding/claims.ts";
import { signalCommands } from "../../core/engine/result/commands.ts";
import { costOf } from "../../core/engine/result/result.ts";
import type { Account } from "../model/account.ts";
import { usageOf } from "../model/costs.ts";
import { quotesOf } from "../model/evidence.ts";
import type { TimelineRow } from "../model/timeline.ts";
import { answerLines, claimLists } from "../model/tree/run.ts";
import { type Block, badge, code, joinWords, span, text, words } from "../model/tree/tree.ts";
import { complaintOf, durationOf, statusOf, statusWord, type Visit, type VisitCall } from "../model/visit.ts";
import { lastVisits } from "../model/visits.ts";
import { innerHtml } from "./inner.ts";
import { html, type Markup, OPEN } from "./markup/markup.ts";
import { blocksHtml } from "./markup/tree.ts";
import { folded, valueHtml } from "./markup/value.ts";
import { promptsOf, turnHtml } from "./turns.ts";
import type { Bars } from "./way.ts";

/** Number of events from which a page uses less markup, but not less text. */
const MANY_EVENTS = 3000;

type VisitPage = ReturnType<typeof visitPage>;

export function visitPage(account: Account, bars: Bars) {
  const { every, events } = account;
  return {
    isLarge: events.length > MANY_EVENTS,
    account,
    /** References of the calls on the page, each of which is an anchor. */
    refs: new Set(every.flatMap(({ calls }) => calls.map(({ ref }) => ref))),
    quotes: quotesOf(every),
    prompts: promptsOf(account),
    bars,
    /** Last visit of each node, whose claims are in the page's evidence section. */
    last: new Set(lastVisits(every)),
  };
}

/** Shows all of a visit: result, evals, turns, inner runs and route. Successful visits are folded. */
export function visitHtml(visit: Visit, page: VisitPage): Markup {
  const row = page.bars.rowOf(visit);
  const status = statusOf(visit);
  const { number, name } = visit;
  const body = [
    complaintHtml(visit),
    approvalHtml(visit, page.account),
    resultHtml(visit, page),
    evalsHtml(visit.result?.evals ?? []),
    !page.last.has(visit) && claimsHtml(visit, page),
    turnsHtml(row, page),
    innerHtml(visit, (each) => visitHtml(each, page)),
    routeHtml(visit, page),
  ];
  const open = status === "failed" || status === "degraded" || status === "active" || status === "stopped";
  const head = html`<summary><span class="dot ${status}" aria-hidden="true">${number}</span><h3 dir="auto">${name}</h3> <span class="badge ${status}">${statusWord(visit)}</span><span class="meta">${metaOf(visit)}</span></summary>`;
  const inside = html`<div class="inside" id="${visit.anchor}">${body}</div>`;
  return html`<details class="visit ${status}"${open && OPEN}>${head}${inside}</details>
`;
}

function metaOf(visit: Visit): string {
  const usage = usageOf([visit]);
  const [tokens, cost] = [usage.inputTokens + usage.outputTokens, costOf(usage)];
  const facts = [
    visit.node === visit.name ? "" : visit.node,
    visit.isTakenBack ? "taken back by resume --from" : "",
    visit.iteration > 1 ? `visit ${visit.iteration}` : "",
    formatDuration(durationOf(visit)),
    usage.modelCalls > 0 ? plural(usage.modelCalls, "model call") : "",
    visit.calls.length > 0 ? plural(visit.calls.length, "tool call") : "",
    tokens > 0 ? plural(tokens, "token") : "",
    usage.modelCalls > 0 && cost !== null ? formatCost(cost) : "",
  ];
  return facts.filter((fact) => fact !== "").join(" · ");
}

function complaintHtml(visit: Visit): Markup | undefined {
  const complaint = complaintOf(visit.result);
  const lacks = visit.degraded.map((reason) => html`<p class="complaint degraded" dir="auto">Degraded: ${reason}</p>`);
  if (complaint === "") return lacks.length === 0 ? undefined : html`${lacks}`;
  return html`<div class="complaint ${visit.result?.status ?? ""}" dir="auto">${folded(complaint, html`<span class="verse">${complaint}</span>`)}</div>`;
}

/** Shows the result without what the complaint or the inner runs already show. */
function resultHtml({ result, inner, asked }: Visit, { refs, isLarge }: VisitPage): Markup | undefined {
  if (!result || asked) return undefined;
  const said = { failed: "error", skipped: "skipped_reason", success: undefined }[result.status];
  const told = inner.length > 0 ? [said, "items", "results", "left", "failed"] : [said];
  const data = Object.fromEntries(Object.entries(result.data).filter(([key]) => !told.includes(key)));
  const { summary, ...rest } = data;
  if (summary === undefined && Object.keys(rest).length === 0) return undefined;
  const isText = typeof summary === "string" && Object.keys(rest).length === 0;
  const showing = { cites: (ref: string) => refs.has(ref), prose: true, compact: isLarge };
  return html`<section class="part"><h4>Result</h4>${valueHtml(isText ? summary : data, showing)}</section>`;
}

function evalsHtml(evals: readonly EvalResult[]): Markup | undefined {
  if (evals.length === 0) return undefined;
  const items = evals.map(({ name, kind, pass, reasoning, score }) => {
    const mark = pass ? html`<span class="badge success">pass</span>` : html`<span class="badge failed">fail</span>`;
    const scored = score === undefined ? "" : ` · score ${score}`;
    const why = reasoning && html`<p class="verse" dir="auto">${reasoning}</p>`;
    return html`<li>${mark}<div><strong dir="auto">${name}</strong> <span class="meta">${kind}${scored}</span>${why}</div></li>`;
  });
  return html`<section class="part"><h4>Evals</h4><ul class="checks">${items}</ul></section>`;
}

function turnsHtml(row: TimelineRow, page: VisitPage): Markup | undefined {
  const { turns, calls } = row.visit;
  if (turns.length === 0 && calls.length === 0) return undefined;
  const told = new Set(turns.flatMap((turn) => (turn.kind === "asked" ? turn.calls : [])));
  const cites = (ref: string) => page.refs.has(ref);
  const { data } = row.visit.result ?? {};
  const said = data && typeof data.summary === "string" ? data.summary : undefined;
  const shown = turns.map((turn) =>
    turnHtml(turn, { prompts: page.prompts, cites, said, callsHtml: (asked) => callsHtml(asked.calls, page) }),
  );
  const others = callsHtml(
    calls.filter((call) => !told.has(call)),
    page,
  );
  const title = turns.some((turn) => turn.kind === "asked") ? "Turn by turn" : "Calls";
  const list = shown.length > 0 && html`<ol class="turns">${shown}</ol>`;
  return html`<section class="part"><h4>${title}</h4>${page.bars.ofVisit(row)}${list}${others}</section>`;
}

/** Shows the claims of an earlier visit of a node. The page's evidence shows only the last visits. */
function claimsHtml(visit: Visit, { account }: VisitPage): Markup | undefined {
  const node = nodeAt(account.record, visit.at, visit.node);
  const claims = visit.evidence.flatMap((check) => judgeClaims(node, check));
  if (claims.length === 0) return undefined;
  return html`<section class="part"><h4>Claims and their quotes</h4>${blocksHtml(claimLists({ claims, missing: [], quoteOf: account.evidence.quoteOf }))}</section>`;
}

function callsHtml(calls: readonly VisitCall[], page: VisitPage): Markup | undefined {
  if (calls.length === 0) return undefined;
  return html`<div class="calls">${calls.map((call) => callHtml(call, page))}</div>`;
}

function callHtml(call: VisitCall, page: VisitPage): Markup {
  const { quotes, account, isLarge: compact } = page;
  const { ref, tool, input, outcome, attempt, endedAt, startedAt } = call;
  const took = endedAt === undefined ? "" : formatDuration(durationOf({ startedAt, endedAt }));
  const quoted = quotes.get(ref);
  const tried = attempt > 0 ? `attempt ${attempt + 1} · ` : "";
  return html`<details class="call"><summary><span class="number">${ref}</span><code>${tool}</code>
<span class="gist" dir="auto">${gistOf(input)}</span>${callBadge(call)}<span class="meta">${tried}${took}</span></summary>
<div class="exchange" id="${ref}">${quotedHtml(quoted)}<h5>Input</h5>${valueHtml(input, { cites: () => false, compact })}
${outcome && "error" in outcome && html`<h5>Error</h5><div class="complaint failed" dir="auto">${folded(outcome.error, html`<span class="verse">${outcome.error}</span>`)}</div>`}
${outcome && "output" in outcome && html`<h5>Output</h5>${valueHtml(outcome.output, { cites: () => false, compact, ...defined("quotes", quoted) })}`}${call.blobs.map((blob) => blobHtml(blob, account.blobs))}</div></details>
`;
}

/** Links a blob's file next to the run, if the blob folder is known. */
function blobHtml({ blob_id, kind, size_bytes }: BlobInfo, blobs: string | undefined): Markup {
  const name = blob_id.replace("blob:", "");
  const shown = html`<code>${blob_id}</code>`;
  const link = blobs === undefined ? shown : html`<a href="${encodeURI(`${blobs}/${name}`)}">${shown}</a>`;
  return html`<p class="meta">${link} · ${kind} · ${formatCount(size_bytes)} bytes</p>`;
}

function gistOf(input: Json): string {
  if (!isObject(input)) return previewJson(input, 160);
  const members = Object.entries(input as JsonObject).slice(0, 8);
  const texts = members.map(([key, value]) => {
    return `${key}: ${typeof value === "string" ? value.slice(0, 120) : previewJson(value, 120).replace(/\s+/g, " ")}`;
  });
  return shortText(texts.join(", "), 160);
}

function callBadge(call: VisitCall): Markup | undefined {
  if (!call.outcome) return html`<span class="badge active">no answer</span>`;
  if ("error" in call.outcome) return html`<span class="badge failed">failed</span>`;
  const { planned } = call;
  return planned === undefined ? undefined : html`<span class="badge active">planned ${planned}</span>`;
}

function routeHtml({ route, at }: Visit, { account, isLarge }: VisitPage): Markup | undefined {
  if (!route || (isLarge && route.reason === "only path")) return undefined;
  const why = route.reason === "only path" ? "" : `: ${route.reason}`;
  return html`<p class="onward" dir="auto"><span aria-hidden="true">→</span> <strong>${account.nameOf(route.to, at)}</strong>${why}</p>`;
}

/** Lists the quotes that claims take from a result, so that they are visible in any layout. */
function quotedHtml(quotes: ReadonlySet<string> | undefined): Markup | undefined {
  if (!quotes || quotes.size === 0) return undefined;
  const shown = [...quotes].map((quote) => html`<li><mark dir="auto">${quote}</mark></li>`);
  return html`<h5>Quoted by claims</h5><ul class="cites">${shown}</ul>`;
}

/** Shows an approval's question and decision, or the commands that answer it. */
function approvalHtml({ asked, word, at, node }: Visit, account: Account): Markup | undefined {
  if (!asked) return undefined;
  const plan = asked.digest === undefined ? [] : [text(words`for the plan with digest ${code(asked.digest)}`)];
  const isWaiting = account.result.status === "waiting";
  const open = isWaiting ? answerLines(signalCommands(account, { node: nodePath(at, node) })) : [];
  const question = [text([span("verse", asked.ask)]), ...plan, text([span("dim", `asked ${formatTime(asked.time)}`)])];
  return html`<section class="part approval"><h4>Approval</h4>${blocksHtml([...question, ...(word ? answerBlocks(word) : open)])}</section>`;
}

function answerBlocks({ approved, by, note, late, time }: NonNullable<Visit["word"]>): Block[] {
  const said = late ? "not answered in time" : approved ? "approved" : "denied";
  const who = late ? [] : words`by ${by}`;
  const line = joinWords([[badge(said, approved ? "success" : "skipped")], who, [span("dim", formatTime(time))]], " ");
  return [text(line), ...(note === undefined ? [] : [text([span("quote", note)])])];
}
