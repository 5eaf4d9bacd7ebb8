import { messageOf } from "./core/errors.ts";
import type { Blobs } from "./core/ports.ts";
import { createRedactor } from "./core/redact.ts";
import { describeTools, type Logger, type Outcome } from "./core/skill.ts";
import type { Invocation } from "./loaders/format.ts";
import { handlerConfig } from "./loaders/skill-entry.ts";
import { type Chosen, chooseTool } from "./loaders/skill-invoke.ts";
import { gatherCalled, type Project } from "./project.ts";
import { proxiedFetch } from "./proxy.ts";
import { createCall } from "./run/call.ts";
import { secretsOf } from "./secrets.ts";
import { connectServers, type Servers } from "./servers.ts";

export interface InvokeOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly loggerFor: (skill: string) => Logger;
  /** Where large results are kept. */
  readonly blobs: Blobs;
}

/**
 * One call of one skill, the same whatever carries it out: redacted, limited and answered as a call in a run is. What
 * keeps it from being made is an outcome too.
 */
export async function invokeSkill(project: Project, call: Invocation, options: InvokeOptions): Promise<Outcome> {
  const { skills, host } = project;
  const named = call.version === undefined ? [] : [`${call.skill}@${call.version}`];
  const entries = await gatherCalled(skills, [call.skill, ...named]);
  const redactor = createRedactor(secretsOf(host.env, entries.values(), project));
  const opened: Servers[] = [];
  const find = async (reference: string) => {
    const entry = await skills.find(reference);
    if (!entry?.skill.mcp) return entry;
    const connecting = { host, fetch: await proxiedFetch(host.env), signal: options.signal };
    const servers = await connectServers(new Map([[reference, entry]]), connecting);
    opened.push(servers);
    return servers.entries.get(reference);
  };
  try {
    return await callTool(project, await chooseTool({ find }, call), call, { ...options, redactor });
  } catch (error) {
    return { error: redactor.text(messageOf(error)) };
  } finally {
    for (const servers of opened) await servers.close();
  }
}

async function callTool(
  { host }: Project,
  { entry, tool }: Chosen,
  { arguments: input }: Invocation,
  { signal, ...options }: InvokeOptions & { readonly redactor: ReturnType<typeof createRedactor> },
): Promise<Outcome> {
  const [descriptor] = describeTools(entry.skill, [tool]);
  if (!descriptor) return { error: `skill ${entry.skill.id} has no tool to call` };
  const call = createCall({
    run: "invoke",
    findHandler: () => ({ tool, config: handlerConfig(entry) }),
    workDir: host.cwd,
    fetch: await proxiedFetch(host.env),
    ...options,
  });
  return call({ key: entry.skill.id, tool: descriptor, input }, signal);
}
