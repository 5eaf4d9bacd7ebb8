import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { parseEnv } from "node:util";
import { usageError } from "../core/base/errors.ts";
import type { Environment } from "../core/document/config.ts";
import { readText } from "./flags.ts";
import type { Flags, Io } from "./io.ts";

/** Adds the variables of the `--env-from` file to the environment. Variables that are already set win. */
export function withEnvFrom(io: Io, flags: Flags): Io {
  if (typeof flags.envFrom !== "string") return io;
  const env = { ...readVariables(io.host.cwd, flags.envFrom), ...io.host.env };
  return { ...io, host: { ...io.host, env, envFrom: flags.envFrom } };
}

function readVariables(cwd: string, file: string): Environment {
  const path = resolve(cwd, file);
  if (!existsSync(path)) throw usageError(`there is no file ${file}`);
  const variables = parseEnv(readText(path, file));
  const refused = Object.keys(variables).filter((name) => REFUSED.test(name));
  if (refused.length === 0) return variables;
  throw usageError(
    `${file} may not hold ${refused.join(", ")}`,
    "set these in the environment: they decide which programs run, and how; a file may only configure skills and providers",
  );
}

/**
 * Variables that decide which programs run and which files may change, where skillflow stores files, whom it trusts and
 * which proxy it uses. Git and ssh start the helpers that variables of ssh name.
 */
const REFUSED =
  /^(?:NODE_.*|LD_.*|DYLD_.*|SKILLFLOW_.*|WORKSPACE_(?:COMMANDS|SETUP|MOUNTS|PATHS|UNPROTECT)|PATH|HOME|USERPROFILE|XDG_.*|GIT_.*|SSH_(?:ASKPASS.*|AUTH_SOCK|.*_HELPER|SK_PROVIDER)|SSL_CERT_.*|.*_PROXY)$/i;
