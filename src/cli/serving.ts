import { blameStray } from "../app/runs/stray.ts";
import { configFindings, unknownSkills } from "../app/workspace.ts";
import type { Diagnostic } from "../core/base/diagnostic.ts";
import { messageOf, SkillflowError, usageError } from "../core/base/errors.ts";
import { plainText } from "../core/base/inert.ts";
import type { Workflow } from "../core/document/workflow/workflow.ts";
import { isLoopback } from "../protocol/http-server.ts";
import { openGuarded, text } from "./flags.ts";
import type { Flags, Io } from "./io.ts";
import { describeDiagnostic, painter } from "./terminal/terminal.ts";

/** Time that running work may take after a server is stopped. */
export const GRACE_MS = 10_000;

/** Opens the project to serve. `workflows` are the known workflows that may name skills. */
export function openServing(io: Io, flags: Flags, workflows: readonly Workflow[] | undefined) {
  const workspace = openGuarded(io, flags);
  const teller = tellerOf(io, flags);
  teller.tell([...configFindings(workspace), ...unknownSkills(workspace, workflows)]);
  io.onStray((error) => {
    if (!blameStray(error)) teller.onFault(error);
    return true;
  });
  const stopped = new Promise<void>((resolve) => io.onInterrupt(() => resolve()));
  return { workspace, teller, stopped };
}

function tellerOf(io: Io, flags: Flags) {
  const paint = painter(io, flags);
  const say = (mark: string, line: string) => void io.err(`${mark} ${plainText(line)}\n`);
  return {
    tell(found: readonly Diagnostic[]) {
      for (const each of found) void io.err(`${describeDiagnostic(each, paint)}\n`);
    },
    warn: (line: string) => say(paint("yellow", "!"), line),
    note: (line: string) => (flags.quiet === true ? undefined : say(paint("green", "●"), line)),
    onFault: (error: unknown) => say(paint("red", "✘"), messageOf(error)),
  };
}

/** Returns the address to listen on and the token that callers must send. */
export function listenAt(io: Io, flags: Flags) {
  const host = text(flags, "host") ?? "127.0.0.1";
  return { host, port: portOf(flags, "8080"), token: tokenOf(io, flags, host) };
}

export function portOf(flags: Flags, usual: string): number {
  const given = text(flags, "port") ?? usual;
  const port = /^\d{1,5}$/.test(given) ? Number(given) : Number.NaN;
  if (port <= 65_535) return port;
  throw usageError(`--port takes a number up to 65535, not "${given}"`);
}

/** Reads the token, which is required on all addresses except loopback. */
function tokenOf({ host: { env } }: Io, flags: Flags, host: string): string | undefined {
  const name = text(flags, "tokenEnv");
  if (name === undefined && isLoopback(host)) return undefined;
  if (name === undefined) {
    throw new SkillflowError("config.missing", `serving on ${host} needs a token`, {
      hint: "name the variable that holds it: --token-env NAME",
    });
  }
  const token = env[name];
  if (token) return token;
  throw new SkillflowError("config.missing", `${name} is not set: it must hold the token that callers send`);
}
