import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { benchPages, NAMES, RESULTS, readResults } from "../../bench/pages.ts";
import { renderPerformance } from "../../bench/performance.ts";
import { type Cell, type Result, type Row, result } from "../../bench/results.ts";

/** The pages of measurements contain what was measured, and nothing else. */

describe("the results of the bench", () => {
  it("are in files of one shape, each for an existing table", () => {
    const files = readdirSync(RESULTS).sort();
    expect(files).toEqual(NAMES.map((name) => `${name}.json`).sort());
    expect(readResults().map(({ name }) => name)).toEqual([...NAMES]);
  });

  it.each(benchPages(readResults()))("are the content of %s (npm run bench -- --write)", (path, text) => {
    expect(readFileSync(path, "utf8")).toBe(text);
  });
});

function measured(rows: readonly Partial<Row>[], better: "less" | "more" = "less"): Result {
  return result.parse({
    schema: "skillflow.bench/1",
    name: "race",
    title: "A race",
    how: "They run.",
    at: "2026-01-01T00:00:00.000Z",
    rounds: 3,
    isThorough: false,
    machine: { cpu: "a processor", cores: 2, memoryGb: 8, system: "Linux", node: "20.20.2", load: 0.1 },
    columns: [{ name: "time", unit: "ms", better }],
    rows: rows.map((row, index) => ({ name: `row ${index}`, ...row })),
  });
}

const time = <Value = Cell>(value: Value) => ({ time: value });

describe("the page of performance", () => {
  it("shows medians, the spread of the rounds, and a peer's ratio to the best own row", () => {
    const page = renderPerformance([
      measured([
        { name: "we", kind: "ours", cells: time([10, 12, 11]) },
        { name: "we too", kind: "ours", cells: time([20, 20, 20]) },
        { name: "they", kind: "peer", cells: time([20, 24, 22]) },
        { name: "bare", kind: "limit", cells: time([1, 1, 1]) },
      ]),
    ]);
    expect(page).toContain("| **we** | 11 ± 9 % |\n| **we too** | 20 |\n| they | 22 ± 9 % (2x) |\n| bare | 1 |");
    expect(page).toContain("`npm run bench -- race`, 3 rounds.");
    expect(page).toContain("2 cores (a processor), 8 GB, Linux, Node 20.20.2");
    expect(page).toContain("Nowhere, against these peers.");
  });

  it.each([
    ["less", [5, 5, 5], "time 2.0x"],
    ["more", [30, 30, 30], "time 3.0x"],
  ] as const)("states plainly in which rows a peer is better, and by how much: %s is better", (better, cell, told) => {
    const page = renderPerformance([
      measured(
        [
          { name: "we", kind: "ours", cells: time([10, 10, 10]) },
          { name: "they", kind: "peer", cells: time([...cell]) },
        ],
        better,
      ),
    ]);
    expect(page).toContain(`- they (\`race\`): ${told}`);
  });

  it("compares only rows that promise the same", () => {
    const page = renderPerformance([
      measured([
        { name: "we, on disk", kind: "ours", group: "durable", cells: time([100]) },
        { name: "we, in memory", kind: "ours", group: "memory", cells: time([10]) },
        { name: "they, in memory", kind: "peer", group: "memory", cells: time([40]) },
      ]),
    ]);
    expect(page).toContain("| they, in memory | 40 (4x) |");
  });

  it("states why there is no number", () => {
    const page = renderPerformance([measured([{ name: "they", kind: "peer", cells: time("cannot be installed") }])]);
    expect(page).toContain("| they | cannot be installed |");
  });

  it("checks promises against measurements, as a number or as a ratio to another row", () => {
    const rows = [
      { name: "we", kind: "ours", cells: time([10]), promises: time({ most: 20 }) },
      { name: "we again", kind: "ours", cells: time([30]), promises: time({ most: 2, of: "we" }) },
    ] as const;
    const page = renderPerformance([measured(rows)]);
    expect(page).toContain("1 of 2 are kept");
    expect(page).toContain("| we, time | 10 ms | at most 20 ms | 2.00x |");
    expect(page).toContain("| we again, time against we | 3x | at most 2x | 0.67x **missed** |");
  });

  it("does not count an unmeasured promise as kept", () => {
    const promises = time({ most: 20 });
    const page = renderPerformance([measured([{ name: "we", kind: "ours", cells: time("over 20 s"), promises }])]);
    expect(page).toContain("0 of 1 are kept");
    expect(page).toContain("| we, time | not measured: over 20 s | at most 20 ms | – |");
  });

  it("warns about numbers from a busy machine", () => {
    const one = measured([{ name: "we", kind: "ours", cells: time([10]) }]);
    expect(renderPerformance([{ ...one, machine: { ...one.machine, load: 9 } }])).toContain("at other work too");
    expect(renderPerformance([one])).not.toContain("at other work too");
  });
});
