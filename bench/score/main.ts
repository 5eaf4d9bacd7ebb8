import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { PATHS, renderBoard } from "./board.ts";
import { investigate, type Score } from "./investigate.ts";
import { scoreLive } from "./live.ts";
import { readIncidents } from "./truth.ts";

const HELP = `Usage: npm run score -- [options]

Score the investigation of the recorded incidents.

  --write            write docs/scoreboard.md
  --model NAME       ask a live model instead of the recordings
  --runs N           runs of each incident with --model (default: 1)
  --incident NAME    score this incident only; may be repeated
  --help             print this help
`;

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        write: { type: "boolean", default: false },
        model: { type: "string" },
        runs: { type: "string", default: "1" },
        incident: { type: "string", multiple: true },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    return values;
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${HELP}`);
    process.exit(2);
  }
}

const values = readOptions();
if (values.help) {
  console.log(HELP);
  process.exit(0);
}
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
