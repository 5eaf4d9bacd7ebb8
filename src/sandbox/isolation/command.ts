import { parseDeclaredHost } from "../../core/base/address/declared-host.ts";
import { SkillflowError } from "../../core/base/errors.ts";
import type { ForeignCommand, Mount } from "../../core/skill/sandbox.ts";

/** Step in building the files that a program sees, starting with an empty root. */
export type ViewStep =
  | { readonly kind: "show"; readonly mount: Mount }
  | { readonly kind: "link"; readonly path: string; readonly to: string }
  | { readonly kind: "folder"; readonly path: string }
  /** Writable memory file system. */
  | { readonly kind: "scratch"; readonly path: string; readonly bytes: number };

/** Returns a step as flags of bubblewrap, which the other launcher understands, too. */
export function viewFlags(step: ViewStep): string[] {
  switch (step.kind) {
    case "show":
      return [step.mount.writable ? "--bind" : "--ro-bind", step.mount.source, step.mount.target];
    case "link":
      return ["--symlink", step.to, step.path];
    case "folder":
      return ["--dir", step.path];
    case "scratch":
      return ["--size", `${step.bytes}`, "--tmpfs", step.path];
  }
}

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
