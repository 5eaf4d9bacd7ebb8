import { readFileSync, realpathSync } from "node:fs";
import type { RunRecord } from "../../src/core/engine/event/record.ts";
import { openServerContents } from "../../src/loaders/mcp/contents.ts";
import { runFile } from "./program.ts";

/** Flags that trust the server which a recorded workflow defines for a skill. */
export function pinned(cwd: string, id: string, run = "r"): readonly string[] {
  const [head = ""] = readFileSync(runFile(cwd, run), "utf8").split("\n");
  const { workflow } = JSON.parse(head) as RunRecord;
  const digest = openServerContents(workflow.skills?.[id]?.mcp ?? {}, realpathSync.native(cwd)).digest();
  return ["--trust-skill", `${id}@${digest}`];
}
