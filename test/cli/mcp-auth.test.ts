import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type OAuthRig, oauthRig } from "../services/oauth.ts";
import { scriptOf } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { makeProject, runFile } from "./program.ts";

/** Servers that require tokens, on the command line: whose config applies, when there is a prompt, what is written. */

const open: OAuthRig[] = [];
afterEach(async () => {
  for (const rig of open.splice(0)) await rig.close();
});

const CLIENTS = [{ id: "robot", secret: "s3cret-of-the-robot" }, { id: "desk" }];

async function project(auth: (rig: OAuthRig) => object, place: "user" | "checkout") {
  const rig = await oauthRig({ clients: CLIENTS });
  open.push(rig);
  const config = { mcpServers: { remote: { url: rig.url, auth: auth(rig) } } };
  const home = makeProject(place === "user" ? { "skillflow/config.yml": config } : {});
  const flow = {
    id: "flow",
    name: "Flow",
    entry: "use",
    nodes: { use: { name: "Use", instruction: "Use it.", skills: ["remote"] } },
    edges: [],
  };
  const cwd = makeProject({
    "flow.yml": flow,
    "script.json": scriptOf({ calls: [{ tool: "remote_look", input: {} }] }, { text: "done" }),
    ...(place === "checkout" ? { ".skillflow.yml": config } : {}),
  });
  const RUN = ["run", "flow.yml", "--model", "script:script.json", "--trust-skill", "remote"];
  const env = { XDG_CONFIG_HOME: home, ROBOT_SECRET: "s3cret-of-the-robot" };
  return {
    rig,
    cwd,
    home,
    run: (id: string, screen: Partial<Parameters<typeof runHere>[1]> = {}) =>
      runHere([...RUN, "--run-id", id], { cwd, ...screen, env: { ...env, ...screen.env } }),
    record: () => readFileSync(runFile(cwd, "r"), "utf8"),
  };
}

const robot = ({ issuer }: OAuthRig) => ({
  type: "client_credentials",
  issuer,
  clientId: "robot",
  secret: "ROBOT_SECRET",
});

describe("an auth of a server", () => {
  it("of the user's own config gets tokens, which nothing records", async () => {
    const { rig, run, record, home } = await project(robot, "user");
    const { code, stdout, stderr } = await run("r");
    expect([code, rig.grants]).toEqual([0, ["client_credentials"]]);
    expect(record()).toContain('"output":"seen"');
    const all = stdout + stderr + record();
    expect(all).not.toMatch(/access-[0-9a-f]{32}|s3cret-of/);
    expect(existsSync(join(home, "skillflow", "mcp-logins"))).toBe(false);
  });

  it("of the checkout is a finding and gets nothing, trusted or not", async () => {
    const { rig, run } = await project(robot, "checkout");
    const { stderr } = await run("r");
    expect(stderr).toContain("mcpServers.remote.auth is ignored");
    expect(stderr).toContain("it answers HTTP 401");
    expect(rig.as.requests).toEqual([]);
  });

  it("prompts the user at a terminal to log in, stores that in the user's folder, and prompts nowhere else", async () => {
    const { rig, run, home } = await project(() => ({ type: "authorization_code", clientId: "desk" }), "user");
    const nobody = await run("nobody");
    expect(nobody.stderr).toContain("log in once with a run in a terminal");
    const ci = await run("ci", { isTerminal: true, answers: [], env: { CI: "true" } });
    expect(ci.stderr).toContain("log in once");
    expect(rig.as.requests).toEqual([]);
    let told = "";
    const onText = (_: string, text: string) => {
      told += text;
      const address = /Open in a browser[^:]*:\s+(http\S+)\n/.exec(told)?.[1];
      if (address === undefined) return;
      told = "";
      void rig.browse(address);
    };
    const RUN = ["mcp-lock"];
    const asked = await runHere(RUN, {
      cwd: makeProject(),
      env: { XDG_CONFIG_HOME: home },
      isTerminal: true,
      answers: [],
      onText,
    });
    expect([asked.code, rig.grants]).toEqual([0, ["authorization_code"]]);
    expect(readdirSync(join(home, "skillflow", "mcp-logins"))).toHaveLength(1);
    const later = await run("later");
    expect([later.code, later.stderr.includes("Open in a browser")]).toEqual([0, false]);
  });
});
