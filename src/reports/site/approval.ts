import { planOf } from "../../core/engine/decide/planning.ts";
import type { Waiting } from "../../core/engine/event/end.ts";
import type { Operation } from "../../core/engine/event/operation.ts";
import { fold } from "../../core/engine/fold/fold.ts";
import { begin } from "../../core/engine/fold/state.ts";
import type { StoredRun } from "../../core/engine/ports.ts";
import { html } from "../html/markup/markup.ts";
import { sitePage } from "./page.ts";

/**
 * Creates the page of a one-time link with the question, its run and two buttons, without scripts. `by` is the approver.
 * The hidden button is the form's default, so that Enter in the text field does not approve.
 */
export function approvalPage({ waiting, by, stored }: { waiting: Waiting; by: string; stored: StoredRun }): string {
  const { record, events } = stored;
  const { ask, node, until, digest } = waiting;
  const operations = digest === undefined ? [] : planOf(events.reduce(fold, begin(record)));
  const plan =
    digest !== undefined && html`<p>The plan, with digest <code>${digest}</code>:</p>${operations.map(operationPart)}`;
  const body = html`<main class="word">
<h1>${record.workflow.name} asks for approval</h1>
<p class="ask">${ask}</p>
<p class="of">Run <code>${record.run}</code>, at <code>${node}</code>${until === undefined ? "" : `, until ${until}`}. Your decision is recorded as ${by}'s.</p>
${plan}
<form method="post">
<button disabled hidden></button>
<label>Reason (optional) <input name="note" maxlength="1000" autocomplete="off"></label>
<p class="say"><button name="word" value="approve">Approve</button> <button name="word" value="deny">Deny</button></p>
</form>
</main>`;
  return sitePage({ title: `${record.workflow.name} asks for approval`, body });
}

function operationPart({ id, skill, tool, audience, input }: Operation) {
  const reach = audience === "public" ? " (public)" : "";
  return html`<details open><summary>${id}: ${skill}.${tool}${reach}</summary><pre>${JSON.stringify(input, undefined, 2)}</pre></details>`;
}

export function toldPage(title: string, message: string): string {
  return sitePage({ title, body: html`<main class="word"><h1>${title}</h1><p>${message}</p></main>` });
}
