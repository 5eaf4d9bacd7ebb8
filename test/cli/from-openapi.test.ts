import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import type { SkillDefinition } from "../../src/core/skill/skill.ts";
import { type Loopback, sendJson, startLoopback, toolContext } from "../../src/testing.ts";
import { runHere } from "./in-process.ts";
import { makeProject } from "./program.ts";

/** Skills generated from the description of an API. */

const open: Loopback[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((service) => service.close()));
});

const operation = (path: string, more = {}) => ({
  [path]: { get: { operationId: path.slice(1), summary: `Reads ${path}.`, ...more } },
});
const document = (paths: unknown, rest = {}) => ({ openapi: "3.0.3", info: { title: "Acme Status" }, paths, ...rest });
const begin = async (description: unknown, ...args: string[]) => {
  const text = typeof description === "string" ? description : JSON.stringify(description);
  const cwd = makeProject({ "api.json": text });
  return { cwd, ...(await runHere(["skills", "new", ...args, "--from", "openapi", "api.json"], { cwd })) };
};

/** The skill that was written, as Node runs it. */
async function skillIn(cwd: string, id = "acme-status"): Promise<SkillDefinition> {
  const module: unknown = await import(pathToFileURL(join(cwd, "skills", id, "skill.mjs")).href);
  return (module as { default: SkillDefinition }).default;
}

async function ask(cwd: string, tool: string, input: Record<string, unknown>, config: Record<string, string>) {
  const { tools } = await skillIn(cwd);
  const found = tools.find(({ name }) => name === tool);
  if (!found) throw new Error(`there is no ${tool}`);
  return found.handler(input, { ...toolContext(), config });
}

describe("a skill from an API's description", () => {
  it("is named by its title, passes lint, loads once it is trusted, and names the variables to set", async () => {
    const { cwd, code, stderr } = await begin(
      document(operation("/incidents"), {
        servers: [{ url: "https://status.example" }],
        components: { securitySchemes: { a: { type: "http", scheme: "bearer" } } },
      }),
    );
    expect(code).toBe(0);
    expect(stderr).toMatch(/acme-status is a skill in the format module: describe in SKILL.md when to use its tool/);
    expect(stderr).toMatch(/Set: {7}ACME_STATUS_URL \(optional\), ACME_STATUS_TOKEN\n/);
    const linted = await runHere(["skills", "lint", "--json"], { cwd });
    expect(JSON.parse(linted.stdout)).toEqual({ schema: "skillflow.lint/1", problems: [] });
    const shown = await runHere(["skills", "show", "acme-status", "--trust-skill", "acme-status", "--json"], {
      cwd,
      env: { ACME_STATUS_TOKEN: "t" },
    });
    expect(JSON.parse(shown.stdout)).toMatchObject({
      id: "acme-status",
      available: true,
      tools: [{ name: "incidents", effect: "read" }],
    });
  });

  const KEYED = {
    servers: [{ url: "https://evil.example/v1" }],
    components: { securitySchemes: { a: { type: "apiKey", in: "header", name: "key" } } },
  };
  it.each([
    ["OpenAI API", {}, "SKILL_OPENAI_API_KEY"],
    ["GitHub Status", {}, "SKILL_GITHUB_STATUS_KEY"],
    ["AWS Secret Access", {}, "SKILL_AWS_SECRET_ACCESS_KEY"],
    ["Deploy", { DEPLOY_KEY: "held" }, "SKILL_DEPLOY_KEY"],
    ["Deploy", { DEPLOY_URL: "https://here.example" }, "SKILL_DEPLOY_KEY"],
    ["Deploy", {}, "DEPLOY_KEY"],
  ])("titled %s, with %j set, sends no variable of another program", async (title, env, name) => {
    const cwd = makeProject({ "api.json": document(operation("/incidents"), { info: { title }, ...KEYED }) });
    const { code, stderr } = await runHere(["skills", "new", "--from", "openapi", "api.json"], { cwd, env });
    expect(code).toBe(0);
    expect(stderr).toContain(`Sends:     ${name} to evil.example\n`);
    const id = title.toLowerCase().replaceAll(" ", "-");
    const { config } = await skillIn(cwd, id);
    expect(Object.keys(config ?? {}).sort()).toEqual([name, name.replace(/KEY$/, "URL")]);
    for (const held of Object.keys(env))
      expect(readFileSync(join(cwd, "skills", id, "skill.mjs"), "utf8")).not.toMatch(new RegExp(`\\b${held}`));
  });

  it("is refused if no name is free, with a hint", async () => {
    const cwd = makeProject({
      "api.json": document(operation("/incidents"), { info: { title: "OpenAI API" }, ...KEYED }),
    });
    const env = { SKILL_OPENAI_API_KEY: "held" };
    const { code, stderr } = await runHere(["skills", "new", "--from", "openapi", "api.json"], { cwd, env });
    expect([code, existsSync(join(cwd, "skills"))]).toEqual([2, false]);
    expect(stderr.replaceAll(/\s+/g, " ")).toContain("SKILL_OPENAI_API_KEY is already set, and the skill would");
  });

  it.each([
    ["y", 0],
    ["n", 1],
    ["", 1],
  ])("asks at a terminal what may be sent where: %j", async (answer, code) => {
    const cwd = makeProject({ "api.json": document(operation("/incidents"), KEYED) });
    const args = ["skills", "new", "--from", "openapi", "api.json"];
    const ended = await runHere(args, { cwd, isTerminal: true, answers: [answer] });
    expect(ended.code).toBe(code);
    expect(ended.stderr).toContain("acme-status sends ACME_STATUS_KEY to evil.example.\n");
    expect(existsSync(join(cwd, "skills"))).toBe(code === 0);
  });

  it("is generated by the commands of the page about skill formats", async () => {
    const page = readFileSync(join(import.meta.dirname, "../../docs/skill-formats.md"), "utf8");
    const section = page.slice(page.indexOf("## From an API description"));
    const [, yaml = ""] = /~~~yaml\n([\s\S]*?)~~~/.exec(section) ?? [];
    const [, lines = ""] = /```sh\n([\s\S]*?)```/.exec(section) ?? [];
    const cwd = makeProject({ "status.yml": yaml });
    for (const line of lines.trim().split("\n")) {
      const args = line.replaceAll("'", "").split(" ").slice(1);
      expect(await runHere(args, { cwd })).toMatchObject({ code: 0 });
    }
    expect((await skillIn(cwd, "status-few")).tools.map(({ name }) => name)).toEqual(["list_incidents"]);
  });

  it("accepts YAML, an id, and the operations that are chosen by name, id, path or a star", async () => {
    const paths = ["/incidents", "/incident-notes", "/teams", "/users"].map(
      (path) => `  ${path}: { get: { operationId: "get${path}" } }`,
    );
    const text = `swagger: "2.0"\ninfo: { title: T }\npaths:\n${paths.join("\n")}\n  /x: { post: { operationId: write } }\n`;
    const { cwd, code } = await begin(text, "ours", "--operation", "get_incident*", "--operation", "GET /users");
    expect(code).toBe(0);
    expect((await skillIn(cwd, "ours")).tools.map(({ name }) => name)).toEqual([
      "get_incidents",
      "get_incident_notes",
      "get_users",
    ]);
  });

  it("sends parameters and keys as described", async () => {
    const service = await startLoopback((_request, response) => sendJson(response, 200, { ok: true }));
    open.push(service);
    const parameters = [
      { name: "id", in: "path", schema: { type: "string" } },
      { name: "state", in: "query", schema: { type: "array", items: { type: "string" } } },
      { name: "fields", in: "query", explode: false, schema: { type: "array", items: { type: "string" } } },
      { name: "filter", in: "query", style: "deepObject", schema: { type: "object" } },
      { name: "page[size]", in: "query", schema: { type: "integer" } },
      { name: "X-Org", in: "header", schema: { type: "string" } },
    ];
    const securitySchemes = {
      a: { type: "apiKey", in: "query", name: "api key" },
      b: { type: "apiKey", in: "header", name: "X-Key" },
    };
    const { cwd } = await begin(
      document(operation("/things/{id}", { operationId: "thing", parameters }), {
        servers: [{ url: `${service.url}/v1/` }],
        components: { securitySchemes: { ...securitySchemes, a: { ...securitySchemes.a, name: "api_key" } } },
        security: [{ a: [], b: [] }],
      }),
    );
    const input = { id: "a/b", state: ["x", "y"], fields: ["p", "q"], filter: { team: 1 }, page_size: 5, "X-Org": "o" };
    const config = { ACME_STATUS_API_KEY: "k&1", ACME_STATUS_X_KEY: "k2" };
    expect(await ask(cwd, "thing", input, config)).toEqual({ ok: true });
    const [request] = service.requests;
    expect(request?.url).toBe(
      "/v1/things/a%2Fb?state=x&state=y&fields=p%2Cq&filter%5Bteam%5D=1&page%5Bsize%5D=5&api_key=k%261",
    );
    expect(request?.headers).toMatchObject({ "x-org": "o", "x-key": "k2", accept: "application/json" });
  });

  it.each(["..", ".", ""])("lets no value change the path: %j", async (id) => {
    const parameters = [{ name: "id", in: "path" }];
    const { cwd } = await begin(document(operation("/things/{id}", { operationId: "thing", parameters })));
    await expect(ask(cwd, "thing", { id }, { ACME_STATUS_URL: "http://127.0.0.1:1" })).rejects.toThrow(
      /is not a valid id/,
    );
  });

  it.each([
    [401, {}, /^401: not authenticated\. This skill sends no key/],
    [403, {}, /^403: not allowed\. This does not mean that nothing exists/],
    [404, {}, /^404: not found\. Check the names, and ACME_STATUS_URL/],
    [429, { "retry-after": "7" }, /Try again after 7\.$/],
    [302, { location: "https://evil.example/" }, /^302: the API has moved/],
    [500, {}, /^500: \{"message":"broken"\}/],
  ])("explains a refusal with status %i", async (status, headers, words) => {
    const service = await startLoopback((_request, response) =>
      sendJson(response, status, { message: "broken" }, headers),
    );
    open.push(service);
    const { cwd } = await begin(document(operation("/things")));
    await expect(ask(cwd, "things", {}, { ACME_STATUS_URL: service.url })).rejects.toThrow(words);
  });

  it("reports a next page, and returns lists and texts as an answer", async () => {
    const service = await startLoopback((_request, response) =>
      sendJson(response, 200, [1], { link: '<https://x.example/things?cursor=2>; rel="next"' }),
    );
    open.push(service);
    const { cwd } = await begin(document(operation("/things")));
    const answer = await ask(cwd, "things", {}, { ACME_STATUS_URL: service.url });
    expect(answer).toEqual({ answer: [1], next: "?cursor=2" });
  });

  it("generates only safe code, whatever the description contains", async () => {
    const evil = '*/ `${process.exit(1)}` "); process.exit(1); // </script> --- \u2028 {{evil}}';
    const { cwd, code } = await begin(
      document(
        {
          "/things": {
            get: {
              operationId: "things",
              summary: evil,
              parameters: [{ name: `a${evil}`, in: "query", description: evil }],
            },
          },
        },
        { info: { title: `Acme ${evil}` }, servers: [{ url: `https://x.example/${evil}` }] },
      ),
      "mine",
    );
    expect(code).toBe(0);
    const { tools } = await skillIn(cwd, "mine");
    expect(tools.map(({ name }) => name)).toEqual(["things"]);
    const markdown = readFileSync(join(cwd, "skills/mine/SKILL.md"), "utf8");
    expect(markdown.split("\n---\n")).toHaveLength(2);
    expect(markdown).not.toContain("{{evil}}");
  });

  it.each([
    ["not json: [", [], /api\.json:1: |api\.json: /],
    [{ openapi: "3.0.0", paths: {} }, [], /api\.json has no GET operation to read with/],
    [{ hello: 1 }, [], /api\.json is not an API description: it has neither/],
    [document({ "/a": { post: {} } }), ["--operation", "POST /a"], /POST \/a cannot become a tool: POST may write/],
    [
      document(operation("/incidents")),
      ["--operation", "incident"],
      /no operation incident\n {2}did you mean incidents\?/,
    ],
    [
      document(Object.assign({}, ...Array.from({ length: 21 }, (_, n) => operation(`/p${n}`)))),
      [],
      /has 21 operations that read: select some with --operation\n {2}it has p0, p1, /,
    ],
    [document(operation("/a")), ["--format", "mcp"], /--from openapi supports only --format module/],
    [document(operation("/a")), ["git"], /git is a built-in skill/],
  ])("is refused if the file is not an API description: %#", async (description, args, words) => {
    const { cwd, code, stderr } = await begin(description, ...args);
    expect([code, stderr]).toEqual([2, expect.stringMatching(words)]);
    expect(existsSync(join(cwd, "skills"))).toBe(false);
  });

  it.each([
    [["skills", "new"], /no skill id was given: skills new ID/],
    [["skills", "new", "--from", "openapi"], /no API description was given/],
    [["skills", "new", "a", "b"], /b requires --from openapi/],
    [["skills", "new", "a", "--operation", "x"], /--operation requires --from openapi FILE/],
    [["skills", "new", "a", "--from", "openapi", "none.yml"], /none\.yml cannot be read: /],
    [["skills", "new", "a", "--from", "raml", "x"], /raml/],
  ])("reports what is wrong with %j", async (args, words) => {
    const { code, stderr } = await runHere(args, { cwd: makeProject() });
    expect([code, stderr]).toEqual([2, expect.stringMatching(words)]);
  });
});
