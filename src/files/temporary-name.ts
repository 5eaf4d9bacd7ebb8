import type { ProcessMark } from "../core/engine/ports.ts";

/**
 * What the name of a temporary folder begins with: whose it is, so that a later process finds what a killed one left.
 * Short, for a socket's path has room for little.
 */
export function temporaryName(kind: string, { pid, host, started }: ProcessMark): string {
  return `skillflow-${kind}-${[String(pid), shortHost(host), started].join("@")}-`;
}

/** Whether the folder is of a process of this machine, and of which; undefined for what is none of ours. */
export function temporaryOwner(name: string, self: ProcessMark): ProcessMark | undefined {
  const [, pid, host, started] = /^skillflow-[a-z]+-(\d+)@([^@]*)@(\d*)-\w{6}$/.exec(name) ?? [];
  const isOurs = pid !== undefined && started !== undefined && host === shortHost(self.host);
  return isOurs ? { pid: Number(pid), host: self.host, started } : undefined;
}

function shortHost(host: string): string {
  return host.replace(/[^\w.-]/g, "_").slice(0, 24);
}
