import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryStore, openProject } from "skillflow";
import { toolContext } from "skillflow/testing";
import { afterAll, describe, expect, it } from "vitest";
import * as z from "zod";
import git from "../../skills/git/skill.ts";
import logs from "../../skills/logs/skill.ts";
import type { Json, JsonObject } from "../../src/core/base/values.ts";
import { LONG } from "../harness/long.ts";
import { readAlert, shownText, withEvidence } from "./evidence.ts";
import { type Place, readIncidents, truthSchema } from "./truth.ts";

/** The stored incidents: their evidence shows what truth.yml states, and they can be made again. */

const root = join(import.meta.dirname, "..", "..");
const scratch = mkdtempSync(join(tmpdir(), "skillflow-incidents-"));
afterAll(() => rmSync(scratch, { recursive: true }));

const incidents = readIncidents(root);
const MOST_BYTES = 250_000;
/** The first one is larger than later ones. */
const LARGE = "checkout-5xx";

/** Schemas that distinguish the webhooks of the systems. */
const SYSTEMS: Readonly<Record<string, z.ZodType>> = {
  Alertmanager: z.object({
    version: z.literal("4"),
    groupKey: z.string(),
    alerts: z.array(z.object({ startsAt: z.string() })),
  }),
  "Better Stack": z.object({
    data: z.object({ type: z.literal("incident"), attributes: z.object({ cause: z.string() }) }),
  }),
  CloudWatch: z.object({
    Type: z.literal("Notification"),
    TopicArn: z.string(),
    Message: z.string().includes("AlarmName"),
  }),
  Datadog: z.object({ event_type: z.string(), title: z.string(), body: z.string(), org: z.object({ id: z.string() }) }),
  Grafana: z.object({
    version: z.literal("1"),
    orgId: z.number(),
    state: z.literal("alerting"),
    alerts: z.array(z.json()),
  }),
  PagerDuty: z.object({
    event: z.object({ event_type: z.literal("incident.triggered"), data: z.object({ title: z.string() }) }),
  }),
  Sentry: z.object({ data: z.object({ triggered_rule: z.string(), event: z.object({ issue_id: z.string() }) }) }),
};

async function use(skill: typeof logs | typeof git, name: string, input: JsonObject, workDir = root): Promise<Json> {
  const tool = skill.tools.find((one) => one.name === name);
  if (!tool) throw new Error(`${skill.id} has no tool ${name}`);
  return (await tool.handler(
    input as never,
    toolContext({ workDir, config: { PATH: process.env.PATH ?? "" } }),
  )) as Json;
}

/** The tools' output for a place. */
async function shown(workDir: string, place: Place): Promise<string> {
  const found =
    place.commit === undefined
      ? await use(logs, "search", { files: place.in, contains: place.text, limit: 1 }, workDir)
      : await use(git, "show", { repository: place.in, commits: [place.commit] }, workDir);
  return shownText(found);
}

describe("the incidents", () => {
  it("are at least eight, of every kind of cause and every verdict", () => {
    expect(incidents.length).toBeGreaterThanOrEqual(8);
    const kinds = new Set(incidents.map(({ truth }) => truth.cause.kind));
    expect([...kinds].sort()).toEqual([...truthSchema.shape.cause.shape.kind.options].sort());
    const verdicts = new Set(incidents.map(({ truth }) => truth.verdict));
    expect([...verdicts].sort()).toEqual([...truthSchema.shape.verdict.options].sort());
  });

  it("are small enough to be stored", () => {
    for (const { name, folder } of incidents.filter(({ name }) => name !== LARGE)) {
      expect([name, sizeOf(folder) < MOST_BYTES]).toEqual([name, true]);
    }
  });

  it("name a commit as their cause if a change is it, with a proof in it, and no commit otherwise", () => {
    for (const { name, truth } of incidents) {
      const proven = truth.needles.map(({ commit }) => commit ?? null);
      expect([name, truth.cause.commit !== null]).toEqual([name, truth.cause.kind === "change"]);
      expect(truth.cause.commit === null || proven.includes(truth.cause.commit)).toBe(true);
    }
  });

  const places = incidents.flatMap(({ name, truth }) =>
    [...truth.needles, ...truth.decoys].map((place) => [name, place.text, place] as const),
  );
  it.each(places)("show through the tools what truth.yml states: %s, %s", async (name, text, place) => {
    expect(await shown(join(root, "workflows/incidents", name), place)).toContain(text);
  });
});

describe("the alert of an incident", () => {
  const alerts = incidents.map((incident) => [incident.name, incident] as const);

  it("has the shape of the monitoring system that posts it: seven systems in all", () => {
    const seen = new Set<string>();
    for (const { name, alert } of incidents) {
      const systems = Object.entries(SYSTEMS).filter(([, shape]) => shape.safeParse(alert).success);
      expect([name, systems.length]).toEqual([name, 1]);
      for (const [system] of systems) seen.add(system);
    }
    expect([...seen].sort()).toEqual(Object.keys(SYSTEMS).sort());
  });

  it.each(alerts)("names existing evidence, and a time: %s", async (_name, { alert }) => {
    const { at, ...places } = readAlert(alert);
    expect(new Date(at).getUTCFullYear()).toBe(2026);
    for (const place of Object.values(places)) {
      expect([place, existsSync(join(root, place.replace(/\/\*.*$/, "")))]).toEqual([place, true]);
    }
  });

  it.each(alerts)("is an input of the triage workflow: %s", async (_name, { alert }) => {
    const model = { provider: "nobody", reply: () => Promise.reject(new Error("is not asked")) };
    const project = await openProject({
      directory: root,
      env: {},
      discover: false,
      models: { nobody: model },
      store: memoryStore(),
    });
    const stop = new AbortController();
    const given = { input: alert, model: "nobody:at-all", signal: stop.signal };
    const run = project.run("workflows/incident-triage.yml", given);
    expect(await run.id).not.toBe("");
    // The test does not need the result of the run.
    stop.abort();
    await run.result;
  });

  it.each(alerts)("refers to a folder that does not contain the answer: %s", async (name, incident) => {
    const seen = await withEvidence(incident, async (directory) => {
      return readdirSync(join(directory, "workflows/incidents", name));
    });
    expect(seen).toContain("alert.json");
    expect(seen.filter((file) => /truth|README|make|history/.test(file))).toEqual([]);
  });
});

describe("an incident's maker", () => {
  /** One of the shortest in the quick tests. A separate disk is not available everywhere. */
  const hasDisk = spawnSync("unshare", ["-Urm", "true"]).status === 0;
  const made = incidents.filter(({ name }) => (LONG ? name !== "full-disk" || hasDisk : name === "supplier-feed"));

  it.each(made.map((incident) => [incident.name, incident] as const))(
    "creates it again, with the same commits and the same proofs: %s",
    { timeout: 900_000 },
    async (name, { truth, folder }) => {
      const out = join(scratch, name);
      const args = ["workflows/incidents/make.mjs", name, out, "--pace", LONG ? "0.5" : "0.05"];
      const maker = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
      expect(await once(maker, "exit")).toEqual([0, null]);
      const kept = readdirSync(folder).filter(
        (file) => !/^(?:case\.yml|live\.script\.yml|README.md|truth.yml|make|make.mjs|history)$/.test(file),
      );
      expect(readdirSync(out).sort()).toEqual(kept.sort());
      for (const place of truth.needles) {
        expect(await shown(out, place)).toContain(place.text);
      }
    },
  );
});

function sizeOf(path: string): number {
  if (!statSync(path).isDirectory()) return statSync(path).size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}
