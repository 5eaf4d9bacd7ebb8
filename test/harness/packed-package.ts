import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { type Loopback, sendJson, startLoopback } from "../../src/testing.ts";
import { installation } from "../cli/program.ts";

/** The package as users get it: packed, and installed by npm into an empty project. */

export interface Installed {
  readonly project: string;
  /** Contents of the tarball, as paths in the package. */
  readonly files: readonly string[];
  /** npm's output of the installation. */
  readonly said: string;
  /** The packed file. */
  readonly tarball: string;
  /** A registry on this machine, of the packages that the package needs. */
  startRegistry(): Promise<Loopback>;
  remove(): void;
}

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly engines?: { readonly node?: string };
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

const ROOT = join(import.meta.dirname, "..", "..");
const execute = promisify(execFile);

/**
 * Installs the current build, once for all test files. Each has a separate copy. The registry is on this machine, with
 * the packages that are installed here.
 */
export async function installPacked(): Promise<Installed> {
  const place = join(installation().directory, "packed");
  const { project, needed, ...made } = await installOnce(place);
  const folder = mkdtempSync(join(tmpdir(), "packed-"));
  mkdirSync(join(folder, "home"));
  cpSync(project, join(folder, "project"), { recursive: true, verbatimSymlinks: true });
  const remove = () => rmSync(folder, { recursive: true, force: true });
  return { ...made, project: join(folder, "project"), startRegistry: () => serveRegistry(needed, place), remove };
}

interface Made extends Omit<Installed, "remove" | "startRegistry"> {
  readonly needed: readonly Packed[];
}

/** The process that creates the folder installs into it. The others wait for the outcome. */
async function installOnce(folder: string): Promise<Made> {
  const outcome = join(folder, "outcome.json");
  let isFirst = true;
  try {
    mkdirSync(folder);
  } catch {
    isFirst = false;
  }
  if (isFirst) {
    const made = await installInto(folder).catch((error: unknown) => ({ failed: String(error) }));
    writeFileSync(`${outcome}.new`, JSON.stringify(made));
    renameSync(`${outcome}.new`, outcome);
  }
  while (!existsSync(outcome)) await pause(100);
  const made = JSON.parse(readFileSync(outcome, "utf8")) as Made | { readonly failed: string };
  if ("failed" in made) throw new Error(made.failed);
  return made;
}

async function installInto(folder: string): Promise<Made> {
  const project = join(folder, "project");
  for (const name of [project, join(folder, "home")]) mkdirSync(name);
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "empty", private: true }));
  const [own, ...needed] = await pack(
    [".", ...neededBy(readManifest(ROOT)).map((name) => `./node_modules/${name}`)],
    folder,
  );
  if (!own) throw new Error("npm packed nothing");
  const registry = await serveRegistry(needed, folder);
  try {
    const args = ["install", join(folder, own.filename), "--registry", registry.url, "--no-audit", "--no-fund"];
    const said = await npm(args, project, folder);
    return { project, files: own.files.map(({ path }) => path), said, tarball: join(folder, own.filename), needed };
  } finally {
    await registry.close();
  }
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

/** The names of all packages that are installed with one. */
function neededBy({ dependencies }: Manifest, found = new Set<string>()): readonly string[] {
  for (const name of Object.keys(dependencies ?? {})) {
    if (found.has(name)) continue;
    found.add(name);
    neededBy(readManifest(join(ROOT, "node_modules", name)), found);
  }
  return [...found];
}

interface Packed {
  readonly name: string;
  readonly version: string;
  readonly filename: string;
  readonly integrity: string;
  readonly files: readonly { readonly path: string }[];
}

async function pack(folders: readonly string[], folder: string): Promise<readonly Packed[]> {
  const args = ["pack", ...folders, "--json", "--ignore-scripts", "--pack-destination", folder];
  const found = JSON.parse(await npm(args, ROOT, folder)) as readonly Packed[] | Readonly<Record<string, Packed>>;
  return Object.values(found);
}

function serveRegistry(packages: readonly Packed[], folder: string) {
  return startLoopback(({ url, headers }, response) => {
    const tarball = packages.find(({ filename }) => url === `/${filename}`);
    if (tarball) return void response.end(readFileSync(join(folder, tarball.filename)));
    const found = packages.find(({ name }) => decodeURIComponent(url) === `/${name}`);
    if (!found) return sendJson(response, 404, {});
    const { name, version, integrity, filename } = found;
    const manifest = readManifest(join(ROOT, "node_modules", name));
    const dist = { tarball: `http://${headers.host}/${filename}`, integrity };
    sendJson(response, 200, {
      name,
      "dist-tags": { latest: version },
      versions: { [version]: { ...manifest, dist } },
    });
  });
}

async function npm(args: readonly string[], cwd: string, folder: string): Promise<string> {
  const env = { PATH: process.env.PATH, HOME: join(folder, "home"), npm_config_update_notifier: "false" };
  const { stdout, stderr } = await execute("npm", args, { cwd, env, maxBuffer: 2 ** 26 });
  return stdout + stderr;
}
