import { existsSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { SkillflowError } from "../../core/base/errors.ts";
import { isWithin } from "../../files/files.ts";
import { gitIn } from "./git-command.ts";

/** The remote of a checkout, and what of the checkout's config is needed to reach it. Nothing else of it counts. */
export interface Remote {
  readonly address: string;
  readonly config: readonly (readonly [string, string])[];
  readonly author: readonly (readonly [string, string])[];
}

export interface Checkout {
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Only a folder of this machine will do. */
  readonly offline?: boolean;
}

/** The git program at the other end of a transfer. A folder's own hooks and config would choose what it runs. */
export function otherEnd({ address }: Remote, program: "upload-pack" | "receive-pack"): string[] {
  if (!isAbsolute(address)) return [];
  const settings = QUIET.map((setting) => `-c ${setting}`).join(" ");
  return [`--${program}=git ${settings} ${program}`];
}

const QUIET = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.alternateRefsCommand=true",
  "receive.autogc=false",
  "receive.denyCurrentBranch=refuse",
  "receive.denyDeleteCurrent=refuse",
  "gc.auto=0",
  "maintenance.auto=false",
];

/** `origin` of the checkout around a directory. */
export async function findRemote({ directory, env, offline = false }: Checkout): Promise<Remote> {
  const root = rootOf(directory);
  if (root === undefined) throw unreachable(`${directory} is not in a git checkout`);
  const git = gitIn({ directory: root, env });
  const { stdout } = await git(["config", "--includes", "--show-scope", "-z", "--get-regexp", WANTED]);
  const settings = settingsIn(stdout.toString("utf8"));
  const local = settings.filter(({ scope, key }) => scope === "local" && !key.startsWith("user."));
  const url = local.find(({ key }) => key === "remote.origin.url")?.value;
  if (!url) throw unreachable("the checkout has no remote origin", "git remote add origin URL");
  if (offline && pathOf(url) === undefined) throw beyond();
  const named = new Map(settings.map(({ key, value }) => [key, value]));
  return {
    address: addressOf(url, root),
    config: local.flatMap(({ key, value }) => (key === "remote.origin.url" ? [] : [[key, value] as const])),
    author: authorOf(named, env),
  };
}

/** The folder that holds `.git`: the checkout's own config could name another one as its working tree. */
function rootOf(directory: string): string | undefined {
  if (existsSync(join(directory, ".git"))) return directory;
  return dirname(directory) === directory ? undefined : rootOf(dirname(directory));
}

const WANTED = "^(remote\\.origin\\.url|http\\..*extraheader|user\\.(name|email))$";

interface Setting {
  readonly scope: string;
  readonly key: string;
  readonly value: string;
}

/** Of what git tells with `--show-scope -z`: by turns a scope, and a key and its value on lines of their own. */
function settingsIn(told: string): Setting[] {
  const texts = told.split("\0");
  return texts.flatMap((text, index) => {
    const end = index % 2 === 0 ? -1 : text.indexOf("\n");
    return end === -1 ? [] : [{ scope: texts[index - 1] ?? "", key: text.slice(0, end), value: text.slice(end + 1) }];
  });
}

/** A folder below the checkout came with it: its hooks would be a stranger's. */
function addressOf(url: string, root: string): string {
  if (url.startsWith("-") || /^[\w.+-]+::/.test(url)) throw unreachable("the address of origin is none that is taken");
  const path = pathOf(url);
  if (path === undefined) return url;
  const place = isAbsolute(path) ? path : resolve(root, path);
  if (isWithin(real(root), real(place))) throw unreachable("origin is a folder of the checkout itself");
  return place;
}

/** Of an address on this machine. */
function pathOf(url: string): string | undefined {
  if (url.startsWith("file:")) return fileURLToPath(url);
  return /^[\w.+-]+:\/\//.test(url) || /^[^/]+:/.test(url) ? undefined : url;
}

function real(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

function authorOf(named: ReadonlyMap<string, string>, env: Checkout["env"]): [string, string][] {
  const name = named.get("user.name") || "skillflow";
  const email = named.get("user.email") || "skillflow@localhost";
  return ["AUTHOR", "COMMITTER"].flatMap((who): [string, string][] => [
    [`GIT_${who}_NAME`, env[`GIT_${who}_NAME`] || name],
    [`GIT_${who}_EMAIL`, env[`GIT_${who}_EMAIL`] || email],
  ]);
}

function beyond(): SkillflowError {
  const message = "the state was not fetched from origin, which is another machine's: the run is offline";
  return new SkillflowError("offline.refused", message, {
    hint: ["run without ", { option: "offline" }, ", or name a folder: ", { option: "state", value: "DIR" }],
  });
}

export function unreachable(message: string, hint?: string): SkillflowError {
  return new SkillflowError("store.failed", message, hint === undefined ? {} : { hint });
}

/** What a branch may be called: a part of what git allows. */
export function checkBranch(branch: string): string {
  const isSound =
    /^[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}$/.test(branch) &&
    !/\.\.|\/\/|\/\.|\.\/|\.lock(?:\/|$)|[./]$/.test(branch) &&
    branch !== "HEAD" &&
    !branch.startsWith("refs/");
  if (isSound) return branch;
  throw new SkillflowError("usage.invalid", `"${branch}" is no branch that states can be kept on`, {
    hint: "write git:BRANCH with letters, digits, dots, hyphens, underscores and slashes, such as git:skillflow-state",
  });
}
