import type { ProcessMark } from "../core/engine/ports.ts";

/**
 * Returns the prefix of a temporary folder's name. It identifies the process, so that a later one can remove what a
 * killed one left. It is short, because socket paths are limited.
 */
export function temporaryName(kind: string, { pid, host, started }: ProcessMark): string {
  return `skillflow-${kind}-${[String(pid), shortHost(host), started].join("@")}-`;
}

/** Returns the process that owns a temporary folder of this machine. Returns undefined for any other name. */
export function temporaryOwner(name: string, self: ProcessMark): ProcessMark | undefined {
  const [, pid, host, started] = /^skillflow-[a-z]+-(\d+)@([^@]*)@(\d*)-\w{6}$/.exec(name) ?? [];
  const isOurs = pid !== undefined && started !== undefined && host === shortHost(self.host);
  return isOurs ? { pid: Number(pid), host: self.host, started } : undefined;
}

function shortHost(host: string): string {
  return host.replace(/[^\w.-]/g, "_").slice(0, 24);
}
