import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { makeProject, readEvents, removeProjects } from "../cli/program.ts";
import { type Listening, SECRET, send, startListening } from "../protocol/webhooks/listening.ts";
import { PAYLOADS } from "../protocol/webhooks/payloads.ts";

/** The examples of docs/listen.md work: each source with its vendor's payload, and the shell commands. */

const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "listen.md"), "utf8");
const blocksOf = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"))].map(([, block = ""]) => block);

const [first = "", vendors = "", approvals = ""] = blocksOf("yaml");
const document = { ...parse(first), ...parse(approvals), model: "script:script.json", port: 0 };
document.sources = { ...document.sources, ...parse(vendors).sources };

const HELD = { workflow: "incident-triage.yml", secret: "HOOK" };
const sources = Object.fromEntries(
  Object.entries(document.sources).map(([name, source]) => [name, { ...(source as object), ...HELD }]),
);

let cwd = "";
let listener: Listening;
beforeAll(async () => {
  const node = { name: "Gather", instruction: "Say something." };
  cwd = makeProject({
    "incident-triage.yml": {
      id: "incident-triage",
      name: "Triage",
      entry: "gather",
      nodes: { gather: node },
      edges: [],
    },
    "script.json": { replies: [{ node: "gather", text: "said" }] },
  });
  writeFileSync(join(cwd, "listen.yml"), JSON.stringify({ ...document, sources }));
  listener = await startListening(cwd);
});
afterAll(async () => {
  await listener.stop();
  removeProjects();
});

const hmac = (body: string) => createHmac("sha256", SECRET).update(body).digest("hex");
const PROOFS: Readonly<Record<string, (body: string) => Readonly<Record<string, string>>>> = {
  sentry: (body) => ({
    "sentry-hook-timestamp": String(Math.floor(Date.now() / 1000)),
    "sentry-hook-signature": hmac(body),
  }),
  pagerduty: (body) => ({ "x-pagerduty-signature": `v1=${"0".repeat(64)},v1=${hmac(body)}` }),
  github: (body) => ({ "x-hub-signature-256": `sha256=${hmac(body)}` }),
};
const proofOf = (kind: string, body: string) => PROOFS[kind]?.(body) ?? { authorization: `Bearer ${SECRET}` };

describe("the page about webhooks", () => {
  it("shows a source of every vendor", () => {
    expect(Object.keys(sources).sort()).toEqual(["alerts", ...Object.keys(PAYLOADS)].sort());
  });

  it.each(Object.entries(PAYLOADS))(
    "shows a source of %s that accepts the vendor's payload, once",
    async (kind, payload) => {
      const body = JSON.stringify(payload.body);
      const sent = { path: `/${kind}`, body, headers: { ...payload.headers, ...proofOf(kind, body) } };
      const forged = { ...payload.headers, ...proofOf(kind, `${body} `), authorization: "Bearer of no news" };
      expect((await send(listener.url, { ...sent, headers: forged })).status).toBe(401);
      const answer = await send(listener.url, sent);
      expect(answer).toMatchObject({ status: 202, json: { run: expect.stringMatching(`^${kind}-`) } });
      expect(await send(listener.url, sent)).toMatchObject({
        status: 200,
        json: { run: answer.json.run, duplicate: true },
      });
      await listener.until(() => listener.ended.includes(`${answer.json.run} succeeded`));
      expect(readEvents(cwd, String(answer.json.run))[0]).toMatchObject({ type: "workflow:start" });
    },
  );

  it("shows shell commands that sign an alert", async () => {
    const script = blocksOf("sh").find((block) => block.includes("openssl")) ?? "";
    const env = { PATH: process.env.PATH, LISTENING: listener.url, ALERTS_SECRET: SECRET };
    const said = await new Promise<string>((resolve, reject) => {
      const child = spawn("bash", ["-c", script], { env, cwd });
      let text = "";
      child.stdout.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      child.once("error", reject).once("close", () => resolve(text));
    });
    expect(JSON.parse(said)).toEqual({ run: expect.stringMatching(/^alerts-/) });
  });
});
