import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  annotationOf,
  annotationsOfRefusal,
  annotationsOfRun,
  cutSummary,
  maskCommands,
  outputsOf,
  refusalSummary,
  stepSummary,
} from "../../../src/cli/ci/github.ts";
import type { Diagnostic } from "../../../src/core/base/diagnostic.ts";
import { SkillflowError } from "../../../src/core/base/errors.ts";
import { runsOf } from "../../harness/long.ts";
import { hostileText } from "../../reports/hostile-text.ts";
import { longRun, triageRun } from "../../reports/triage-run.ts";

describe("masks", () => {
  it("are one command for each secret, unabridged, and none for blank ones", () => {
    expect(maskCommands(["s3cret", "s3cret", "", " ", "50%\nline"])).toEqual([
      "::add-mask::s3cret",
      "::add-mask::50%25%0Aline",
    ]);
  });
});

describe("annotations", () => {
  it("are at the finding's place, with its code and its hint", () => {
    const diagnostic = {
      severity: "warning" as const,
      code: "UNKNOWN_SKILL" as const,
      message: "no skill is named slak",
      hint: "did you mean slack?",
      path: ["nodes", "page", "skills", 0],
      file: "a,b.yml",
      line: 4,
      column: 2,
    };
    expect(annotationOf(diagnostic)).toBe(
      "::warning file=a%2Cb.yml,line=4,col=2,title=UNKNOWN_SKILL::no skill is named slak%0Adid you mean slack?",
    );
  });

  it("have no place if the finding has none", () => {
    const diagnostic = { severity: "error" as const, code: "IO" as const, message: "no such file", path: [] };
    expect(annotationOf(diagnostic)).toBe("::error title=IO::no such file");
  });

  it("of a run list first its end, then failures, skills left out, and warnings", () => {
    const titles = annotationsOfRun(triageRun({ fails: true })).map((line) =>
      /^::(\w+) .*title=([^:]*)::/.exec(line)?.slice(1),
    );
    expect(titles.slice(0, 4)).toEqual([
      ["error", "Incident triage%3A failed"],
      ["warning", "Page the on-call engineer is degraded"],
      ["warning", "betterstack is missing"],
      ["warning", "slack is missing"],
    ]);
  });

  it("of a run are at the node, or at the one that runs the inner workflow", () => {
    const run = triageRun();
    const place = {
      ...run,
      record: { ...run.record, file: "w.yml" },
      placeOf: (node: string) => ({ line: node.length }),
    };
    const since = run.record.at;
    const waiting = ["gather", "each[a]/ok", "sub/each[b]/ok"].map((node) => ({ node, ask: "Shall it?", since }));
    const inside = { type: "warning", message: "odd", node: "gather", at: "each[a]" } as const;
    const event = { ...inside, seq: 0, time: since, epoch: 0, key: "k" };
    const told = annotationsOfRun({ ...place, result: { ...run.result, degraded: [], waiting }, events: [event] });
    expect(told.map((line) => /line=\d/.exec(line)?.[0])).toEqual(["line=6", "line=4", "line=3", "line=4"]);
  });

  it("of a run are limited to the number that GitHub shows", () => {
    expect(annotationsOfRun(longRun(1000))).toHaveLength(10);
  });

  it("are one command each, whatever a run's texts contain", () => {
    fc.assert(
      fc.property(hostileText, fc.boolean(), (text, fails) => {
        for (const line of annotationsOfRun(triageRun({ text, fails }))) {
          expect(line).toMatch(/^::(?:error|warning) (?:\w+=[^:,\r\n]*,?)+::[^\r\n]*$/);
        }
      }),
      { numRuns: runsOf(200) },
    );
  });
});

describe("a refusal to start", () => {
  const refusal = (text: string, diagnostics: readonly Diagnostic[] = []) =>
    new SkillflowError("usage.invalid", text, { hint: text, diagnostics });

  it("is reported once, or by each of its errors at its place", () => {
    const finding = { severity: "error", code: "IO", message: "no file", path: [], file: "w.yml", line: 3 } as const;
    expect(annotationsOfRefusal(refusal("wrong"))).toEqual(["::error title=usage.invalid::wrong%0Awrong"]);
    const found = refusal("wrong", [finding, { ...finding, severity: "warning" }]);
    expect(annotationsOfRefusal(found)).toEqual(["::error file=w.yml,line=3,title=IO::no file"]);
    expect(refusalSummary(found)).toContain("- `w.yml:3` no file");
    expect(annotationsOfRefusal("thrown").join()).toContain("internal.fault");
  });

  it("is one command and an inert summary, whatever its texts contain", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const finding = { severity: "error", code: "IO", message: text, path: [], file: text, line: 3 } as const;
        for (const error of [refusal(text), refusal(text, [finding])]) {
          for (const line of annotationsOfRefusal(error))
            expect(line).toMatch(/^::error (?:\w+=[^:,\r\n]*,?)+::[^\r\n]*$/);
          const shown = refusalSummary(error)
            .replace(/`[^`\n]*`/g, "")
            .replaceAll("<br>", "");
          expect(shown).not.toMatch(/[<@]|!\[|\]\(|^\s*::|##\[/m);
        }
      }),
      { numRuns: runsOf(200) },
    );
  });
});

describe("the step summary", () => {
  it("stays below 1 MiB for a run of 10,000 visits and for huge texts", () => {
    for (const report of [longRun(10_000), triageRun({ text: "ü".repeat(200_000) })]) {
      expect(new TextEncoder().encode(stepSummary(report)).length).toBeLessThan(1024 * 1024);
    }
  });

  it("is cut at the end of a line, by its bytes, with a note", () => {
    const cut = cutSummary("ünïcödé line\n".repeat(1000), 1000);
    expect(new TextEncoder().encode(cut).length).toBeLessThanOrEqual(1000);
    expect(cut).toMatch(/^(?:ünïcödé line\n)+\n\nTruncated: GitHub/);
    expect(cutSummary("short\n", 1000)).toBe("short\n");
  });

  it("is only the note when its first line is too long already", () => {
    expect(cutSummary("x".repeat(5000), 1000)).toMatch(/^\n\nTruncated: GitHub/);
  });
});

describe("outputs", () => {
  it("are written under their documented names", () => {
    const outputs = outputsOf(
      {
        "run-id": "r1",
        status: "succeeded",
        verdict: "incident",
        degraded: "gather,notify",
        "result-file": "out/result.json",
        "plan-file": "out/plan.json",
        "plan-count": 2,
        "plan-digest": "d1",
        "record-digest": "ab12",
        "cost-usd": 0.25,
        "input-tokens": 1200,
        "output-tokens": 0,
      },
      "END",
    );
    expect(readOutputs(outputs)).toEqual({
      "run-id": "r1",
      status: "succeeded",
      verdict: "incident",
      degraded: "gather,notify",
      "result-file": "out/result.json",
      "report-file": "",
      "plan-file": "out/plan.json",
      "plan-count": "2",
      "plan-digest": "d1",
      "record-digest": "ab12",
      "cost-usd": "0.25",
      "input-tokens": "1200",
      "output-tokens": "0",
    });
  });

  it("can be read back unchanged, even if a value contains the delimiter", () => {
    const value = fc.array(fc.constantFrom("END", "END_", "\n", "status<<END", "x")).map((parts) => parts.join(""));
    fc.assert(
      fc.property(value, value, (run, reportFile) => {
        const outputs = readOutputs(
          outputsOf({ "run-id": run, status: "failed", "report-file": reportFile, "plan-count": 0 }, "END"),
        );
        expect(outputs).toEqual({
          "run-id": run,
          status: "failed",
          verdict: "",
          degraded: "",
          "result-file": "",
          "report-file": reportFile,
          "plan-file": "",
          "plan-count": "0",
          "plan-digest": "",
          "record-digest": "",
          "cost-usd": "",
          "input-tokens": "",
          "output-tokens": "",
        });
      }),
    );
  });
});

/** Parses GITHUB_OUTPUT as the runner does. */
function readOutputs(text: string): Record<string, string> {
  const outputs: Record<string, string> = {};
  const lines = text.split("\n");
  while (lines.length > 1) {
    const [name = "", delimiter = ""] = (lines.shift() ?? "").split("<<");
    const end = lines.indexOf(delimiter);
    if (end === -1) throw new Error(`${name} never ends`);
    outputs[name] = lines
      .splice(0, end + 1)
      .slice(0, -1)
      .join("\n");
  }
  return outputs;
}
