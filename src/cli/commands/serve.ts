import { blameStray } from "../../app/runs/drive.ts";
import { environmentRedactor } from "../../app/secrets.ts";
import { openWorkspace, unknownSkills } from "../../app/workspace.ts";
import { SkillflowError } from "../../core/errors.ts";
import { isLoopback } from "../../protocol/http-server.ts";
import { openService } from "../../protocol/service.ts";
import { projectOptions, text } from "../flags.ts";
import type { Action, Flags, Io } from "../io.ts";
import { amount, describeDiagnostic, jsonText, painter } from "../terminal.ts";

/** What is under way when the service is told to stop may take this long. */
const GRACE_MS = 10_000;

export const serve: Action = async (io, _args, flags) => {
  const place = listenAt(io, flags);
  const workspace = openWorkspace(io.host, projectOptions(flags));
  io.protect(environmentRedactor(workspace));
  const paint = painter(io, flags);
  for (const found of unknownSkills(workspace, [])) await io.err(`${describeDiagnostic(found, paint)}\n`);
  const onFault = (error: unknown) => void io.err(`${paint("red", "✘")} ${String(error)}\n`);
  io.onStray((error) => {
    if (!blameStray(error)) onFault(error);
    return true;
  });
  const service = await openService(workspace, { ...place, onFault });
  const stopped = new Promise<string>((resolve) => io.onInterrupt(resolve));
  if (flags.json === true) await io.out(jsonText({ url: service.url, skills: service.skills }));
  const count = paint("bold", amount(service.skills, "skill"));
  await io.err(`${paint("green", "●")} serving ${count} at ${service.url}/rpc ${paint("dim", "(Ctrl-C stops)")}\n`);
  await stopped;
  await io.err(paint("dim", "stopping: what is under way is finished first\n"));
  await service.close(GRACE_MS);
  return 0;
};

/** Where to listen, and the token that callers have to give. */
export function listenAt(io: Io, flags: Flags) {
  const host = text(flags, "host") ?? "127.0.0.1";
  return { host, port: portOf(flags), token: tokenOf(io, flags, host) };
}

function portOf(flags: Flags): number {
  const given = text(flags, "port") ?? "8080";
  const port = /^\d{1,5}$/.test(given) ? Number(given) : Number.NaN;
  if (port <= 65_535) return port;
  throw new SkillflowError("usage.invalid", `--port takes a number up to 65535, not "${given}"`);
}

/** Beyond this machine nobody is served without a token. */
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
  throw new SkillflowError("config.missing", `${name} is not set: it holds the token that callers give`);
}
