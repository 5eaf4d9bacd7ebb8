import { formatTime } from "../../core/base/preview.ts";
import { nodePath } from "../../core/document/inner/place.ts";
import { signalCommands } from "../../core/engine/result/signal-command.ts";
import type { Account } from "../model/account.ts";
import { answerLines } from "../model/tree/run.ts";
import { type Block, badge, code, joinWords, span, text, words } from "../model/tree/tree.ts";
import type { Visit } from "../model/visit.ts";
import { html, type Markup } from "./markup/markup.ts";
import { blocksHtml } from "./markup/tree.ts";

/** Shows an approval's question and decision, or the commands that answer it. */
export function approvalHtml({ asked, word, at, node }: Visit, account: Account): Markup | undefined {
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
