import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/core/base/values.ts";
import { runHere } from "../cli/in-process.ts";
import { makeProject } from "../cli/program.ts";
import { LONG, longer } from "../harness/long.ts";
import { startChat } from "../services/chat.ts";
import type { Scripted } from "../services/script.ts";

/** Random secrets, said in random ways at random places of a whole run: no output holds them. */

const SKILL = `
import { readFileSync } from "node:fs";
import { join } from "node:path";
const input_schema = { type: "object", properties: { text: { type: "string" }, about: { type: "string" } } };
export default {
  id: "hear", name: "Hear", description: "Hears", category: "general",
  config: { HEAR_TOKEN: { description: "the token", env: "HEAR_TOKEN" } },
  tools: [
    {
      name: "out", description: "Says it", effect: "read", input_schema,
      async handler({ about }, { workDir, logger, blobs }) {
        const { logs = [], blob, error, output = null } = JSON.parse(readFileSync(join(workDir, "said.json"), "utf8"))[about];
        for (const line of logs) logger.warn(line);
        const kept = blob === undefined ? undefined : await blobs.create(Buffer.from(blob), "text/plain");
        if (error !== undefined) throw new Error(error);
        return { output, kept };
      },
    },
    { name: "post", description: "Posts it", effect: "write", input_schema, handler: () => ({ ok: true }) },
  ],
};
`;
const FLOW = {
  ...{ id: "w", name: "W", entry: "hear" },
  nodes: {
    hear: { name: "Hear", instruction: "Hear it.", skills: ["hear"] },
    tell: { name: "Tell", instruction: "Tell it." },
  },
  edges: [{ from: "hear", to: "tell" }],
};

const bytesOf = (text: string) => [...Buffer.from(text)];
const hexOf = (byte: number) => byte.toString(16).padStart(2, "0");
const lines = (text: string, width: number) => (text.match(new RegExp(`.{1,${width}}`, "g")) ?? []).join("\n");

const WAYS: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => JSON.stringify(JSON.stringify(text)),
  (text) => Buffer.from(text).toString("base64"),
  (text) => Buffer.from(`user:${text}`).toString("base64url"),
  (text) => lines(Buffer.from(text).toString("base64"), 20),
  (text) => Buffer.from(text).toString("hex"),
  (text) => bytesOf(text).map(hexOf).join(" "),
  (text) => bytesOf(text).join(", "),
  (text) => JSON.stringify({ type: "Buffer", data: bytesOf(text) }),
  (text) =>
    bytesOf(text)
      .map((byte) => `0x${hexOf(byte)}`)
      .join(","),
  (text) =>
    bytesOf(text)
      .map((byte) => `%${hexOf(byte)}`)
      .join(""),
  (text) =>
    bytesOf(text)
      .map((byte) => `\\x${hexOf(byte)}`)
      .join(""),
  (text) =>
    bytesOf(text)
      .map((byte) => `\\u00${hexOf(byte)}`)
      .join(""),
  (text) =>
    bytesOf(text)
      .map((byte) => `\\${byte.toString(8).padStart(3, "0")}`)
      .join(""),
  (text) =>
    bytesOf(text)
      .map((byte) => `&#${byte};`)
      .join(""),
  (text) =>
    bytesOf(text)
      .map((byte) => `&#x${hexOf(byte)};`)
      .join(""),
  (text) =>
    bytesOf(text)
      .map((byte) => `=${hexOf(byte).toUpperCase()}`)
      .join(""),
  ...["\u200b", "\u00ad", "\ufeff", "\u202e", "\ufe0f", "\u001b[1m", "\u0007"].map(
    (seed) => (text: string) => [...text].join(seed),
  ),
];

/** All decodings of an output, so that a secret is found in any form in which it was written. */
function readings(output: string): readonly string[] {
  const points = (radix: number) => (_: string, digits: string) => String.fromCodePoint(Number.parseInt(digits, radix));
  const unescaped = output
    .replaceAll(/\\+u([0-9a-f]{4})/gi, points(16))
    .replaceAll(/\\+x([0-9a-f]{2})/gi, points(16))
    .replaceAll(/\\+([0-3][0-7]{2})/g, points(8))
    .replaceAll(/\\+n/g, "\n");
  const plain = unescaped
    .replaceAll(/&#(\d{1,6});/g, points(10))
    .replaceAll(/&#x([0-9a-f]{1,6});/gi, points(16))
    .replaceAll(/[%=]([0-9a-f]{2})/gi, points(16));
  const seen = [unescaped, plain].map((text) =>
    stripVTControlCharacters(text).replaceAll(/[^\P{Cc}\n\t]|\p{Default_Ignorable_Code_Point}/gu, ""),
  );
  const joined = seen.map((text) => text.replaceAll(/[\s\\"]+/g, ""));
  const runs = joined.flatMap((text) => text.match(/[A-Za-z0-9+/_-]{16,}/g) ?? []);
  const decoded = runs.flatMap((run) => [0, 1, 2, 3].map((skip) => Buffer.from(run.slice(skip), "base64").toString()));
  const pairs = seen.flatMap((text) => text.replaceAll(/0x|[\s:,]+/g, "").match(/[0-9a-f]{24,}/gi) ?? []);
  const bytes = pairs.flatMap((run) => [0, 1].map((skip) => Buffer.from(run.slice(skip), "hex").toString()));
  const lists = plain.match(/\d{1,3}(?:[\s,\\n]+\d{1,3}){7,}/g) ?? [];
  const numbers = lists.map((list) => Buffer.from((list.match(/\d+/g) ?? []).map(Number)).toString());
  return [output, ...seen, ...joined, ...decoded, ...bytes, ...numbers];
}

const PLACES = ["input", "text", "call", "result", "nested", "split", "error", "log", "blob", "provider"] as const;
type Place = (typeof PLACES)[number];

interface Saying {
  readonly place: Place;
  readonly said: string;
  readonly secret: string;
}

/** The tool's input for one place. */
function toldOf({ place, said, secret }: Saying): Json {
  const third = Math.ceil(secret.length / 3);
  const pieces = [secret.slice(0, third), secret.slice(third, 2 * third), secret.slice(2 * third)];
  const all: Partial<Record<Place, Json>> = {
    result: { output: said },
    nested: { output: { rows: [[{ deep: said }], { bytes: bytesOf(secret) }] } },
    split: { output: { lines: pieces } },
    error: { error: `${"x".repeat(5000)} ${said} ${"y".repeat(5000)}` },
    log: { logs: [said, `${said}\n${said}`] },
    blob: { blob: `${said}\n`.repeat(50) },
  };
  return all[place] ?? {};
}

function repliesOf(sayings: readonly Saying[]): readonly Scripted[] {
  const at = (...places: readonly Place[]) => sayings.filter(({ place }) => places.includes(place));
  const heard = sayings.map((_, index) => ({ tool: "hear_out", input: { about: String(index) } }));
  const posted = at("call").map(({ said }) => ({ tool: "hear_post", input: { text: said, about: said } }));
  const text = ["Well.", ...at("text").map(({ said }) => said)].join(" ");
  const broken = at("provider").map(({ said }): Scripted => ({ raw: { type: "text/html", body: `<b>${said}</b>` } }));
  return [{ text, calls: [...heard, ...posted] }, { text }, ...broken.slice(0, 1), { text }];
}

/** All outputs of a run that contains these texts. */
async function outputsOf(sayings: readonly Saying[], secrets: Readonly<Record<string, string>>, credential: string) {
  const replies = repliesOf(sayings);
  const model = await startChat((_body, index) => replies[index] ?? { text: "Done." });
  const cwd = makeProject({
    "w.yml": FLOW,
    ".skillflow.yml": "skills: { modules: [./plugins/hear.mjs] }\n",
    "plugins/hear.mjs": SKILL,
    "said.json": Object.fromEntries(sayings.map((saying, index) => [index, toldOf(saying)])),
    ".npmrc": `//registry.example.com/:_authToken=${credential}\n`,
  });
  const input = JSON.stringify({ alert: sayings.filter(({ place }) => place === "input").map(({ said }) => said) });
  const reports = ["html=o/r.html", "junit=o/r.xml", "md=o/r.md", "sarif=o/r.sarif"].flatMap((to) => ["--report", to]);
  const args = ["run", "w.yml", "--model", "openai-compatible:gpt-5", "--json", "--verbose", "--out", "out"];
  const more = ["--writes", "plan", "--trust-skill", "hear", "--input", input, ...reports];
  try {
    const env = { ...secrets, OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "sk-canary-Z9y8X7w6V5u4T3s2R1q0" };
    const { stdout, stderr } = await runHere([...args, ...more], { cwd, env });
    const files = [".skillflow", "out", "o"].flatMap((folder) => filesBelow(join(cwd, folder)));
    const written = files.map((file): [string, string] => [file, readFileSync(file, "utf8")]);
    return new Map([["stdout", stdout], ["stderr", stderr], ["prompts", JSON.stringify(model.bodies)], ...written]);
  } finally {
    await model.close();
  }
}

function filesBelow(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, encoding: "utf8", withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

describe("a random secret, in any place of a run and any encoding", () => {
  const secret = fc.stringMatching(/^[A-Za-z][A-Za-z0-9]{23,35}$/);
  const saying = fc.record({
    place: fc.constantFrom(...PLACES),
    which: fc.nat(2),
    way: fc.constantFrom(...WAYS),
    before: fc.constantFrom("", "token=", "it is ", '{"a":"', "\n"),
  });
  const run = fc.record({
    secrets: fc.tuple(secret, secret, secret),
    sayings: fc.array(saying, { minLength: 16, maxLength: 24 }),
  });

  it(
    "is in no record, result, report, plan, blob, prompt or stream",
    async () => {
      await fc.assert(
        fc.asyncProperty(run, async ({ secrets, sayings }) => {
          const [config, named, credential] = secrets;
          const said = sayings.map(({ place, which, way, before }) => {
            const chosen = secrets[which] ?? config;
            return { place, secret: chosen, said: `${before}${way(chosen)} ` };
          });
          const outputs = await outputsOf(said, { HEAR_TOKEN: config, OTHER_API_KEY: named }, credential);
          expect(outputs.size).toBeGreaterThan(8);
          expect([...outputs.values()].join("\n")).toContain("[redacted:");
          for (const [place, output] of outputs) {
            const read = readings(output);
            for (const one of secrets)
              for (const part of [one.slice(0, 12), one.slice(-12)])
                expect(
                  read.some((reading) => reading.includes(part)) ? `${place}: ${part}` : undefined,
                ).toBeUndefined();
          }
        }),
        { numRuns: LONG ? 200 : 2, endOnFailure: true },
      );
    },
    longer(30_000),
  );
});
