import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Bench, type Contestant, ended, interleave, succeeded } from "../measure.ts";
import { placeOf } from "../peers.ts";
import { type Cell, median } from "../results.ts";

const SMALL = 64 * 1024 ** 2;
const NEEDLES = ["status=502", "ERROR", "checkout-7", "not there at all"];
const PEAK = "peak";
const GREP = "grep -c";

/** Compares the logs skill's search with command-line tools, on one file. */
export const logs: Bench = {
  name: "logs",
  title: "Searching logs",
  how: `The tool \`logs_search\` and what a user would type, in one file: 100 MB of lines, with \`--thorough\` 1 GB, which the system has read before
(so it is the search that is measured, not the disk). Ours is without the start of its process; the others are whole processes. All
count the same lines, or the bench fails. jq reads the lines as text (\`-R\`), which is not what it is made for, and is asked for one word only.`,
  async measure(effort) {
    const bytes = effort.isThorough ? 1_000_000_000 : 100_000_000;
    const rounds = effort.rounds(3);
    const folder = mkdtempSync(join(tmpdir(), "bench-logs-"));
    try {
      writeLog(join(folder, "large.log"), bytes);
      writeLog(join(folder, "small.log"), SMALL);
      const cells = new Map<Searcher, Record<string, Cell>>(SEARCHERS.map((one) => [one, {}]));
      const peaks: number[] = [];
      for (const needle of NEEDLES) {
        const measured = await interleave(SEARCHERS, [needle], rounds, async ({ search }) => {
          const found = await search(folder, needle);
          if (typeof found === "string") return found;
          const { matched, seconds, megabytes } = found;
          if (megabytes !== undefined) peaks.push(megabytes);
          agree(needle, matched);
          return [bytes / 1e9 / seconds];
        });
        for (const [one, own] of cells) Object.assign(own, measured.get(one));
      }
      const small = (await ours(folder, "ERROR", "small.log")).megabytes;
      const rows = SEARCHERS.map(({ search: _search, ...row }, index) => {
        const own = cells.get(SEARCHERS[index] as Searcher);
        if (row.kind !== "ours") return { ...row, cells: { ...own, [PEAK]: "–" } };
        const thirds = Object.fromEntries(NEEDLES.map((needle) => [needle, { least: 1 / 3, of: GREP }]));
        const promises = { ...thirds, [PEAK]: { most: Math.round(small + 32) } };
        return { ...row, promises, cells: { ...own, [PEAK]: [median(peaks)] } };
      });
      const columns = NEEDLES.map((name) => ({ name, unit: "GB/s", better: "more" as const }));
      return { columns: [...columns, { name: PEAK, unit: "MB", better: "less" }], rows, rounds };
    } finally {
      rmSync(folder, { recursive: true, force: true });
      counts.clear();
    }
  },
};

interface Found {
  readonly matched: number;
  readonly seconds: number;
  readonly megabytes?: number;
}

interface Searcher extends Contestant {
  readonly search: (folder: string, needle: string) => Promise<Found | string>;
}

const SEARCHERS: readonly Searcher[] = [
  { name: "skillflow, logs_search", kind: "ours", search: (folder, needle) => ours(folder, needle, "large.log") },
  {
    name: GREP,
    kind: "peer",
    search: (folder, needle) => shell(folder, "grep", ["-c", "-F", "--", needle, "large.log"]),
  },
  { name: "ripgrep -c 15", kind: "peer", search: ripgrep },
  { name: "jq -R", kind: "peer", search: jq },
];

async function ours(folder: string, needle: string, file: string): Promise<Required<Found>> {
  const { output } = await succeeded([resolve("bench/dist/logs-search.js"), file, needle], { cwd: folder });
  return JSON.parse(output);
}

async function ripgrep(folder: string, needle: string): Promise<Found | string> {
  const place = await placeOf("ripgrep");
  if ("why" in place) return place.why;
  const program = join(place.folder, `node_modules/@vscode/ripgrep-${process.platform}-${process.arch}/bin/rg`);
  return existsSync(program)
    ? shell(folder, program, ["-c", "-F", "--", needle, "large.log"])
    : "not for this platform";
}

async function jq(folder: string, needle: string): Promise<Found | string> {
  if (needle !== "ERROR") return "–";
  return shell(folder, "jq", [
    "-Rn",
    "--arg",
    "needle",
    needle,
    "reduce (inputs | select(contains($needle))) as $_ (0; . + 1)",
    "large.log",
  ]);
}

/** Exit code 1 means no match, for grep. */
async function shell(folder: string, program: string, args: readonly string[]): Promise<Found | string> {
  try {
    const { output, code, ms } = await ended(args, { cwd: folder }, program);
    return code === 0 || code === 1 ? { matched: Number(output), seconds: ms / 1000 } : `ended with ${code}`;
  } catch {
    return "not installed here";
  }
}

const counts = new Map<string, number>();

function agree(needle: string, matched: number): void {
  const before = counts.get(needle) ?? matched;
  counts.set(needle, before);
  if (before !== matched) throw new Error(`"${needle}": ${matched} lines, and ${before}`);
}
function writeLog(path: string, bytes: number): void {
  const file = openSync(path, "w");
  let written = 0;
  for (let first = 0; written < bytes; first += 5000) {
    const lines = Array.from({ length: 5000 }, (_, index) => lineOf(first + index)).join("");
    written += writeSync(file, lines.slice(0, bytes - written));
  }
  closeSync(file);
}

function lineOf(index: number): string {
  const time = new Date(1.7e12 + index * 7).toISOString();
  const request = Math.imul(index, 0x9e3779b1) >>> 0;
  const level = index % 97 === 0 ? "ERROR" : "INFO";
  const status = index % 101 === 0 ? 502 : 200;
  return `${time} ${level} service=checkout-${index % 13} request=${request.toString(16)} path=/orders/${index} status=${status} duration_ms=${index % 977}\n`;
}
