import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Mutation } from "./list.ts";

/** A copy of the project, for the mutations. */
export interface Scratch {
  /** Returns true if a test notices the mutation. The copy is restored afterwards. */
  notices(mutation: Mutation): boolean;
  close(): void;
}

const LEFT_OUT = new Set([".git", ".skillflow", "dist", "node_modules"]);

export function openScratch(root: string): Scratch {
  const directory = mkdtempSync(join(tmpdir(), "mutations-"));
  for (const name of readdirSync(root)) {
    if (!LEFT_OUT.has(name)) cpSync(join(root, name), join(directory, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(directory, "node_modules"));
  const isGreen = (command: string, ...args: string[]) =>
    spawnSync(command, args, {
      cwd: directory,
      env: { ...process.env, SKILLFLOW_LONG: "1" },
      stdio: "ignore",
      timeout: 300_000,
    }).status === 0;
  return {
    notices(mutation) {
      const path = join(directory, mutation.file);
      const text = readFileSync(path, "utf8");
      writeFileSync(path, spoil(text, mutation));
      try {
        if (mutation.built && !isGreen(process.execPath, "scripts/build.mjs")) return true;
        const vitest = join("node_modules", "vitest", "vitest.mjs");
        return !isGreen(process.execPath, vitest, "run", "--bail", "1", "--retry", "0", ...mutation.tests);
      } finally {
        writeFileSync(path, text);
      }
    },
    close: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** Throws if the text to change is not in the file exactly once. */
export function spoil(text: string, { file, before, after }: Mutation): string {
  const [first = "", second, ...more] = text.split(before);
  if (second !== undefined && more.length === 0) return first + after + second;
  throw new Error(`${JSON.stringify(before)} does not stand exactly once in ${file}`);
}
