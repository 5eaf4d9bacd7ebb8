import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PATHS, renderBoard, scoreLines } from "../../bench/score/board.ts";
import { investigate } from "../../bench/score/investigate.ts";
import { scoreLive } from "../../bench/score/live.ts";
import { readIncidents } from "../../bench/score/truth.ts";
import { LONG } from "../harness/long.ts";

/** The scoreboard is what the scripted investigators find, and nobody's opinion. */

const root = join(import.meta.dirname, "..", "..");
const incidents = readIncidents(root);
const board = () => readFileSync(join(root, "docs/scoreboard.md"), "utf8");

describe("the scoreboard", () => {
  /** The whole of it takes longer than a quick test may. */
  const some = incidents.filter(({ name }) => LONG || name === "upload-limit");

  it.each(some.map((incident) => [incident.name, incident] as const))(
    "says of an incident what the investigators find today (npm run score -- --write): %s",
    async (_name, incident) => {
      const scores = [];
      for (const path of PATHS) scores.push(await investigate(incident, path));
      expect(scores.flatMap(({ failures }) => failures)).toEqual([]);
      expect(board()).toContain(scoreLines(incident, scores));
    },
  );

  it("has rows for every incident", () => {
    for (const { name } of incidents) expect(board()).toContain(`| \`${name}\` |`);
  });

  it.runIf(LONG)("is wholly made from what is found", { timeout: 300_000 }, async () => {
    const scores = [];
    for (const incident of incidents) for (const path of PATHS) scores.push(await investigate(incident, path));
    expect(renderBoard(incidents, scores)).toBe(board());
  });
});

describe("the score of a live model", () => {
  it("compares the shipped workflow's answer with what is true", async () => {
    const [checkout] = incidents.filter(({ name }) => name === "checkout-5xx");
    if (!checkout) throw new Error("the incident is gone");
    const model = `script:${join(root, "workflows/incident-triage.script.yml")}`;
    const [head, , row] = (await scoreLive(root, [checkout], model, 1)).split("\n");
    const cells = (line = "") => line.split(" | ").map((cell) => cell.replace(/^\| | \|$/g, ""));
    const told = Object.fromEntries(cells(head).map((name, index) => [name, cells(row)[index]]));
    expect(told).toMatchObject({ Commit: "1/1", Decoys: "0" });
  });
});
