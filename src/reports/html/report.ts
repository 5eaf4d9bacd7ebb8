import { shortText } from "../../core/base/preview.ts";
import { accountOf } from "../model/account.ts";
import { countStandings, viewReport } from "../model/plan.ts";
import type { Report } from "../model/report.ts";
import { claimLists, evidenceTitle } from "../model/tree/run.ts";
import { auditHtml, costHtml } from "./audit.ts";
import { chronicleHtml } from "./chronicle.ts";
import { findingHtml, headHtml, oneSentence } from "./finding.ts";
import { html } from "./markup/markup.ts";
import { pageHtml, type Section } from "./markup/page.ts";
import { blocksHtml } from "./markup/tree.ts";
import { planHtml } from "./plan.ts";
import { visitHtml, visitPage } from "./visit.ts";
import { barsOf, wayHtml } from "./way.ts";

/**
 * Creates a self-contained page for a run, without scripts or network requests, readable on phones and paper.
 * The page starts with the findings and actions, then shows the evidence, then the course of the run. `graph` is its
 * drawing, as `embedSvg` returns it.
 */
export function reportHtml(report: Report, { graph }: { readonly graph?: string } = {}): string {
  const account = accountOf(report);
  const { visits, evidence } = account;
  const bars = barsOf(account);
  const page = visitPage(account, bars);
  const plan = viewReport(report);
  const incident = chronicleHtml(account);
  const sections: Section[] = [{ id: "finding", title: "The finding", body: findingHtml(account) }];
  if (incident) sections.push({ id: "incident", title: "What happened", note: "All times are UTC.", body: incident });
  if (evidence.claims.length + evidence.missing.length > 0) {
    const body = blocksHtml(claimLists(evidence));
    sections.push({ id: "evidence", title: "The evidence", note: evidenceTitle(evidence), body });
  }
  if (plan.operations.length > 0)
    sections.push({ id: "plan", title: `Planned writes: ${countStandings(plan)}`, body: planHtml(plan, page.refs) });
  if (visits.length > 0) {
    sections.push(
      { id: "way", title: "The path", body: wayHtml(account, bars, graph) },
      { id: "visits", title: "Visit by visit", body: html`${visits.map((visit) => visitHtml(visit, page))}` },
      { id: "cost", title: "Cost by node", body: costHtml(account) },
    );
  }
  sections.push({ id: "audit", title: "For auditors", body: auditHtml(account) });
  return pageHtml({
    title: shortText(oneSentence(account.headline), 120),
    head: headHtml(account),
    sections,
    style: bars.style(),
    colophon: `Written by skillflow from the recorded events of run ${shortText(report.result.run, 120)}.`,
  });
}
