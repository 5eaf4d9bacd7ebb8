import { parseDeclaredHost } from "../../core/base/address/declared-host.ts";
import { SkillflowError } from "../../core/base/errors.ts";
import type { ForeignCommand } from "../../core/skill/sandbox.ts";

/**
 * Step in building the files that a program sees, starting with an empty root: `--bind`, `--ro-bind`, `--symlink`, `--dir`
 * or `--size … --tmpfs` of bubblewrap, which the other launcher understands, too.
 */
export type ViewStep = readonly [flag: string, ...args: string[]];

/** Throws if the command could not be started anywhere, and says why. */
export function checkCommand({ argv, env, cwd, mounts, network }: ForeignCommand): void {
  const [program] = argv;
  const fail = (why: string) => {
    throw new SkillflowError("sandbox.failed", `${program || "a program without a name"} cannot be started: ${why}`);
  };
  if (program === "") fail("its name is empty");
  const texts = [
    ...argv,
    cwd,
    ...Object.entries(env).flat(),
    ...mounts.flatMap(({ source, target }) => [source, target]),
  ];
  if (texts.some((text) => text.includes("\0"))) fail("an argument, a path or a variable contains a NUL character");
  const name = Object.keys(env).find((key) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(key));
  if (name !== undefined) fail(`${JSON.stringify(name)} is not the name of an environment variable`);
  const path = mounts.flatMap(({ source, target }) => [source, target]).find((each) => !isPlainPath(each));
  if (path !== undefined) fail(`the mount ${path} is not an absolute path without . and ..`);
  const hosts = typeof network === "boolean" ? [] : network;
  const host = hosts.find((each) => !parseDeclaredHost(each));
  if (host !== undefined) fail(`${JSON.stringify(host)} is not a valid host`);
}

function isPlainPath(path: string): boolean {
  return path.startsWith("/") && !path.split("/").some((part) => part === "." || part === "..");
}
