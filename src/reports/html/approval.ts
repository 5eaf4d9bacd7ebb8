import { formatTime } from "../../core/base/preview.ts";
import { nodePath } from "../../core/document/inner/place.ts";
import { signalCommands } from "../../core/engine/result/signal-command.ts";
import type { Account } from "../model/account.ts";
import type { Visit } from "../model/visit.ts";
import { html, type Markup } from "./markup/markup.ts";

/** Shows an approval's question and decision, or the commands that answer it. */
export function approvalHtml({ asked, word, at, node }: Visit, account: Account): Markup | undefined {
  if (!asked) return undefined;
  const about =
    asked.digest === undefined ? undefined : html`<p class="meta">About the plan <code>${asked.digest}</code></p>`;
  const question = html`<p class="verse" dir="auto">${asked.ask}</p>${about}<p class="meta">asked ${formatTime(asked.time)}</p>`;
  return html`<section class="part approval"><h4>Asked of a person</h4>${question}${word ? wordHtml(word) : waitingHtml(account, nodePath(at, node))}</section>`;
}

function wordHtml({ approved, by, note, late, time }: NonNullable<Visit["word"]>): Markup {
  const said = late ? "not answered in time" : approved ? "approved" : "denied";
  const look = approved ? "success" : "skipped";
  const who = late ? "" : ` by ${by}`;
  const why = note === undefined ? undefined : html`<blockquote dir="auto">${note}</blockquote>`;
  return html`<p><span class="badge ${look}">${said}</span> <span dir="auto">${who}</span> <span class="meta">${formatTime(time)}</span></p>${why}`;
}

function waitingHtml(account: Account, node: string): Markup | undefined {
  if (account.result.status !== "waiting") return undefined;
  const { approve, deny } = signalCommands(account, { node });
  return html`<p>Yes: <code>skillflow ${approve}</code></p><p>No: <code>skillflow ${deny}</code></p>`;
}
