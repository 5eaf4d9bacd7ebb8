import type { Reporter, TestModule } from "vitest/node";

/** Ends a test run with one plain line: `N passed, N failed, N skipped`. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const count = { passed: 0, failed: errors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      const tests = [...module.children.allTests()];
      if (module.state() === "failed" && tests.length === 0) count.failed += 1;
      for (const test of tests) count[test.result().state] += 1;
    }
    const line = `${count.passed} passed, ${count.failed} failed, ${count.skipped + count.pending} skipped\n`;
    process.once("exit", () => process.stdout.write(line));
  }
}
