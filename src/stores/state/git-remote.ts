import { existsSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { attempt, SkillflowError } from "../../core/base/errors.ts";
import { isWithin } from "../../files/files.ts";
import { gitIn } from "./git-command.ts";

/** Remote of a checkout, with the few config values needed to reach it. All other config is ignored. */
export interface Remote {
  readonly address: string;
  readonly config: readonly (readonly [string, string])[];
  readonly author: readonly (readonly [string, string])[];
}

export interface Checkout {
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Accept only a folder on this machine. */
  readonly offline?: boolean;
}

/** Returns options for the git program on the remote side. For a folder, its hooks and config would otherwise apply. */
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

/** Finds the remote `origin` of the checkout that contains a directory. */
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

/** Finds the folder that holds `.git`. Git itself could be directed elsewhere by the checkout's config. */
function rootOf(directory: string): string | undefined {
  if (existsSync(join(directory, ".git"))) return directory;
  return dirname(directory) === directory ? undefined : rootOf(dirname(directory));
}

const WANTED = "^(remote\\.origin\\.url|http\\..*extraheader|user\\.(name|email))$";

/** Parses the output of `--show-scope -z`: scopes alternate with entries of a key, a line break and a value. */
function settingsIn(told: string) {
  const texts = told.split("\0");
  return texts.flatMap((text, index) => {
    const end = index % 2 === 0 ? -1 : text.indexOf("\n");
    return end === -1 ? [] : [{ scope: texts[index - 1] ?? "", key: text.slice(0, end), value: text.slice(end + 1) }];
  });
}

/** Resolves the address. Rejects a folder inside the checkout: its hooks would come from an untrusted author. */
function addressOf(url: string, root: string): string {
  if (url.startsWith("-") || /^[\w.+-]+::/.test(url)) throw unreachable("the address of origin is not supported");
  const path = pathOf(url);
  if (path === undefined) return url;
  const place = isAbsolute(path) ? path : resolve(root, path);
  const [within = root, real = place] = [root, place].map((each) => attempt(() => realpathSync.native(each)));
  if (isWithin(within, real)) throw unreachable("origin is a folder inside the checkout");
  return place;
}

function pathOf(url: string): string | undefined {
  if (url.startsWith("file:")) return fileURLToPath(url);
  return /^[\w.+-]+:\/\//.test(url) || /^[^/]+:/.test(url) ? undefined : url;
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
  const message = "the state was not fetched from origin, which is on another machine: the run is offline";
  return new SkillflowError("offline.refused", message, {
    hint: ["run without ", { option: "offline" }, ", or name a folder: ", { option: "state", value: "DIR" }],
  });
}

export function unreachable(message: string, hint?: string): SkillflowError {
  return new SkillflowError("store.failed", message, { hint });
}

/** Checks a branch name. Allows a subset of what git allows. */
export function checkBranch(branch: string): string {
  const isSound =
    /^[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}$/.test(branch) &&
    !/\.\.|\/\/|\/\.|\.\/|\.lock(?:\/|$)|[./]$/.test(branch) &&
    branch !== "HEAD" &&
    !branch.startsWith("refs/");
  if (isSound) return branch;
  throw new SkillflowError("usage.invalid", `"${branch}" is not a branch that can store states`, {
    hint: "write git:BRANCH with letters, digits, dots, hyphens, underscores and slashes, such as git:skillflow-state",
  });
}
