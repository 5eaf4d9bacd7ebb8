import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { PATHS, renderBoard } from "./board.ts";
import { investigate, type Score } from "./investigate.ts";
import { scoreLive } from "./live.ts";
import { readIncidents } from "./truth.ts";

const { values } = parseArgs({
  options: {
    write: { type: "boolean", default: false },
    model: { type: "string" },
    runs: { type: "string", default: "1" },
    incident: { type: "string", multiple: true },
  },
});
const root = process.cwd();
const incidents = readIncidents(root).filter(({ name }) => values.incident?.includes(name) ?? true);
if (values.model) console.log(await scoreLive(root, incidents, values.model, Number(values.runs)));
else {
  const scores: Score[] = [];
  for (const incident of incidents) for (const path of PATHS) scores.push(await investigate(incident, path));
  const board = renderBoard(incidents, scores);
  if (values.write) writeFileSync("docs/scoreboard.md", board);
  console.log(board);
}
