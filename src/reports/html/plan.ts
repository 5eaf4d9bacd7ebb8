import { plural, shortText } from "../../core/base/preview.ts";
import { countStandings, openCount, type PlanView } from "../model/plan.ts";
import { operationSection, planIntro } from "../model/tree/plan.ts";
import { code, text, words } from "../model/tree/tree.ts";
import { html, type Markup } from "./markup/markup.ts";
import { pageHtml } from "./markup/page.ts";
import { blocksHtml } from "./markup/tree.ts";
export function planPage(plan: PlanView): string {
  const { run, workflow, operations } = plan;
  const title = `${shortText(workflow, 120)}: ${plural(operations.length, "planned write")}`;
  const head = html`<header class="head"><p class="kicker">run ${shortText(run, 120)}</p><h1>${title}</h1><p class="lead">${countStandings(plan)}</p></header>`;
  const sections = [{ id: "plan", title: "Operations", body: planHtml(plan, new Set()) }];
  const colophon = `Written by skillflow from the plan of run ${shortText(run, 120)}.`;
  return pageHtml({ title, head, sections, colophon });
}

/** Shows all operations in full, because approval covers all of their content. Links sources to calls on the page. */
export function planHtml(plan: PlanView, calls: ReadonlySet<string>): Markup {
  const ids = new Set(plan.operations.map(({ operation }) => operation.id));
  const intro = openCount(plan) > 0 ? planIntro(plan) : [text(words`Plan digest ${code(plan.digest)}`)];
  const operations = plan.operations.map((shown) => operationSection(shown));
  return html`<div class="callout info">${blocksHtml(intro)}</div>${blocksHtml(operations, (anchor) => calls.has(anchor) || ids.has(anchor))}`;
}
