import type { Score } from "./investigate.ts";
import { INVESTIGATORS } from "./investigators.ts";
import type { Incident } from "./truth.ts";

/** docs/scoreboard.md, from the scores of the scripted investigators alone. */

export const PATHS = Object.keys(INVESTIGATORS);

export function renderBoard(incidents: readonly Incident[], scores: readonly Score[]): string {
  return `# Scoreboard

What the tools of \`logs\` and \`git\` bring to light of the incidents in [\`workflows/incidents\`](../workflows/incidents/README.md).
Made by \`npm run score -- --write\`; nothing here is filled in by hand.

No model takes part. Each way is a script that knows what a model would know, the alert and what the tools answered, and
asks the same whatever the incident: **by time** (troubled lines over time, the first of them, the lines around the alert
and around the steepest rise), **by change** (deploys, history, diff of the last two deploys, the latest commits), **by
service** (shapes of troubled lines, a sample of each log, errors, metrics, deploys), **by search** (the alert's words).

A **needle** is a text that proves the cause, a **decoy** one that points elsewhere: both are found when they stand in a
tool's result as a model would see it. **Tokens** are the characters of the tools' results, divided by four and rounded to
two digits.

## In all

${table(["Way", "Needles", "Decoys met", "Calls", "Tokens"], totals(incidents, scores))}

## Each incident

${headOf(["Incident", "Cause", "Way", "Needles", "Decoys met", "Calls", "Tokens"])}
${incidents.map((incident) => scoreLines(incident, scores)).join("\n")}

## Needles that no way finds

${missed(incidents, scores)}
`;
}

function scoreRow({ needles, decoys, calls, tokens }: Score): string[] {
  return [share(needles), share(decoys), String(calls), rounded(tokens)];
}

function totals(incidents: readonly Incident[], scores: readonly Score[]): string[][] {
  const rows = PATHS.map((path) => [path, ...scoreRow(sum(scores.filter((score) => score.path === path)))]);
  const together = incidents.map(({ name }) => union(scores.filter(({ incident }) => incident === name)));
  return [...rows, ["all four", ...scoreRow(sum(together))]];
}

/** The lines of one incident. */
export function scoreLines({ name, truth }: Incident, scores: readonly Score[]): string {
  const { verdict, cause } = truth;
  const kind = verdict === "incident" ? cause.kind : `${cause.kind} (${verdict.replace("_", " ")})`;
  const own = scores.filter(({ incident }) => incident === name);
  const lines = own.map((score, index) => {
    const isFirst = index === 0;
    return lineOf([isFirst ? `\`${name}\`` : "", isFirst ? kind : "", score.path, ...scoreRow(score)]);
  });
  return lines.join("\n");
}

function missed(incidents: readonly Incident[], scores: readonly Score[]): string {
  const lines = incidents.flatMap(({ name, truth }) => {
    const { needles } = union(scores.filter(({ incident }) => incident === name));
    return truth.needles
      .filter((_, index) => !needles[index])
      .map(({ text, proves }) => `- \`${name}\`: \`${text}\` (${proves})`);
  });
  return lines.length > 0 ? lines.join("\n") : "None.";
}

function sum(scores: readonly Score[]): Score {
  return {
    incident: "",
    path: "",
    needles: scores.flatMap(({ needles }) => needles),
    decoys: scores.flatMap(({ decoys }) => decoys),
    calls: scores.reduce((total, { calls }) => total + calls, 0),
    tokens: scores.reduce((total, { tokens }) => total + tokens, 0),
    failures: [],
  };
}

/** What several ways found together. */
function union(scores: readonly Score[]): Score {
  const either = (of: (score: Score) => readonly boolean[]) =>
    of(scores[0] ?? sum([])).map((_, index) => scores.some((score) => of(score)[index]));
  return { ...sum(scores), needles: either(({ needles }) => needles), decoys: either(({ decoys }) => decoys) };
}

function share(met: readonly boolean[]): string {
  return `${met.filter(Boolean).length} of ${met.length}`;
}

/** To two digits: a tool whose wording changes by a few characters is no other tool. */
function rounded(tokens: number): string {
  return Number(tokens.toPrecision(2)).toLocaleString("en-US");
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [headOf(head), ...rows.map(lineOf)].join("\n");
}

function headOf(cells: readonly string[]): string {
  return [lineOf(cells), lineOf(cells.map(() => "---"))].join("\n");
}

function lineOf(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}
