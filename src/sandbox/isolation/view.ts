import { existsSync, lstatSync, readlinkSync, realpathSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { SkillflowError } from "../../core/base/errors.ts";
import type { ForeignCommand, Mount } from "../../core/skill/sandbox.ts";
import type { SandboxHost } from "../host.ts";
import type { ViewStep } from "./command.ts";
import { hostsOf, proxyVariables, showRelay } from "./relay.ts";

/** User id of the program inside its own user namespace. */
export const INNER_ID = 1000;
const INNER_HOME = "/tmp/home";
const TMP_BYTES = 256 * 2 ** 20;
export const SHM_BYTES = 64 * 2 ** 20;

/** Lists the files that a program sees, apart from /proc and /dev. Writes generated files to the private `folder`. */
export function describeView(host: SandboxHost, command: ForeignCommand, folder: string): ViewStep[] {
  const own = [...command.mounts].sort((a, b) => a.target.length - b.target.length);
  for (const mount of own) checkMount(command, mount);
  return [
    ...systemFolders(),
    ...ownFiles(command, folder),
    ...shown(SYSTEM_FILES),
    ...(command.network === true ? shown(NETWORK_FILES) : []),
    ...(hostsOf(command) ? showRelay(folder) : []),
    ["--size", `${TMP_BYTES}`, "--tmpfs", "/tmp"],
    ["--dir", INNER_HOME],
    ...nodeFolders(host.execPath),
    ...own.map(({ source, target, writable }): ViewStep => [writable ? "--bind" : "--ro-bind", source, target]),
  ];
}

/** Builds the program's environment: defaults, and the variables that the command declares. */
export function innerEnvironment(host: SandboxHost, command: ForeignCommand): Record<string, string> {
  const path = new Set(["/usr/local/bin", "/usr/bin", "/bin", dirname(host.execPath)]);
  const { LANG = "C.UTF-8" } = host.env;
  const proxy = hostsOf(command) ? proxyVariables(command) : {};
  return { PATH: [...path].join(":"), HOME: INNER_HOME, LANG, ...command.env, ...proxy, TMPDIR: "/tmp" };
}

const RESERVED = /^\/(proc|sys|dev|etc|tmp|usr|bin|sbin|lib\w*)?\/*$|^\/(proc|sys|dev)\//;

function checkMount({ argv: [program], mounts }: ForeignCommand, mount: Mount): void {
  const fail = (why: string) => {
    throw new SkillflowError("sandbox.failed", `${program} cannot be started: ${mount.target} ${why}`);
  };
  if (RESERVED.test(mount.target)) fail("belongs to the system and cannot be a mount");
  if (!existsSync(mount.source)) fail(`cannot show ${mount.source}, which does not exist`);
  const around = mounts.find((other) => other.writable && mount.target.startsWith(`${other.target}/`));
  if (!around) return;
  // The program can change the folder around this mount, so the mount point must exist and must not be a link.
  const place = join(realpathSync(around.source), mount.target.slice(around.target.length));
  if (!existsSync(place) || realpathSync(place) !== place) fail(`does not exist or is a link inside ${around.target}`);
}

function systemFolders(): ViewStep[] {
  return ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"].flatMap((path): ViewStep[] => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isSymbolicLink()) return [["--symlink", readlinkSync(path), path]];
    return found?.isDirectory() ? shown([path]) : [];
  });
}

const SYSTEM_FILES = [
  "/etc/ld.so.cache",
  "/etc/alternatives",
  "/etc/ssl/certs",
  "/etc/ssl/openssl.cnf",
  "/etc/pki/tls/certs",
];
const NETWORK_FILES = ["/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"];

function shown(paths: readonly string[]): ViewStep[] {
  return paths.filter((path) => existsSync(path)).map((path) => ["--ro-bind", realpathSync(path), path]);
}

/** Writes the user and group names that a program sees. */
function ownFiles({ network }: ForeignCommand, folder: string): ViewStep[] {
  const files = {
    passwd: `root:x:0:0:root:/:/bin/false\nuser:x:${INNER_ID}:${INNER_ID}::${INNER_HOME}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n`,
    group: `root:x:0:\nuser:x:${INNER_ID}:\nnogroup:x:65534:\n`,
    ...(network === true ? {} : { hosts: "127.0.0.1 localhost\n::1 localhost\n" }),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return Object.keys(files).map((name) => ["--ro-bind", join(folder, name), `/etc/${name}`]);
}

/** Shows a Node installation outside the system folders, and nothing else next to it. */
function nodeFolders(execPath: string): ViewStep[] {
  const file = realpathSync(execPath);
  const prefix = dirname(dirname(file));
  const isInstallation = basename(dirname(file)) === "bin" && existsSync(join(prefix, "include", "node", "node.h"));
  const paths = isInstallation ? [join(prefix, "bin"), join(prefix, "lib")] : [file];
  return [
    ...(isOfSystem(file) ? [] : shown(paths)),
    ...(file === execPath || isOfSystem(execPath) ? [] : [["--symlink", file, execPath] as const]),
  ];
}

function isOfSystem(path: string): boolean {
  return /^\/(usr|bin)\//.test(path);
}
