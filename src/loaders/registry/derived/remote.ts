import type { SkillEntry } from "../skill-set.ts";

/** Returns the entry of a skill that an MCP server may offer. It has no text until the server is connected. */
export function remoteEntry(server: SkillEntry, name: string): SkillEntry {
  const { unavailable, withheld, holdsServer } = server;
  const held = holdsServer && withheld !== undefined ? ({ kind: "untrusted", reason: withheld } as const) : undefined;
  const { category } = server.skill;
  return {
    ...server,
    skill: { id: `${server.skill.id}/${name}`, name, description: "", category, config: {}, tools: [] },
    kind: "instruction",
    format: "mcp",
    source: { kind: "mcp", path: null, priority: 0, trusted: false },
    isBuiltin: false,
    shadows: [],
    fields: [],
    unavailable: unavailable ?? held,
    isLacking: false,
    heldTools: [],
    isUnopened: true,
    frontmatter: undefined,
    bundle: undefined,
    scripts: undefined,
    holdsScripts: false,
    calls: [],
    package: undefined,
    contents: undefined,
    mounts: [],
    remote: { server, name, files: [] },
    diagnostics: [],
  };
}
