import { type Brought, lockServers, servedSkills } from "../../../app/checks/mcp-lock.ts";
import { readWorkflow } from "../../../app/documents.ts";
import type { Workspace } from "../../../app/host.ts";
import { environmentRedactor } from "../../../app/secrets.ts";
import { configFindings } from "../../../app/workspace.ts";
import { SkillflowError } from "../../../core/base/errors.ts";
import { plainLine } from "../../../core/base/inert.ts";
import { findWorkflows } from "../../../protocol/mcp/workflows.ts";
import { type Action, interruptSignal } from "../../io.ts";
import { amount, describeDiagnostic, painter } from "../../terminal/terminal.ts";
import { openAsking, personAt } from "../../terminal/trust.ts";

/** Pins the tools and skills that MCP servers offer. On a terminal, asks about servers that are not trusted yet. */
export const mcpLock: Action = async (io, files, flags) => {
  const workspace = await openAsking(io, flags, async (opened) => {
    const served = await servedSkills(opened, broughtBy(opened, files));
    const held = served.filter(({ entry }) => entry.holdsServer);
    return held.map(({ entry, inline }) => ({ reference: entry.skill.id, ...(inline ? { inline } : {}) }));
  });
  io.protect(environmentRedactor(workspace));
  const paint = painter(io, flags);
  for (const found of configFindings(workspace)) await io.err(`${describeDiagnostic(found, paint)}\n`);
  const served = await servedSkills(workspace, broughtBy(workspace, files));
  const { path, servers, locked, leftOut, failed, warnings } = await lockServers(workspace, served, {
    signal: interruptSignal(io),
    person: personAt(io),
  });
  const warn = (line: string) => io.err(`${paint("yellow", "!")} ${plainLine(line)}\n`);
  for (const warning of warnings) await warn(warning);
  for (const { id, reason } of leftOut) await warn(`${id} is skipped: ${reason}`);
  for (const { id, reason } of failed) await warn(`${id} failed: ${reason}`);
  if (flags.quiet !== true) {
    for (const { id, tools, skills } of locked) {
      const pinned = [amount(tools, "tool"), ...(skills > 0 ? [amount(skills, "skill")] : [])].join(", ");
      await io.err(`  ${plainLine(id)}: ${pinned}\n`);
    }
    await io.err(`${paint("green", "●")} wrote ${plainLine(path)}: ${amount(servers, "server")}\n`);
  }
  return failed.length === 0 ? 0 : 4;
};

/** Collects the workflows and their inline skills. Skips invalid workflows unless the user named them. */
function broughtBy(workspace: Workspace, files: readonly string[]): readonly Brought[] {
  return findWorkflows(workspace, files).flatMap((file) => {
    const { workflow, inline, diagnostics } = readWorkflow(workspace, file);
    if (workflow) return [{ file, inline }];
    if (!files.includes(file)) return [];
    throw new SkillflowError("workflow.invalid", `${file} cannot be read`, { diagnostics });
  });
}
