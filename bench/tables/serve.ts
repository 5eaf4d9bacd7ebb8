import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { peakOf } from "../hello-service.ts";
import { type Bench, type Contestant, interleave, succeeded, timed, type Values } from "../measure.ts";
import type { Cell, Column, Row } from "../results.ts";
import { TRIVIAL, writeSkills } from "../skill-folder.ts";

const CLIENTS = [4, 200] as const;
const BARE = "a bare server of Node";
const PYTHON = "python3 -c pass";
const PEAK = "peak";

/** The Skills Protocol as a service: the built program in one process, the load on it in another. */
export const serve: Bench = {
  name: "serve",
  title: "The Skills Protocol under load",
  how: `\`skillflow serve\` with the 1,000 skills of the table above, asked over HTTP by another process on this machine, which keeps as many
connections as there are clients and sends one request after another on each: \`list_skills\` for three seconds, after one that does not
count. The bare server reads the request as JSON and answers as many bytes, which it has ready. *execute* is a package of Python that
does nothing, from request to answer, beside the start of Python: back to back, and half a second after the last, when a sandbox waits.`,
  async measure(effort) {
    const folder = mkdtempSync(join(tmpdir(), "bench-serve-"));
    try {
      writeSkills(join(folder, "skills"));
      const rounds = effort.rounds(2);
      const listed = await measureLists(folder, rounds);
      const executed = await measureExecutions(folder, effort.rounds(9));
      const none = Object.fromEntries(COLUMNS.map(({ name }) => [name, "–"]));
      const row = (contestant: Contestant, cells: Readonly<Record<string, Cell>> = {}): Row => {
        return { ...contestant, cells: { ...none, ...cells } };
      };
      const rows = [
        row({ name: BARE, kind: "limit" }, listed.get("bare")),
        row({ name: PYTHON, kind: "limit" }, executed.get("bare")),
        row(
          { name: "skillflow serve", kind: "ours", promises: PROMISES },
          { ...listed.get("ours"), ...executed.get("ours") },
        ),
      ];
      return { columns: COLUMNS, rows, rounds };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

const speed = (clients: number) => `list, ${clients} clients`;
const slowest = (clients: number) => `p99, ${clients} clients`;
const PAUSES = [
  ["execute, back to back", 0],
  ["execute, after half a second", 500],
] as const;
const LISTS = [...CLIENTS.flatMap((clients) => [speed(clients), slowest(clients)]), PEAK];
const COLUMNS: readonly Column[] = [
  ...LISTS.map((name): Column => {
    if (name.startsWith("list")) return { name, unit: "/s", better: "more" };
    return { name, unit: name === PEAK ? "MB" : "ms", better: "less" };
  }),
  ...PAUSES.map(([name]): Column => ({ name, unit: "ms", better: "less" })),
];
const PROMISES: NonNullable<Contestant["promises"]> = {
  [speed(4)]: { least: 2000 },
  [slowest(4)]: { most: 10 },
  ...Object.fromEntries(PAUSES.map(([name]) => [name, { most: 1.5, of: PYTHON }])),
};

type Side = "bare" | "ours";
const SIDES: readonly Side[] = ["bare", "ours"];

async function measureLists(folder: string, rounds: number) {
  const bytes = await answerBytes(folder);
  return interleave(SIDES, LISTS, rounds, async (side): Promise<Values> => {
    const { child, url } = side === "ours" ? await startService(folder) : await startBare(bytes);
    const numbers: number[] = [];
    for (const clients of CLIENTS) {
      const { output } = await succeeded(["bench/dist/serve-load.js", url, String(clients)]);
      const { perSecond, p99Ms } = JSON.parse(output) as { readonly perSecond: number; readonly p99Ms: number };
      numbers.push(perSecond, p99Ms);
    }
    numbers.push(peakOf(child.pid ?? 0));
    await stop(child);
    return numbers;
  });
}

async function answerBytes(folder: string): Promise<number> {
  const { child, url } = await startService(folder);
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "list_skills", params: {} });
  const answer = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
  const bytes = (await answer.arrayBuffer()).byteLength;
  await stop(child);
  return bytes;
}

/** A trivial package from request to answer, in turn with the start of Python, by the same process. */
async function measureExecutions(folder: string, rounds: number) {
  const names = PAUSES.map(([name]) => name);
  const without = (why: string) => interleave(SIDES, names, 1, () => why);
  const python = ["/usr/local/bin/python3", "/usr/bin/python3"].find((path) => spawnSync(path, ["-V"]).status === 0);
  if (python === undefined) return without("no Python here");
  const { child, url } = await startService(folder);
  const agent = new Agent({ keepAlive: true });
  const start = () => ended(spawn(python, ["-c", "pass"], { stdio: ["ignore", "pipe", "pipe"] }));
  try {
    const first = await call(agent, url);
    if (first.status !== "completed") return await without(first.summary);
    return await interleave(SIDES, names, rounds, async (side) => {
      const numbers: number[] = [];
      for (const [, pauseMs] of PAUSES) {
        if (side === "ours") await sleep(pauseMs);
        numbers.push(await timed(side === "ours" ? () => call(agent, url) : start));
      }
      return numbers;
    });
  } finally {
    agent.destroy();
    await stop(child);
  }
}

async function startService(folder: string): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const trusted = ["--trust-skill", TRIVIAL];
  const args = ["dist/bin.js", "serve", "--port", "0", "--json", "--no-discover", "--skills", join(folder, "skills")];
  const child = spawn(process.execPath, [...args, ...trusted], { stdio: ["ignore", "pipe", "ignore"] });
  return { child, url: `${(JSON.parse(await firstLine(child)) as { url: string }).url}/rpc` };
}

async function startBare(bytes: number): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const child = spawn(process.execPath, ["bench/peers/bare-server.mjs", String(bytes)], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  return { child, url: (await firstLine(child)).trim() };
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.stdout?.setEncoding("utf8").once("data", resolve);
    child.once("exit", (code) => reject(new Error(`the service ended with ${code}`)));
  });
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill("SIGTERM");
  await ended(child);
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => child.once("close", () => resolve()));
}

function call(agent: Agent, url: string): Promise<{ readonly status: string; readonly summary: string }> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "execute_skill", params: { name: TRIVIAL } });
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const sent = request(url, { method: "POST", agent, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("end", () => resolve(JSON.parse(text).result));
    });
    sent.on("error", reject).end(body);
  });
}
