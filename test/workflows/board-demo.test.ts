import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import type { JsonObject } from "../../src/core/base/values.ts";
import type { RunResult } from "../../src/core/engine/result/result.ts";
import type { Digest } from "../../src/reports/model/digest.ts";

/** Three runs over one board with the built program and its own skills: judged issues are not judged again. */

const root = join(import.meta.dirname, "..", "..");
const place = mkdtempSync(join(tmpdir(), "skillflow-test-"));
afterAll(() => rmSync(place, { recursive: true }));

type Item = {
  readonly key: string;
  readonly status: string;
  readonly skipped_reason?: string;
};

function look(number: number) {
  const read = (name: string) => readFileSync(join(place, `look-${number}${name}`), "utf8");
  const result = JSON.parse(read(".result.json")) as RunResult;
  const items = (result.results["each"]?.data["items"] ?? []) as readonly Item[];
  return {
    result,
    skipped: items.filter(({ status }) => status === "skipped"),
    digest: JSON.parse(read(".json")) as Digest,
    markdown: read(".md"),
    slack: JSON.parse(read(".slack.json")) as JsonObject,
  };
}

test("a board's new issues are judged, unchanged ones skipped, and one that got worse judged again", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["workflows/board/demo.mjs", place], {
    cwd: root,
    env: { PATH: process.env["PATH"] },
  });
  expect(stdout).toContain("Third run");

  const first = look(1);
  expect(first.result.verdict).toBe("changed");
  expect(first.digest.counts).toEqual({ needs_person: 1, actionable: 3, watch: 1, noise: 2 });
  expect(first.skipped.map(({ skipped_reason }) => skipped_reason)).toEqual(
    Array(53).fill(expect.stringMatching(/^seen 2 d ago, issue\.level, issue\.count_band unchanged/)),
  );
  expect(first.result.plan.map(({ tool }) => tool)).toEqual(["create_issue", "create_issue", "send_message"]);
  expect(first.result.evidence?.dropped).toBe(0);
  const [payment] = first.digest.items.filter(({ key }) => key === "sentry/SHOP-202");
  expect(payment).toMatchObject({ commit: expect.stringMatching(/^c09b7d3/), writes: [{ standing: "planned" }] });
  expect(first.markdown).toContain("https://github.com/acme/shop/issues/118");
  expect(first.markdown.replace(/`[^`]*`/g, "")).not.toContain("<!channel>");
  expect(JSON.stringify(first.slack)).not.toContain("<!channel>");

  const second = look(2);
  expect(second.result).toMatchObject({ verdict: "nothing_new", plan: [] });
  // The run ends as planned, so it is not shown as one whose edges did not apply.
  expect(second.result).not.toHaveProperty("unrouted");
  expect(second.result.usage).toMatchObject({ modelCalls: 0, inputTokens: 0, outputTokens: 0, costUsd: 0 });
  expect(second.skipped).toHaveLength(60);
  expect(second.digest).toMatchObject({ headline: "Nothing new", send: false, items: [], unchanged: 60 });

  const third = look(3);
  expect(third.result.verdict).toBe("changed");
  expect(third.digest.items.map(({ key }) => key)).toEqual(["sentry/SHOP-17"]);
  expect(third.digest).toMatchObject({ send: true, unchanged: 59 });
  expect(third.result.plan.map(({ tool }) => tool)).toEqual(["create_issue", "send_message"]);
}, 60_000);
