import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SkillflowError } from "../../../src/core/base/errors.ts";
import {
  answerRpc,
  invalidParams,
  type Method,
  type RpcOptions,
} from "../../../src/protocol/skills-protocol/json-rpc.ts";

const faults: unknown[] = [];
const seen: string[] = [];
const methods = new Map<string, Method>([
  ["echo", async (params) => params],
  [
    "note",
    async ({ text }) => {
      seen.push(String(text));
      return null;
    },
  ],
  ["refuse", () => Promise.reject(invalidParams("no"))],
  ["blob", () => Promise.reject(new SkillflowError("blob.unknown", "there is no blob x", { hint: "make one" }))],
  ["break", () => Promise.reject(new Error("secret inside"))],
]);
const options: RpcOptions = { methods, mostCalls: 3, onFault: (error) => faults.push(error) };
const answer = (body: unknown) =>
  answerRpc(typeof body === "string" ? body : JSON.stringify(body), options, new AbortController().signal);
const call = (more: object) => ({ jsonrpc: "2.0", id: 1, method: "echo", ...more });
const failed = (id: unknown, code: number) => ({
  jsonrpc: "2.0",
  id,
  error: { code, message: expect.any(String), data: { type: expect.any(String) } },
});

describe("a call", () => {
  test.each([1, 0, -1.5, "a", "", null])("with the id %j is answered with it", async (id) => {
    expect(await answer(call({ id, params: { a: 1 } }))).toEqual({ jsonrpc: "2.0", id, result: { a: 1 } });
  });

  test("without params has none", async () => {
    expect(await answer(call({}))).toMatchObject({ result: {} });
  });

  test("without an id is executed and not answered, whatever its result", async () => {
    expect(await answer({ jsonrpc: "2.0", method: "note", params: { text: "heard" } })).toBeUndefined();
    expect(seen).toContain("heard");
    for (const method of ["refuse", "break", "nowhere"]) {
      expect(await answer({ jsonrpc: "2.0", method })).toBeUndefined();
    }
  });

  test.each<[string, unknown, number, unknown]>([
    ["a body that is no JSON", "{", -32700, null],
    ["an empty body", "", -32700, null],
    ["a text", '"x"', -32600, null],
    ["null", "null", -32600, null],
    ["a number beyond 2^53", '{"jsonrpc":"2.0","id":1,"method":"echo","params":{"x":12345678901234567890}}', -32602, 1],
    ["a number that is not finite", '{"jsonrpc":"2.0","id":1,"method":"echo","params":{"x":[1e999]}}', -32602, 1],
    ["another version", call({ jsonrpc: "1.0" }), -32600, 1],
    ["no version", { id: 1, method: "echo" }, -32600, 1],
    ["a method that is not a string", call({ method: 7 }), -32600, 1],
    ["no method", call({ method: undefined }), -32600, 1],
    ["params that are not an object", call({ params: 7 }), -32600, 1],
    ["params that are null", call({ params: null }), -32600, 1],
    ["an id that is an object", call({ id: {} }), -32600, null],
    ["an id that is true", call({ id: true }), -32600, null],
    ["an unknown method", call({ method: "nowhere" }), -32601, 1],
    ["a method of every object", call({ method: "toString" }), -32601, 1],
    ["params by position", call({ params: [1] }), -32602, 1],
    ["what the method refuses", call({ method: "refuse" }), -32602, 1],
    ["an unknown blob", call({ method: "blob" }), -32003, 1],
    ["a fault of ours", call({ method: "break" }), -32603, 1],
    ["an empty batch", [], -32600, null],
    ["a batch of too many", [1, 2, 3, 4], -32600, null],
  ])("%s is refused with its code", async (_, body, code, id) => {
    const answered = (await answer(body)) as { error: { code: number }; id: unknown };
    expect([answered.error.code, answered.id]).toEqual([code, id]);
  });

  test("that causes an internal error reveals no detail to its caller, and reports all details internally", async () => {
    expect(JSON.stringify(await answer(call({ method: "break" })))).not.toContain("secret");
    expect(String(faults.at(-1))).toContain("secret inside");
  });
});

describe("a batch", () => {
  test("is answered call by call, including errors", async () => {
    const answers = await answer([call({ id: 1 }), 7, call({ id: 2, method: "nowhere" })]);
    expect(answers).toEqual([{ jsonrpc: "2.0", id: 1, result: {} }, failed(null, -32600), failed(2, -32601)]);
  });

  test("of notifications alone is not answered", async () => {
    expect(await answer([{ jsonrpc: "2.0", method: "note", params: {} }])).toBeUndefined();
  });
});

test("any JSON, and any text, is answered or not, without a crash", async () => {
  const before = faults.length;
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.json(), fc.string()), async (text) => {
      const answered = await answer(text);
      expect(answered === undefined || typeof answered === "object").toBe(true);
    }),
  );
  expect(faults).toHaveLength(before);
});
