import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { loadBacktestFile } from "../../src/loaders/documents/backtest-file.ts";
import { runHere } from "../cli/in-process.ts";
import { makeDesk } from "./triage-world.ts";

/** The shipped incidents as cases of a backtest. */

const root = join(import.meta.dirname, "..", "..");
const folder = join(root, "workflows", "incidents");
const names = readdirSync(folder).filter((name) => existsSync(join(folder, name, "truth.yml")));

it("has ten incidents", () => expect(names).toHaveLength(10));

it.each(names)("%s is a case that agrees with its truth.yml and copies only evidence", (name) => {
  const file = join(folder, name, "case.yml");
  const { cases, diagnostics } = loadBacktestFile(file, file, root);
  expect(diagnostics).toEqual([]);
  const [one] = cases;
  const { verdict, cause } = parse(readFileSync(join(folder, name, "truth.yml"), "utf8"));
  expect(one).toMatchObject({ id: name, truth: { verdict, cause_kind: cause.kind } });
  expect(one?.truth.commit ?? null).toBe(cause.commit);
  expect(one?.truth.decoys?.filter((pattern) => new RegExp(pattern, "i").test(cause.what))).toEqual([]);
  expect(one?.truth.cause_matches?.filter((pattern) => !new RegExp(pattern, "i").test(cause.what)) ?? []).toEqual([]);
  for (const [place, path] of Object.entries(one?.files ?? {})) {
    expect(join(root, place)).toBe(path);
    expect(place).toMatch(/\/(?:logs|deploys\.jsonl|metrics\.\w+|\w+\.bundle)$/);
  }
});

it("grades the scripted answer for checkout-5xx as right", async () => {
  const given = ["backtest", "workflows/incidents/checkout-5xx/case.yml"];
  const model = ["--model", "script:workflows/incident-triage.script.yml"];
  const ended = await runHere([...given, ...model, "--runs", "1", "--store", "memory", "--json"], { cwd: makeDesk() });
  expect(ended.code, ended.stdout + ended.stderr).toBe(0);
  expect(JSON.parse(ended.stdout).total).toMatchObject({ right: 1, decoys: 0 });
});
