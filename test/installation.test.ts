import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { satisfies } from "semver";
import { expect, it } from "vitest";

/** What those get who install the package: its own files, and the dependencies that the lockfile shows. */

interface Locked {
  readonly engines?: { readonly node?: string };
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, "..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
  packages: Readonly<Record<string, Locked>>;
};

/** Paths below node_modules. */
function installed(): readonly string[] {
  const found = new Set<string>();
  const follow = (from: string, wanted: Locked) => {
    for (const name of Object.keys({ ...wanted.dependencies, ...wanted.optionalDependencies })) {
      const path = nearestPlace(from, name);
      if (path === undefined || found.has(path)) continue;
      found.add(path);
      follow(path, packages[path] ?? {});
    }
  };
  follow("", manifest);
  return [...found];
}

function nearestPlace(from: string, name: string): string | undefined {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf("node_modules/") - 1))) {
    const path = `${at === "" ? "" : `${at}/`}node_modules/${name}`;
    if (packages[path]) return path;
    if (at === "") return undefined;
  }
}

/** Disk blocks of a folder, without the packages nested in it. */
function kilobytes(folder: string): number {
  const names = readdirSync(folder).filter((name) => name !== "node_modules");
  return names.reduce((sum, name) => {
    const stats = lstatSync(join(folder, name));
    return sum + stats.blocks / 2 + (stats.isDirectory() ? kilobytes(join(folder, name)) : 0);
  }, 0);
}

it("every package is known to run on the oldest Node that is promised", () => {
  const unfit = installed().filter((path) => !satisfies("20.19.0", packages[path]?.engines?.node ?? "*"));
  expect(unfit).toEqual([]);
});

it("nothing is run while it is installed", () => {
  for (const moment of ["preinstall", "install", "postinstall", "prepare"]) {
    expect(manifest.scripts).not.toHaveProperty(moment);
  }
  expect(installed().filter((path) => packages[path]?.hasInstallScript)).toEqual([]);
});

it("what is overridden for us, which no override does for others, is none of theirs", () => {
  const names = installed().map((path) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length));
  expect(Object.keys(manifest.overrides ?? {}).filter((name) => names.includes(name))).toEqual([]);
});

it("nothing that only tests need comes with it", () => {
  expect(manifest.optionalDependencies).toBeUndefined();
  expect(installed().filter((path) => /postgres|postgrest|vitest|fast-check|conformance/.test(path))).toEqual([]);
});

it("it takes less than 80 MB of disk", () => {
  const own = ["dist", "schemas", "workflows"].map((folder) => join(root, folder));
  const folders = [...own, ...installed().map((path) => join(root, path))];
  expect(folders.reduce((sum, folder) => sum + kilobytes(folder), 0) / 1024).toBeLessThan(80);
});
