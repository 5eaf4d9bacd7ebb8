import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryName, temporaryOwner } from "../../../src/files/temporary-name.ts";
import { sweepFolder } from "../../../src/loaders/folder/temporary-folders.ts";
import { makeFolder } from "../foreign.ts";

const self = { pid: 1, host: "build-7.example", started: "100" };

it.each(["a", "a host with ümlauts @ work", "x".repeat(80), ""])(
  "the name of a temporary folder identifies its process, on the host %j",
  (host) => {
    const mark = { pid: 7, host, started: "12" };
    expect(temporaryOwner(`${temporaryName("serve", mark)}aB3dE6`, { ...self, host })).toEqual(mark);
    expect(temporaryOwner(`${temporaryName("serve", mark)}aB3dE6`, { ...self, host: `not ${host}` })).toBeUndefined();
    expect(temporaryName("workspace", mark).length).toBeLessThan(70);
  },
);

it("removes folders of dead processes on this host, and nothing else", () => {
  const folder = makeFolder();
  const named = (pid: number, host = self.host) => `${temporaryName("serve", { pid, host, started: "5" })}aB3dE6`;
  for (const name of [named(2), named(3), named(4, "elsewhere"), "skillflow-serve-aB3dE6", `${named(2)}.txt`]) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, "blob"), "content");
  }
  const linked = makeFolder({ kept: "kept" });
  symlinkSync(linked, join(folder, named(5)));
  sweepFolder(folder, { self, isAlive: ({ pid }) => pid === 3, uid: process.geteuid?.() });
  expect(readdirSync(folder).sort()).toEqual(
    [named(3), named(4, "elsewhere"), named(5), "skillflow-serve-aB3dE6", `${named(2)}.txt`].sort(),
  );
  expect(readdirSync(linked)).toEqual(["kept"]);
});

it("does nothing if the folder does not exist", () => {
  expect(() => sweepFolder("/no/such/folder", { self, isAlive: () => false, uid: 0 })).not.toThrow();
});
