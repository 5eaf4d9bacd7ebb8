import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSandbox } from "../../src/sandbox/choose.ts";
import { sandboxHost } from "../sandbox/host.ts";
import { runHere } from "./in-process.ts";
import { makeProject, readEvents } from "./program.ts";

/** Code of skills that declare hosts, in runs of the built program. */

const isSandboxed = (await openSandbox(sandboxHost)).name !== "missing";

const FETCH = "({ url }) { return { told: await (await fetch(url)).text() }; }\n";
const INPUT = "type: object, properties: { url: { type: string } }";
const WORKFLOW =
  "id: w\nname: W\nentry: a\nnodes:\n  a: { name: A, instruction: Go., skills: [web.get, web.fetch] }\nedges: []\n";

const filesFor = (host: string) => ({
  "w.yml": WORKFLOW,
  "skills/web-get/contract.yml": `id: web.get\nversion: 1.0.0\ndescription: Gets.\ninput: { ${INPUT} }\noutput: { type: object }\n`,
  "skills/web-get/binding.yml": `function: ./get.mjs#get\nnetwork: ["${host}"]\n`,
  "skills/web-get/get.mjs": `export async function get${FETCH}`,
  "skills/web-fetch/skill.toml":
    'name = "web.fetch"\nversion = "1.0.0"\ndescription = "Fetches."\nkind = "action"\n' +
    '[runtime]\nlanguage = "javascript"\nentrypoint = "main.mjs"\nexport = "main"\n' +
    `[permissions]\nnetwork = ["${host}"]\n[inputs.url]\ntype = "string"\n`,
  "skills/web-fetch/SKILL.md": "---\nname: Fetch\nshort_description: Fetches.\n---\nFetches.\n",
  "skills/web-fetch/main.mjs": `export async function main${FETCH}`,
});

describe.skipIf(!isSandboxed)("code of a skill that declares hosts (needs a sandbox)", () => {
  const service = createServer((_asked, answer) => answer.end("hello"));
  let here: string;
  beforeAll(async () => {
    service.listen(0, "127.0.0.1");
    await once(service, "listening");
    here = `127.0.0.1:${(service.address() as AddressInfo).port}`;
  });
  afterAll(() => void service.close());

  it.each([
    ["a bound function", "web_get"],
    ["a package", "web_fetch"],
  ])("%s reaches them and no other", async (_what, tool) => {
    const error = expect.stringContaining("skillflow: evil.test:443 was refused");
    const call = (url: string) => ({ calls: [{ tool, input: { url } }] });
    const replies = [call(`http://${here}/`), call("https://evil.test/"), { text: "done" }];
    const cwd = makeProject({ ...filesFor(here), "s.json": { replies } });
    const trust = ["--trust-skill", "web.get", "--trust-skill", "web.fetch"];
    const ended = await runHere(["run", "w.yml", "--model", "script:s.json", "--run-id", "r", ...trust], { cwd });
    expect(ended.code, ended.stderr).toBe(0);
    const results = readEvents(cwd, "r").filter((event) => event.type === "tool:result");
    expect(results).toMatchObject([{ output: { told: "hello" } }, { error }]);
  });
});
