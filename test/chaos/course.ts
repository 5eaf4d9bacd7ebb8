import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AppliedOperation } from "../../src/app/runs/apply.ts";
import { parseJson } from "../../src/core/base/values.ts";
import type { RunEvent } from "../../src/core/engine/event/event.ts";
import { numberOf } from "./dice.ts";
import type { Flow } from "./flows.ts";
import type { Done, Task } from "./life.ts";
import type { World } from "./world.ts";

/** The progress of one run: the next command, and the record as it was last seen. */
export interface Course {
  readonly id: string;
  readonly flow: Flow;
  readonly folder: string;
  /** Problems found so far. */
  readonly problems: string[];
  /** The next command. Undefined if the run is finished. */
  next(): Task | undefined;
  /** Handles a command that ended. */
  take(done: Done): void;
  /** Reads the record after a process died, and returns the type of its last event. */
  look(): string;
  events(): readonly RunEvent[];
  /** Whether a process runs it. */
  isLocked(): boolean;
  command(argv: readonly string[]): Task;
}

const RUN = "r";

export interface Project {
  readonly flow: Flow;
  readonly folder: string;
  readonly world: World;
  readonly home: string;
}

export function beginCourse(id: string, { flow, folder, world, home }: Project): Course {
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries(flow.files)) writeFileSync(join(folder, name), JSON.stringify(content));
  const problems: string[] = [];
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, USER: "kim", ...world.env(id) };
  const file = join(folder, ".skillflow", "runs", `${RUN}.jsonl`);
  const command = (argv: readonly string[]): Task => ({ id, argv, cwd: folder, env });
  let seen = "";
  let doubts: readonly AppliedOperation[] = [];
  /** Writes that were sent again after an explicit decision. */
  const repeated = new Set<string>();
  /** A command ended, and nothing is left to do. */
  let isOver = false;
  return {
    id,
    flow,
    folder,
    problems,
    command,
    next() {
      if (isOver) return undefined;
      const stand = standOf(file);
      if (!stand) return command(["run", "flow.yml", "--run-id", RUN, ...MODEL, ...inputOf(flow), "--json"]);
      const { wait, end, isPlanned } = stand;
      if (wait !== undefined) return command(["signal", RUN, wait, wordFor(flow, wait), "--json"]);
      if (end === "succeeded" && isPlanned) {
        const isDone = (digest: string) => (world.ledger(id).get(digest)?.tool ?? "refuse") !== "refuse";
        const words = doubts.map(({ id: op, digest }) => `${op}=${isDone(digest) ? "" : "not-"}applied`);
        for (const { digest } of doubts) repeated.add(digest);
        return command(["apply", RUN, "--yes", ...words.flatMap((word) => ["--resolve", word]), "--json"]);
      }
      return end === undefined || end === "succeeded" ? command(["resume", RUN, "--json"]) : undefined;
    },
    take({ code, stdout, stderr }) {
      const stand = standOf(file);
      const isLeftOver = code === 2 && stderr.includes("has succeeded");
      // The decision was recorded before the process that brought it was killed.
      const isResolved = code === 2 && stderr.includes("is not in doubt");
      if (isResolved) doubts = [];
      if (![0, 1, 7].includes(code) && !isLeftOver && !isResolved)
        problems.push(`a command ended with ${code}: ${stderr}`);
      if (stand?.end === "succeeded" && stand.isPlanned && stand.wait === undefined) {
        const said = parseJson(stdout) as { readonly operations?: readonly AppliedOperation[] } | undefined;
        if (!said?.operations) return;
        // An operation that is always refused stays in doubt, however often it is sent.
        const isRefused = ({ digest }: AppliedOperation) =>
          world.ledger(id).get(digest)?.tool === "refuse" && repeated.has(digest);
        doubts = said.operations.filter((one) => one.status === "in_doubt" && !isRefused(one));
        isOver = doubts.length === 0;
      } else isOver = stand?.end !== undefined && stand.wait === undefined;
    },
    look() {
      const text = existsSync(file) ? wholeOf(readFileSync(file, "utf8")) : "";
      if (!text.startsWith(seen)) problems.push(`what was recorded is gone: ${lost(seen, text)}`);
      seen = text;
      return eventsIn(text).at(-1)?.type ?? "nothing";
    },
    isLocked: () => existsSync(file.replace(/jsonl$/, "lock")),
    events: () => (existsSync(file) ? eventsIn(wholeOf(readFileSync(file, "utf8"))) : []),
  };
}

const MODEL = ["--model", "openai-compatible:test", "--no-cool-down"];

function inputOf({ input }: Flow): readonly string[] {
  return ["--input", JSON.stringify(input)];
}

/** The state of a run according to its record. Undefined without a record. */
interface Stand {
  /** How it ended, if it was not resumed. */
  readonly end: string | undefined;
  /** The node that waits for a decision. */
  readonly wait: string | undefined;
  readonly isPlanned: boolean;
}

function standOf(file: string): Stand | undefined {
  if (!existsSync(file)) return undefined;
  const events = eventsIn(wholeOf(readFileSync(file, "utf8")));
  const last = events.findLast(({ type }) => ["workflow:end", "approval:given", "run:resume"].includes(type));
  const end = last?.type === "workflow:end" ? last : undefined;
  return {
    end: end?.status,
    wait: end?.waiting?.[0]?.node,
    isPlanned: events.some(({ type }) => type === "operation:planned"),
  };
}

/** Up to the end of the last record that is there wholly. */
function wholeOf(text: string): string {
  const lines = text.slice(0, text.lastIndexOf("\n") + 1).split(/(?<=\n)/);
  while (lines.length > 1 && lines.at(-1)?.includes('"more":true')) lines.pop();
  return lines.join("");
}

export function eventsIn(text: string): RunEvent[] {
  return text
    .split("\n")
    .slice(1)
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as RunEvent);
}

function lost(seen: string, whole: string): string {
  const lines = whole.split("\n");
  const at = seen.split("\n").findIndex((line, index) => line !== lines[index]);
  return `line ${at + 1} of ${lines.length}`;
}

/** Returns the decision of the user, always the same for a node. */
function wordFor({ seed }: Flow, node: string): string {
  return numberOf(`${seed} ${node}`) % 3 === 0 ? "--deny" : "--approve";
}
