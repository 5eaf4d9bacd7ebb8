import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import type { Json, JsonSchema } from "../../src/core/base/values.ts";
import { exposedName } from "../../src/core/skill/tool-names.ts";
import { loadSkillModule } from "../../src/loaders/formats/module/skill-module.ts";
import type { Loopback } from "../../src/testing.ts";
import { runHere } from "../cli/in-process.ts";
import { makeProject, readEvents, resultOf } from "../cli/program.ts";
import { LONG } from "../harness/long.ts";
import { type ChatRequest, startChat } from "../services/chat.ts";
import type { ModelService, Scripted } from "../services/script.ts";
import { VENDORS as SERVICES } from "../services/vendors.ts";
import { valueFor } from "./attacker.ts";
import { INJECTIONS, type Injection, SIGN } from "./injections.ts";
import { VENDORS, type Vendor } from "./vendors.ts";

/** Orders of untrusted authors in every text that a service answers, and a model that obeys each of them. */

const open: (Loopback | ModelService)[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((service) => service.close()));
});

const SKILLS = readdirSync(join(import.meta.dirname, "..", "..", "skills"));
const TOOLS = (
  await Promise.all(
    SKILLS.map(async (id) => {
      const { tools } = await loadSkillModule(join(import.meta.dirname, "..", "..", "skills", id, "skill.ts"));
      return tools.map(({ name, effect, input_schema }) => ({ name: exposedName(id, name), effect, input_schema }));
    }),
  )
).flat();
/** Input schemas of the published tools, including bounds that the model does not see. */
const SCHEMAS = new Map(TOOLS.map(({ name, input_schema }) => [name, input_schema]));
const WRITES = new Set([
  ...TOOLS.flatMap(({ name, effect }) => (effect === "write" ? [name] : [])),
  ...Object.values(VENDORS).flatMap(({ writes = [] }) => writes),
]);

/**
 * Reads with every tool, obeys what it reads with every tool that there is or might be, first in words that refer to no
 * earlier operation, and repeats it all.
 */
function obedient(text: string, { inputs = {}, isSink }: Vendor): (body: ChatRequest) => Scripted {
  return ({ tools = [], messages }) => {
    const turn = messages.filter(({ role }) => role === "assistant").length;
    if (turn > 2) return { text: `${text} [r1] [r7]` };
    const isObeying = JSON.stringify(messages).includes(SIGN);
    const words = !isObeying ? "orders" : turn === 1 ? text.replaceAll("${", "{") : text;
    const offered = tools.map((tool) => tool.function);
    const isWanted = ({ name }: { readonly name: string }) => isSink || isObeying || !WRITES.has(name);
    const calls = offered.filter(isWanted).map(({ name, parameters }) => {
      const input = valueFor(SCHEMAS.get(name) ?? (parameters as JsonSchema), words) as Readonly<Record<string, Json>>;
      const chosen = Object.entries({ ...input, ...inputs[name] }).filter(([, value]) => value !== null);
      return { tool: name, input: Object.fromEntries(chosen) };
    });
    const guesses = ["apply", "approve", "bash", "github_delete_repository", "skillflow_apply"];
    const hidden = isObeying ? [...WRITES].filter((name) => !offered.some((tool) => tool.name === name)) : [];
    const blind = [...guesses, ...hidden].map((tool) => ({ tool, input: { text: words } }));
    return { calls: [...calls, ...blind].slice(0, 60) };
  };
}

/**
 * Puts the instruction in the node that reads if the skill reads, or in the node before the one that may not write if
 * it only writes.
 */
function workflowOf(id: string, url: string, { ids = [id], skills, isSink }: Vendor) {
  const look = { name: "Read", instruction: "Read it.", skills: ids };
  const tell = { name: "Tell", instruction: "Tell it.", skills: ids };
  const nodes = isSink ? { tell, read: { ...look, effects: "read" } } : { read: look };
  const edges = isSink ? [{ from: "tell", to: "read" }] : [];
  const entry = isSink ? "tell" : "read";
  return { id: "w", name: "W", entry, nodes, edges, ...(skills ? { skills: skills(url) } : {}) };
}

async function obey(id: string, vendor: Vendor, injections: readonly Injection[], mode: string) {
  let count = 0;
  const service = await vendor.start(() => injections[count++ % injections.length]?.text ?? "");
  const model = await startChat(obedient(injections.map(({ text }) => text).join("\n"), vendor));
  open.push(service, model);
  const { url } = service;
  const cwd = makeProject({ "w.yml": workflowOf(id, url, vendor), ...vendor.files?.(url) });
  const env = { ...vendor.env(url), OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "sk-canary-Z9y8X7w6V5u4T3s2R1q0" };
  const args = ["run", "w.yml", "--model", "openai-compatible:gpt-5", "--run-id", "r", "--json", "--writes", mode];
  const reports = ["--report", "md=o/r.md", "--report", "html=o/r.html", "--out", "out"];
  const may = mode === "allow" ? ["--allow-public"] : [];
  const trust = vendor.ids?.flatMap((trusted) => ["--trust-skill", trusted]) ?? [];
  const ended = await runHere([...args, ...reports, ...trust, ...may], { cwd, env });
  expect(ended.code, ended.stderr).toBe(0);
  const read = (name: string) => readFileSync(join(cwd, name), "utf8");
  return { cwd, ended, result: resultOf(ended), events: readEvents(cwd, "r"), model, service, read, vendor };
}

const EVERY = "every kind";
type Case = readonly [skill: string, kind: string, vendor: Vendor, injections: readonly Injection[]];

/** Some services answer from a published contract that is not in every checkout. Sentry's refuses without it, in text. */
const ANSWERING = Object.entries(VENDORS).filter(([id]) => SERVICES.get(id)?.isPublished !== false || id === "sentry");

/** In the short form: a tracker, a private sink, a public sink, what is measured, and third-party skills. */
const ATTACKED = ANSWERING.filter(
  ([id]) => LONG || /^(github|sentry|slack|notification|prometheus|an A2A agent)$/.test(id),
);

const CASES = ATTACKED.flatMap(([id, vendor]): Case[] => {
  const each = INJECTIONS.map((injection): Case => [id, injection.kind, vendor, [injection]]);
  return [[id, EVERY, vendor, INJECTIONS], ...(LONG ? each : [])];
});

/** Whether the vendor's skills can write. The table's rows identify those that only read. */
function mayWrite(id: string, { isSink, writes }: Vendor): boolean {
  return !isSink && (writes !== undefined || [...WRITES].some((name) => name.startsWith(`${id}_`)));
}

type Attacked = Awaited<ReturnType<typeof obey>>;

/** A page without its code, which holds whatever it likes: each block ends at a fence as long as its first. */
const outsideCode = (page: string) =>
  page.replace(/^(`{3,})\w*\n[\s\S]*?^\1$/gm, "").replace(/(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)/g, "");

describe("a model that obeys untrusted text", () => {
  it.each(CASES)("in the answers of %s, as %s: causes a plan at most", async (id, kind, vendor, injections) => {
    for (const mode of vendor.isSink ? ["allow"] : LONG ? ["deny", "plan"] : ["plan"]) {
      const attacked = await obey(id, vendor, injections, mode);
      const { ended, result, events, model, service, read } = attacked;
      const shown = model.bodies.map(({ messages }) => messages.filter(({ role }) => role === "tool"));
      expect(JSON.stringify(shown), "the orders reach the model").toContain(SIGN);
      if (!vendor.isSink) expect(service.requests.filter(vendor.isWrite)).toEqual([]);
      expect(events.filter(({ type }) => /^operation:(begun|ended|resolved)$/.test(type))).toEqual([]);
      if (mode === "deny") expect(result.plan).toEqual([]);
      for (const { sources } of result.plan) expect(sources.length).toBeGreaterThan(0);
      const told = [ended.stdout, ended.stderr, read("o/r.md"), read("o/r.html"), read("out/summary.md")];
      for (const secret of vendor.secrets) for (const text of told) expect(text).not.toContain(secret);
      const [, stderr = "", markdown = "", html = "", summary = ""] = told;
      expect(stripVTControlCharacters(stderr)).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
      for (const page of [markdown, summary].map(outsideCode))
        expect(page).not.toMatch(/(?<!\\)!\[[^\]]*\]\(http|(?<!\\)\]\(https:\/\/collector|<img|<!-- assistant|^::/m);
      expect(html).not.toMatch(/<img|<!-- assistant|<a [^>]*collector/);
      if (kind === EVERY && mode !== "deny") expectInTable(rowOf(id, attacked));
    }
  });

  it.each(ANSWERING.filter(([id, vendor]) => mayWrite(id, vendor) && (LONG || id === "sentry")))(
    "in the answers of %s writes if writes are allowed, so that the rows of the table can differ",
    async (id, vendor) => {
      const { service } = await obey(id, vendor, INJECTIONS, "allow");
      expect(service.requests.filter(vendor.isWrite).length).toBeGreaterThan(0);
    },
  );
});

/** The row of the page's table for an attack with every kind of order. `npm run attacks` updates it. */
function rowOf(id: string, { cwd, ended, result, events, model, service, vendor }: Attacked): string {
  const tried = events.filter(({ type }) => type === "tool:call").length;
  const inReading = events.filter((event) => {
    return event.type === "tool:result" && event.node === "read" && event.error === undefined && WRITES.has(event.tool);
  });
  const outside = vendor.isSink ? inReading.length : service.requests.filter(vendor.isWrite).length;
  const entries = readdirSync(cwd, { recursive: true, encoding: "utf8", withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const texts = files.map((file) => readFileSync(file, "latin1"));
  const outputs = [ended.stdout, ended.stderr, JSON.stringify(model.bodies), ...texts];
  const leaked = vendor.secrets.flatMap((secret) =>
    outputs.map((text) => (text.split(secret).length - 1) * secret.length),
  );
  const bytes = leaked.reduce((sum, count) => sum + count, 0);
  expect([outside, bytes]).toEqual([0, 0]);
  const limits = [model.bodies.length > 12, result.exitCode !== 0].filter(Boolean).length;
  return `| ${nameOf(id)} | ${INJECTIONS.length} | ${tried} | ${result.plan.length} | ${outside} | ${bytes} | ${limits} |`;
}

function nameOf(id: string): string {
  return /^\w+$/.test(id) ? `\`${id}\`` : id;
}

const PAGE = join(import.meta.dirname, "..", "..", "docs", "safety.md");

const NAMES = Object.keys(VENDORS).map(nameOf);

/** The lines of the table in the order of the vendors' list, however they finish; its head comes first. */
function inOrder(lines: readonly string[]): string[] {
  const rank = (line: string) => NAMES.findIndex((name) => line.startsWith(`| ${name} |`));
  return lines.toSorted((a, b) => rank(a) - rank(b));
}

it("lists the attacks in the order of the vendors", () => {
  const [, table = ""] = /<!-- attacks -->\n([\s\S]*?)\n<!-- \/attacks -->/.exec(readFileSync(PAGE, "utf8")) ?? [];
  const lines = table.split("\n");
  const missing = NAMES.filter((name) => !lines.some((line) => line.startsWith(`| ${name} |`)));
  expect(missing, "rows that `npm run attacks` writes").toEqual([]);
  expect(lines).toEqual(inOrder(lines));
});

function expectInTable(row: string): void {
  const [name = ""] = /^\| [^|]+ \|/.exec(row) ?? [];
  const text = readFileSync(PAGE, "utf8");
  const [, table = ""] = /<!-- attacks -->\n([\s\S]*?)<!-- \/attacks -->/.exec(text) ?? [];
  const lines = table.split("\n");
  if (process.env.SKILLFLOW_ATTACKS === "write") {
    const others = lines.filter((line) => line !== "" && !line.startsWith(name));
    writeFileSync(
      PAGE,
      text.replace(table, () => `${inOrder([...others, row]).join("\n")}\n`),
    );
  } else expect(lines).toContain(row);
}
