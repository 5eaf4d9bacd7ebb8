import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { renderReport } from "../../src/app/views/reports.ts";
import type { RunEvent } from "../../src/core/engine/event/event.ts";
import type { RunRecord } from "../../src/core/engine/event/record.ts";
import { reportHtml } from "../../src/reports/html/report.ts";
import { LONG, sliceOf } from "../harness/long.ts";
import { axeSource, CHROMIUM, lookAt } from "./browser.ts";
import { longRun, reportOf, triageRun } from "./triage-run.ts";

const [record, ...events] = readFileSync(join(import.meta.dirname, "../../workflows/incident-triage.run.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as unknown) as [RunRecord, ...RunEvent[]];
const recorded = reportOf(record, events);

const why = CHROMIUM === undefined ? ": left out, for there is no Chromium here" : "";

describe.skipIf(CHROMIUM === undefined)(`the report in a browser${why}`, () => {
  it.each(
    sliceOf([
      ["failed, and the screen small", triageRun({ fails: true }), 375],
      ["succeeded", recorded, 1200],
      ["degraded", triageRun(), 1200],
      ["unfinished", reportOf(record, events.slice(0, 49)), 1200],
      ["succeeded, and the screen small", recorded, 500],
    ] as const),
  )("is accessible and no wider than the screen if the run is %s", async (_what, report, width) => {
    const page = await renderReport("html", report);
    const script = `${axeSource()}; const fits = document.documentElement.scrollWidth <= innerWidth;
      for (const fold of document.querySelectorAll("details")) { fold.removeAttribute("name"); fold.open = true; }
      const { violations } = await axe.run(document);
      return { fits, violations: violations.map(({ id, nodes }) => id + ": " + nodes[0].html.slice(0, 200)) };`;
    expect(await lookAt(page, { width, script })).toEqual({ fits: true, violations: [] });
  });

  it("opens the call that a claim cites, with the quote marked in it", async () => {
    const page = reportHtml(recorded);
    const [, ref] = /<a class="cite" href="#(r\d+)">/.exec(page) ?? [];
    const script = `const call = document.getElementById("${ref}"); const folds = [];
      for (let at = call; at; at = at.parentElement) if (at.tagName === "DETAILS") folds.push(at.open);
      return { folds, seen: call.getBoundingClientRect().top < innerHeight, marked: call.querySelectorAll("mark").length > 0 };`;
    expect(await lookAt(page, { at: `#${ref}`, script })).toEqual({ folds: [true, true], seen: true, marked: true });
  });

  it("works with all visits of a long run", async () => {
    const visits = LONG ? 3333 : 333;
    const script = 'return document.querySelectorAll("details.visit").length;';
    expect(await lookAt(reportHtml(longRun(visits)), { script })).toBe(visits);
  });
});
