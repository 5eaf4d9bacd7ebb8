import { expect, it } from "vitest";
import type { RunEvent } from "../../../../src/core/engine/event/event.ts";
import { applicationsOf } from "../../../../src/core/engine/plan/standing.ts";

const TIME = "2026-01-31T09:00:00.000Z";
const planned = { type: "operation:planned", operation: { id: "op-1" } };
const patch = { type: "operation:planned", operation: { id: "op-1", kind: "patch" } };
const begun = { type: "operation:begun", operation: "op-1", by: "kim", call: "c" };
const failed = { type: "operation:ended", operation: "op-1", error: "400", acted: "no" };
const disallowed = { ...failed, code: "call.refused" };
const refused = { type: "operation:refused", operation: "op-1", error: "the tool is gone", by: "kim" };
const applied = { type: "operation:ended", operation: "op-1", output: {} };
const resolved = (isApplied: boolean) => ({
  type: "operation:resolved",
  operation: "op-1",
  applied: isApplied,
  by: "kim",
});
const decided = (approved: boolean, more = {}) => ({
  ...{ type: "approval:given", node: "sure", by: "ann", approved, digest: "d", settings: {} },
  ...more,
});

it.each([
  ["denied", [planned, decided(false)]],
  ["denied", [planned, begun, failed, decided(false)]],
  ["in_doubt", [planned, begun, decided(false)]],
  ["denied", [planned, begun, decided(false), resolved(false)]],
  ["applied", [planned, begun, decided(false), resolved(true)]],
  ["applied", [planned, begun, applied, decided(false)]],
  ["planned", [planned, decided(false), decided(true)]],
  ["planned", [planned, begun, decided(false), decided(true), resolved(false)]],
  ["planned", [decided(false), planned]],
  ["failed", [patch, begun]],
  ["applied", [patch, begun, applied]],
  ["denied", [patch, begun, decided(false)]],
  ["refused", [patch, begun, disallowed]],
  ["refused", [planned, refused]],
  ["in_doubt", [planned, begun, refused]],
  ["applied", [planned, refused, begun, applied]],
  ["failed", [planned, refused, begun, failed]],
  ["denied", [planned, refused, decided(false)]],
  ["planned", [planned, decided(false, { late: true })]],
  ["planned", [planned, decided(false, { digest: undefined })]],
])("an operation is %s after %j", (standing, events) => {
  const told = events.map((event) => ({ ...event, time: TIME }) as unknown as RunEvent);
  expect(applicationsOf(told).get("op-1")?.standing ?? "planned").toBe(standing);
});
