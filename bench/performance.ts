import { type Cell, type Column, median, medianOf, type Result, type Row, relation } from "./results.ts";

/** Generates docs/performance.md from the results alone. */
export function renderPerformance(results: readonly Result[]): string {
  const parts = [HEAD, machines(results), METHOD, promiseTable(results), losses(results), ...results.map(section)];
  return `${parts.join("\n\n")}\n`;
}

const HEAD = `# Performance

This page is made by \`npm run bench -- --write\` from the results in \`bench/results\`. No number is written by hand.
\`npm run bench -- NAME\` measures one table, and prints it; with \`--write\` it is kept, and with \`--thorough\` measured for longer.`;

const METHOD = `## How, and what it cannot say

- Contestants take turns, round by round (A B C A B C …), each measurement in a process of its own and in an environment of \`PATH\`, \`HOME\`
  and \`TMPDIR\` alone, without flags of Node. A cell is the median of the rounds, ± half of the distance from the least to the greatest.
- The peers are installed by the bench, at the versions that are named, into a folder outside the project; where that fails, the row says so.
- All models are fake and answer at once. A real one takes seconds, so most of this is small next to it. It decides what a start in CI,
  a replay, a test and one worker of many runs cost.
- A number is that of one machine on one day, with few rounds: differences of less than a fifth say nothing. Compare inside a table.
- Peers do other things too, and we do what most of them do not: each run of ours is recorded, its secrets are taken out, and its
  observers are told. That is part of our numbers.
- (0.4x) after a peer: what it takes or reaches, relative to the best of our rows that promises the same.`;

function machines(results: readonly Result[]): string {
  const told = results.map(({ machine: { cpu, cores, memoryGb, system, node } }) => {
    return `${cores} cores (${cpu}), ${memoryGb} GB, ${system}, Node ${node}`;
  });
  const loaded = results.filter(({ machine, isCounted }) => !isCounted && machine.load > machine.cores);
  const names = loaded.map(({ name }) => `\`${name}\``).join(", ");
  const warning =
    loaded.length === 0
      ? ""
      : `\n\nThe machine was at other work too when it measured ${names}: read those times as too long.`;
  const days = [...new Set(results.map(({ at }) => at.slice(0, 10)))].sort();
  return `Measured on ${[...new Set(told)].join("; and on ")}; ${days.join(", ")}.${warning}`;
}

interface Promised {
  readonly what: string;
  readonly measured: string;
  readonly promise: string;
  /** Above 1 the promise is kept. Undefined if nothing was measured. */
  readonly reserve: number | undefined;
}

function promiseTable(results: readonly Result[]): string {
  const all = results.flatMap(({ columns, rows }) =>
    rows.flatMap((row) => columns.flatMap((column) => promiseOf(rows, row, column))),
  );
  const kept = all.filter(({ reserve = 0 }) => reserve >= 1).length;
  const lines = all.map(({ what, measured, promise, reserve }) => {
    const told = reserve === undefined ? "–" : `${reserve.toFixed(2)}x${reserve < 1 ? " **missed**" : ""}`;
    return `| ${what} | ${measured} | ${promise} | ${told} |`;
  });
  const head = "| What | Measured | Promise | Reserve |\n| --- | --- | --- | --- |";
  const sum = `A reserve of 1 or more keeps the promise: ${kept} of ${all.length} are kept.`;
  return `## What is promised\n\n${sum}\n\n${[head, ...lines].join("\n")}`;
}

function promiseOf(rows: readonly Row[], row: Row, column: Column): Promised[] {
  const promise = row.promises?.[column.name];
  if (!promise) return [];
  const { most, least = 0, of } = promise;
  const cell = row.cells[column.name];
  const value =
    of === undefined
      ? medianOf(row, column.name)
      : relation(cell, rows.find(({ name }) => name === of)?.cells[column.name]);
  const unit = of === undefined ? column.unit : "x";
  const reserve = value === undefined ? undefined : most === undefined ? value / least : most / value;
  return [
    {
      what: `${row.name}, ${column.name}${of === undefined ? "" : ` against ${of}`}`,
      measured:
        value === undefined ? `not measured${typeof cell === "string" ? `: ${cell}` : ""}` : withUnit(value, unit),
      promise: most === undefined ? `at least ${withUnit(least, unit)}` : `at most ${withUnit(most, unit)}`,
      reserve,
    },
  ];
}

/** Lists losses in one place at the top, where readers find them. */
function losses(results: readonly Result[]): string {
  const lines = results.flatMap(({ name, columns, rows }) => {
    const peers = rows.filter(({ kind }) => kind === "peer");
    return peers.flatMap((peer) => {
      const lost = columns.flatMap((column) => {
        const factor = advantage(
          column,
          relation(peer.cells[column.name], bestOfOurs(rows, peer, column)?.cells[column.name]),
        );
        return factor !== undefined && factor >= 1.05 ? [`${column.name} ${factor.toFixed(1)}x`] : [];
      });
      return lost.length === 0 ? [] : [`- ${peer.name} (\`${name}\`): ${lost.join(", ")}`];
    });
  });
  const text = lines.length === 0 ? "Nowhere, against these peers." : lines.join("\n");
  return `## Where we lose\n\nBy how much a peer is better than we are, where it is.\n\n${text}`;
}

/** The quality ratio. Above 1 is better. */
function advantage({ better }: Column, ratio: number | undefined): number | undefined {
  if (ratio === undefined || better === "neither") return undefined;
  return better === "less" ? 1 / ratio : ratio;
}

function bestOfOurs(rows: readonly Row[], { group }: Row, { name, better }: Column): Row | undefined {
  const ours = rows.filter((row) => row.kind === "ours" && row.group === group && Array.isArray(row.cells[name]));
  const value = (row: Row) => median(row.cells[name] as number[]) * (better === "more" ? -1 : 1);
  return ours.sort((a, b) => value(a) - value(b))[0];
}

/** Formats a table as Markdown, with a description of the measurement. */
export function section({ name, title, how, rounds, columns, rows, isThorough }: Result): string {
  const command = `npm run bench -- ${name}${isThorough ? " --thorough" : ""}`;
  const times = rounds === 1 ? "one round" : `${rounds} rounds`;
  return `## ${title}\n\n${how}\n\n\`${command}\`, ${times}.\n\n${table(columns, rows)}`;
}

export function table(columns: readonly Column[], rows: readonly Row[]): string {
  const heads = columns.map(({ name, unit }) => (unit === "" ? name : `${name}, ${unit}`));
  const lines = rows.map((row) => {
    const label = row.kind === "ours" ? `**${row.name}**` : row.name;
    return `| ${[label, ...columns.map((column) => cellText(rows, row, column))].join(" | ")} |`;
  });
  return [`| | ${heads.join(" | ")} |`, `| --- |${" ---: |".repeat(columns.length)}`, ...lines].join("\n");
}

function cellText(rows: readonly Row[], row: Row, column: Column): string {
  const cell: Cell = row.cells[column.name] ?? "–";
  if (typeof cell === "string") return cell.replaceAll("|", "\\|");
  const ours = row.kind === "peer" ? bestOfOurs(rows, row, column) : undefined;
  const ratio = column.better === "neither" ? undefined : relation(cell, ours?.cells[column.name]);
  return `${told(median(cell))}${spread(cell)}${ratio === undefined ? "" : ` (${digits(ratio)}x)`}`;
}

function spread(cell: readonly number[]): string {
  const half = (Math.max(...cell) - Math.min(...cell)) / 2 / median(cell);
  return cell.length === 1 || half < 0.005 || !Number.isFinite(half) ? "" : ` ± ${Math.round(half * 100)} %`;
}

function withUnit(value: number, unit: string): string {
  return unit === "x" || unit === "/s" || unit === "" ? `${told(value)}${unit}` : `${told(value)} ${unit}`;
}

function told(value: number): string {
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : digits(value);
}

function digits(value: number): string {
  return value === 0 ? "0" : String(Number(value.toPrecision(value < 1 ? 2 : 3)));
}
