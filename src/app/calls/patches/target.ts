import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { attempt, usageError } from "../../../core/base/errors.ts";
import type { Environment } from "../../../core/document/config.ts";
import { isWithin } from "../../../files/files.ts";
import { isLoopback } from "../../adapters/fetch.ts";

/** Place where the patches of a checkout go. The checkout decides only the address of its remote `origin`. */
export interface Target {
  readonly checkout: string;
  readonly url: string;
  /** Skill whose config delivers it. Undefined for `git push`. */
  readonly skill: Vendor | undefined;
  /** Host of origin's address. Empty for a path. */
  readonly host: string;
  readonly repository: string;
}

type Vendor = keyof typeof APIS;

const APIS = {
  github: { variable: "GITHUB_API_URL", usual: "https://api.github.com", repository: "GITHUB_REPOSITORY" },
  gitlab: { variable: "GITLAB_URL", usual: "https://gitlab.com", repository: "GITLAB_PROJECT" },
} as const;

export function apiOf(vendor: Vendor, config: Readonly<Record<string, string>>): string {
  return config[APIS[vendor].variable] ?? APIS[vendor].usual;
}

/** Returns the repository, which the config may name instead of origin. */
export function repositoryOf({ skill, repository }: Target, config: Readonly<Record<string, string>>): string {
  return (skill && config[APIS[skill].repository]) ?? repository;
}

/** Describes the place where changes go, without the credentials in an address. */
export function describeTarget(target: Target, config: Readonly<Record<string, string>>): string {
  const { skill, url } = target;
  if (skill === undefined) return url.replace(/^(\w+:\/\/)[^/]*@/, "$1");
  return `${repositoryOf(target, config)} at ${apiOf(skill, config)}`;
}

/** Explains why the API is not that of origin's host. Another service must not get the token or the change. */
export function apiProblem({ skill, host }: Target, config: Readonly<Record<string, string>>): string | undefined {
  if (skill === undefined) return undefined;
  const address = apiOf(skill, config);
  const api = hostOf(address) ?? address;
  if (api === host || api === `api.${host}` || isLoopback(api)) return undefined;
  return `origin is on ${host}, but the API is at ${api}: set ${APIS[skill].variable} to the API of ${host}`;
}

const ALLOWED = /^(?:https:\/\/|ssh:\/\/|file:\/\/|\/|[\w.-]+@[\w.-]+:)/;

/** Finds the target. Throws if the folder has no repository, or its remote has a protocol that is not allowed. */
export function findTarget(folder: string, env: Environment): Target {
  const found = checkoutOf(folder);
  const url = found && originOf(found.checkout);
  if (!found || url === undefined) {
    throw usageError("the plan has a change of files, and this folder has no remote origin", "apply it in a clone");
  }
  if (!ALLOWED.test(url)) throw usageError("origin's address must be of the protocol https, ssh or file");
  const { host, repository } = partsOf(url);
  const { top, checkout } = found;
  if (isInside(url, [top, checkout])) {
    throw usageError(
      "origin's address is in the checkout itself",
      "a repository there has hooks of its own: use another",
    );
  }
  const named = (...names: string[]) => names.some((name) => hostOf(env[name]) === host && host !== "");
  const skill =
    host === "github.com" || named("GITHUB_SERVER_URL", "GITHUB_API_URL")
      ? "github"
      : host === "gitlab.com" || named("GITLAB_URL")
        ? "gitlab"
        : undefined;
  const below = skill === "gitlab" && /^https?:/.test(url) ? pathOf(env.GITLAB_URL) : "";
  return { checkout, url, skill, host, repository: repository.slice(repository.startsWith(below) ? below.length : 0) };
}

/** Returns the path below which a service is installed, such as `gitlab/`. Empty for the root. */
function pathOf(address: string | undefined): string {
  const path = address !== undefined && URL.canParse(address) ? new URL(address).pathname : "";
  const inner = path.replace(/^\/+|\/+$/g, "");
  return inner === "" ? "" : `${inner}/`;
}

/** Finds the repository that contains a folder, and its common git directory, without running git in it. */
function checkoutOf(folder: string): { readonly top: string; readonly checkout: string } | undefined {
  const path = join(folder, ".git");
  if (!existsSync(path)) return dirname(folder) === folder ? undefined : checkoutOf(dirname(folder));
  if (statSync(path).isDirectory()) return { top: folder, checkout: path };
  const linked = /^gitdir: (.+)$/m.exec(readFileSync(path, "utf8"))?.[1]?.trim();
  if (linked === undefined) return undefined;
  const own = resolve(folder, linked);
  const common = join(own, "commondir");
  const checkout = existsSync(common) ? resolve(own, readFileSync(common, "utf8").trim()) : own;
  return { top: folder, checkout };
}

/** Reads `url` of the section `remote "origin"`. Git's own reader would follow includes and replace addresses. */
function originOf(directory: string): string | undefined {
  const file = join(directory, "config");
  if (!existsSync(file)) return undefined;
  let section = "";
  for (const line of readFileSync(file, "utf8").split("\n")) {
    section = /^\s*\[(.*)\]\s*$/.exec(line)?.[1] ?? section;
    const [, value] = /^\s*url\s*=\s*(.*?)\s*$/i.exec(line) ?? [];
    if (/^remote\s+"origin"$/i.test(section) && value !== undefined) return value.replace(/^"|"$/g, "");
  }
  return undefined;
}

/** Checks whether an address is a folder in one of these. Its hooks would run, and they are not the user's. */
function isInside(url: string, folders: readonly string[]): boolean {
  // `URL` would remove `..` from the path by its text, but git follows the links before it.
  const path = /^file:\/\/[^/]*(\/.*)$/s.exec(url)?.[1];
  if (path === undefined && !url.startsWith("/")) return false;
  const place = path === undefined ? url : attempt(() => decodeURIComponent(path));
  // Git completes a name with `.git`.
  const places = place === undefined ? [] : [realOf(place), realOf(`${place}.git`)];
  return place === undefined || folders.some((each) => places.some((one) => isWithin(realOf(each), one)));
}

function realOf(path: string): string {
  return existsSync(path) ? realpathSync.native(path) : resolve(path);
}

function partsOf(url: string): { readonly host: string; readonly repository: string } {
  const [, host = "", path = ""] = /^[\w.-]+@([\w.-]+):(.*)$/.exec(url) ?? [];
  const parsed = host === "" && URL.canParse(url) ? new URL(url) : undefined;
  const repository = (parsed?.pathname ?? path).replace(/^\/+|\/+$/g, "").replace(/\.git$/, "");
  return { host: (parsed?.hostname ?? host).toLowerCase(), repository };
}

function hostOf(address: string | undefined): string | undefined {
  return address !== undefined && URL.canParse(address) ? new URL(address).hostname.toLowerCase() : undefined;
}
