import { spawnSync } from "node:child_process";
import { relative } from "node:path";
import type { Reporter, TestModule, Vitest } from "vitest/node";
import { LONG, longer } from "./long.ts";

/**
 * Time without any progress after which the run is stopped: an endless loop in a test file blocks its own time limit.
 */
const MOST_SILENCE_MS = longer(180_000);

/**
 * Ends a test run with one plain line, `N passed, N failed, N skipped`, after the tests that passed only at their second attempt
 * and why they failed before. If nothing happens any more, it names what is stuck.
 */
export default class SummaryReporter implements Reporter {
  readonly #running = new Set<string>();
  #vitest: Vitest | undefined;
  #silence: NodeJS.Timeout | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunStart(): void {
    this.#silence = setTimeout(() => this.#giveUp(), MOST_SILENCE_MS);
  }

  onTestModuleQueued({ moduleId }: TestModule): void {
    this.#running.add(moduleId);
    this.#silence?.refresh();
  }

  onTestCaseResult(): void {
    this.#silence?.refresh();
  }

  onTestModuleEnd({ moduleId }: TestModule): void {
    this.#running.delete(moduleId);
    this.#silence?.refresh();
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    clearTimeout(this.#silence);
    const again: string[] = [];
    const count = { passed: 0, failed: errors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      const tests = [...module.children.allTests()];
      if (module.state() === "failed" && tests.length === 0) count.failed += 1;
      for (const test of tests) {
        const { state, errors = [] } = test.result();
        count[state] += 1;
        if (state !== "passed" || errors.length === 0) continue;
        again.push(`${relative(process.cwd(), module.moduleId)} > ${test.fullName}\n    ${errors[0]?.message}`);
      }
    }
    const line = `${count.passed} passed, ${count.failed} failed, ${count.skipped + count.pending} skipped\n`;
    const why = LONG ? "" : "Skipped: the long forms (npm run test:long), and what this machine lacks.\n";
    const flaky = again.length === 0 ? "" : `Passed only at the second attempt:\n  ${again.join("\n  ")}\n`;
    process.once("exit", () => process.stdout.write(flaky + why + line));
  }

  #giveUp(): void {
    const files = [...this.#running].map((file) => relative(process.cwd(), file));
    process.stderr.write(`No test ended for ${MOST_SILENCE_MS / 1000} seconds. Still running: ${files.join(", ")}\n`);
    process.exitCode = 1;
    // A worker in an endless loop receives no message: kills the workers, and ends the run.
    spawnSync("pkill", ["-KILL", "-P", String(process.pid)]);
    void this.#vitest?.exit(true);
  }
}
