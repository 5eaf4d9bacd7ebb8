import { describe, expect, it } from "vitest";
import type { JavaScriptCall } from "../../src/core/skill/sandbox.ts";
import { runJavaScript } from "../../src/sandbox/quickjs.ts";
import { spreadOf } from "../harness/long.ts";

function call(module: string, parts: Partial<JavaScriptCall> = {}) {
  const limits = { wallMs: 20_000, outputBytes: 10_000, ...parts.limits };
  return runJavaScript({ module, name: "default", input: {}, signal: new AbortController().signal, ...parts, limits });
}

const threw = (part: string) => ({ ended: "threw", message: expect.stringContaining(part) });

describe("JavaScript in the interpreter", () => {
  it.each<readonly [string, string, unknown]>(
    spreadOf(
      [
        ["a value", "export default ({ a, b }) => a + b", 3],
        ["what a promise gives", "export default async ({ a }) => ({ a: await Promise.resolve(a) })", { a: 1 }],
        ["nothing, as null", "export default () => undefined", null],
        ["text of every kind", 'export default () => "ä🚒\\u2028\\n</script>"', "ä🚒\u2028\n</script>"],
        ["a result, without its logs", "export default () => { console.log(1); return 2 }", 2],
      ],
      3,
    ),
  )("returns %s", async (_what, module, value) => {
    expect(await call(module, { input: { a: 1, b: 2 } })).toEqual({ ended: "returned", value });
  });

  it("calls the named export, with exactly the input", async () => {
    const input = { text: "$& $' NAME INPUT \" ` ${x} \\ \n", __proto__: null, list: [1, null, true] };
    const ended = await call("export const other = (input) => input", { name: "other", input });
    expect(ended).toEqual({ ended: "returned", value: { text: input.text, list: input.list } });
  });

  it.each<readonly [string, string, string]>(
    spreadOf(
      [
        ["an error", 'export default () => { throw new Error("no such city") }', "no such city"],
        ["a refusal", "export default async () => Promise.reject(7)", "7"],
        ["text that is not a module", "export default (", ""],
        ["a module that fails", 'throw new Error("at once"); export default 1', "at once"],
        ["an export that is missing", "export const other = 1", "not a function"],
        ["a promise that never settles", "export default () => new Promise(() => undefined)", "never settles"],
        ["what cannot be written as JSON", "export default () => 1n", ""],
        ["a recursion without end", "export default function f() { return f() + 1 }", ""],
      ],
      4,
    ),
  )("reports what went wrong: %s", async (_what, module, message) => {
    expect(await call(module)).toEqual(threw(message));
  });

  const forgeries: readonly (readonly [string, string, object])[] = [
    ["where it is kept", 'globalThis.outcome = "{"; export default () => 1', { ended: "returned", value: 1 }],
    [
      "while it is written",
      'export default () => ({ toJSON() { globalThis.outcome = "{"; return 2 } })',
      { ended: "returned", value: 2 },
    ],
    [
      "by what writes it",
      'JSON.stringify = () => "{"; Promise.prototype.then = () => 1; String.prototype.slice = 1; export default () => 3',
      { ended: "returned", value: 3 },
    ],
    [
      "by what a promise is",
      'globalThis.Promise = class {}; Object.prototype.text = "{"; export default async () => 4',
      { ended: "returned", value: 4 },
    ],
    [
      "with an error that cannot be shown",
      'export default () => { throw new Proxy({}, { get() { throw "{" } }) }',
      threw(""),
    ],
    [
      "with a result that is nested without measure",
      "export default () => { let a = []; for (let i = 0; i < 5000; i++) a = [a]; return a }",
      threw(""),
    ],
  ];

  it.each(spreadOf(forgeries, 4))("cannot fake its result %s", async (_what, module, ended) => {
    expect(await call(module, { limits: { wallMs: 20_000, outputBytes: 20_000 } })).toEqual(ended);
  });

  it("has only the language's own globals", async () => {
    const names = ["fetch", "process", "require", "setTimeout", "XMLHttpRequest", "WebAssembly", "Deno", "Buffer"];
    const known = [...names, "std", "os"].map((name) => `[typeof ${name}, typeof globalThis["${name}"]]`);
    const module = `export default () => [${known.join(", ")}].flat()`;
    expect(await call(module)).toEqual({ ended: "returned", value: Array(20).fill("undefined") });
  });

  const ELSEWHERE = ["node:fs", "fs", "x.js", "/etc/passwd", "https://example.org/x.js"];

  it.each(spreadOf(ELSEWHERE, 2))("imports nothing: %s", async (name) => {
    expect(await call(`import * as x from "${name}"; export default () => 1`)).toEqual(threw(name));
  });

  it("imports nothing dynamically either", async () => {
    const module = `export default async () => {
      const told = [];
      for (const name of ${JSON.stringify(ELSEWHERE)})
        told.push(await import(name).then(() => "imported", (error) => String(error)));
      return told;
    }`;
    const refused = ELSEWHERE.map((name) => expect.stringContaining(name));
    expect(await call(module)).toEqual({ ended: "returned", value: refused });
  });

  it("reaches nothing of the host through a constructor", async () => {
    const module = `export default () => { const g = (() => {}).constructor("return this")();
      return [typeof g.process, typeof g.require, typeof g.parentPort, Object.keys(g).sort()] }`;
    const ended = await call(module);
    expect(ended).toEqual({
      ended: "returned",
      value: ["undefined", "undefined", "undefined", ["console"]],
    });
  });

  it.each([
    "export default () => { for (;;); }",
    "for (;;); export default 1",
    `export default () => /(a+)+$/.test("${"a".repeat(40)}b")`,
  ])("is stopped when its time is over: %s", async (module) => {
    expect(await call(module, { limits: { wallMs: 500, outputBytes: 100 } })).toEqual({ ended: "time" });
  });

  it("is stopped when it needs too much memory", async () => {
    const module = `export default () => { const all = []; for (;;) all.push({ all: [1, 2, 3] }) }`;
    const limits = { wallMs: 20_000, outputBytes: 100, memoryBytes: 20_000_000 };
    expect(await call(module, { limits })).toEqual({ ended: "memory" });
  });

  it("is stopped when it returns too much", async () => {
    const limits = { wallMs: 20_000, outputBytes: 1000 };
    expect(await call('export default () => "x".repeat(100_000)', { limits })).toEqual({ ended: "output" });
  });

  it("is stopped by an abort, also before it starts", async () => {
    const controller = new AbortController();
    const ended = call("export default () => { for (;;); }", { signal: controller.signal });
    setImmediate(() => controller.abort());
    expect(await ended).toEqual({ ended: "aborted" });
    expect(await call("export default () => 1", { signal: AbortSignal.abort() })).toEqual({ ended: "aborted" });
  });
});
