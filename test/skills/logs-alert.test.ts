import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readAlert as readAny } from "../../skills/logs/survey/alert.ts";

const readAlert = (input: { readonly alert: unknown }) => readAny(input, { signal: new AbortController().signal });
const FOLDER = "workflows/incidents";
const names = readdirSync(FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== "make")
  .map(({ name }) => name);

describe("an alert", () => {
  it.each(names)("contains the evidence of %s, whichever system posted it", (name) => {
    const read = readAlert({ alert: JSON.parse(readFileSync(`${FOLDER}/${name}/alert.json`, "utf8")) });
    const files = readdirSync(`${FOLDER}/${name}`);
    const bundle = files.find((file) => file.endsWith(".bundle")) ?? "";
    const isEvidence = (file: string) => file.startsWith("deploys.") || file.startsWith("metrics.");
    expect(read.repository).toBe(`${FOLDER}/${name}/${bundle}`);
    const places = (read.files ?? []).map((file) => file.replace(/logs\/.*/, "logs"));
    expect(places.sort()).toEqual(
      ["logs", ...files.filter(isEvidence)].map((file) => `${FOLDER}/${name}/${file}`).sort(),
    );
    expect(read.service).toBe(bundle.replace(".bundle", ""));
    expect(read.at).toMatch(/^2026-11-2\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(read.title).toBeTruthy();
  });

  it.each<[string, unknown, object]>([
    ["without anything", {}, {}],
    ["in an envelope", { alert: { labels: { service: "Check Out" } } }, { service: "check-out" }],
    ["with a tag", { tags: ["env:prod", "service:billing-api"] }, { service: "billing-api" }],
    ["with a release", { release: "orders@0.31.0" }, { service: "orders" }],
    ["with an object as service", { service: { id: "P1", summary: "Ledger" } }, { service: "ledger" }],
    ["with a title only", { title: "74 % of GET /rates fail" }, { service: "of-get-rates-fail" }],
    ["in seconds", { timestamp: 1_795_340_869.017 }, { at: "2026-11-22T09:47:49.017Z" }],
    ["in milliseconds", { date: 1_795_340_869_017 }, { at: "2026-11-22T09:47:49.017Z" }],
    ["without a zone", { startsAt: "2026-11-22 09:47" }, { at: "2026-11-22T09:47:00.000Z" }],
    [
      "with the start after another time",
      { a: "2020-01-01T00:00Z", startsAt: "2026-11-22T09:47Z" },
      { at: "2026-11-22T09:47:00.000Z" },
    ],
    ["with JSON in a string", { Message: '{"logs":"var/log/app/*.log"}' }, { files: ["var/log/app/*.log"] }],
    [
      "with a cause next to the title",
      { name: "mails", cause: "Missed heartbeat", description: "mails\nlogs: a/b.log\nTwo in a row" },
      { title: "mails", text: "Missed heartbeat\nTwo in a row" },
    ],
    ["with names and values", { fields: [{ name: "service", value: "mail" }] }, { service: "mail" }],
  ])("%s is parsed as far as possible", (_, alert, expected) => {
    expect(readAlert({ alert })).toMatchObject(expected);
  });

  it("lists no source files and no addresses as evidence", () => {
    const alert = { stack: "at src/app.js:3", url: "https://x.example/a/b.log", message: "**Firing**" };
    expect(readAlert({ alert })).not.toHaveProperty("files");
  });

  it("of any size and depth takes a bounded time", () => {
    let deep: unknown = "x";
    for (let depth = 0; depth < 50_000; depth++) deep = [deep];
    const many = Array.from({ length: 20_000 }, () => "a/b.log ".repeat(50));
    const read = readAlert({ alert: { deep, many, long: "/".repeat(1_000_000), star: "*".repeat(1_000_000) } });
    expect(read.files).toEqual(["a/b.log"]);
  });
});
