import { expect, test } from "vitest";
import type { RecordedCall } from "../../../src/core/engine/event/call.ts";
import { readResult } from "../../../src/run/results/read-result.ts";
import { memoryStore } from "../../../src/stores/memory.ts";
import { LONG } from "../../harness/long.ts";

/** Tests of `read_result`, which returns an earlier result. */

const call = (outcome: RecordedCall["outcome"]): RecordedCall => {
  return { ref: "r7", node: "a", tool: "ops_look", input: { q: 1 }, outcome };
};
const blobs = memoryStore().blobs("run");
const HEAD = '[r7] ops_look {"q":1}\n';

test("a small result is returned in full, after its reference", async () => {
  expect(await readResult(call({ output: { rows: [1, 2] } }), { ref: "r7" }, blobs)).toBe(`${HEAD}{"rows":[1,2]}`);
  expect(await readResult(call({ output: "plain" }), { ref: "r7" }, blobs)).toBe(`${HEAD}plain`);
  expect(await readResult(call({ output: "" }), { ref: "r7" }, blobs)).toBe(HEAD);
});

test("a failed call returns its error, and a running one a note that it has no result yet", async () => {
  expect(await readResult(call({ error: "boom" }), { ref: "r7" }, blobs)).toContain("the call failed: boom");
  expect(await readResult(call(undefined), { ref: "r7" }, blobs)).toContain("no result yet");
});

/** Many times the amount that one read of a blob returns. */
const MEGABYTES = LONG ? 50 : 5;

test(`a result of ${MEGABYTES} MB is read in pages, and by the lines that contain a text`, async () => {
  const line = "INFO request served in 12 ms\n";
  const count = 2 * Math.ceil((MEGABYTES * 512 * 1024) / line.length);
  const text = `${line.repeat(count / 2)}ERROR the pool ran dry\n${line.repeat(count / 2)}`;
  const info = await blobs.create(Buffer.from(text), "text/plain");
  const large = call({ output: { ...info, head: "INFO", tail: "ms" }, blobs: [info] });
  const found = await readResult(large, { ref: "r7", search: "error" }, blobs);
  expect(found).toBe(`${HEAD}${count / 2 + 1}: ERROR the pool ran dry\n(1 of 1 lines)`);
  const first = await readResult(large, { ref: "r7" }, blobs);
  expect(first.length).toBeLessThan(17_000);
  const offset = Number(/offset (\d+)\)$/.exec(first)?.[1]);
  const second = await readResult(large, { ref: "r7", offset }, blobs);
  const body = (page: string) => page.slice(HEAD.length).replace(/\n\(bytes.*$/, "");
  expect(text.startsWith(body(first) + body(second))).toBe(true);
  expect(await readResult(large, { ref: "r7", offset: 1e9 }, blobs)).toContain("ends at byte");
  expect(await readResult(large, { ref: "r7", search: "nothing such" }, blobs)).toContain("no line contains");
});

test("blobs of a result follow the rest of it", async () => {
  const info = await blobs.create(Buffer.from("the whole log"), "text/plain");
  const mixed = call({ output: { status: 1, log: { ...info } }, blobs: [info] });
  expect(await readResult(mixed, { ref: "r7", search: "whole" }, blobs)).toContain("1: the whole log");
  const first = await readResult(mixed, { ref: "r7" }, blobs);
  const offset = Number(/offset (\d+)\)$/.exec(first)?.[1]);
  expect(await readResult(mixed, { ref: "r7", offset }, blobs)).toBe(`${HEAD}the whole log`);
});
