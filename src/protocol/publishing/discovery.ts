import { createHash } from "node:crypto";
import type { JsonObject } from "../../core/base/values.ts";
import type { Handler } from "../http-server.ts";
import { packArchive } from "./archive.ts";
import type { Publication, PublishedSkill } from "./published.ts";

/** Agent Skills discovery 0.2: an index of skills at a well-known address, and the files behind its URLs. */

/** Prefix of all addresses, for the HTTP server. */
export const DISCOVERY = "/.well-known/agent-skills/";
const SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

export function discovery({ skills }: Pick<Publication, "skills">): Handler {
  return async (request) => {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return Response.json({ error: "GET only" }, { status: 405, headers: { allow: "GET, HEAD" } });
    }
    const found = await find(new URL(request.url).pathname.slice(DISCOVERY.length), skills);
    if (!found) return Response.json({ error: "there is nothing here" }, { status: 404 });
    const { type, bytes } = found;
    const headers = {
      "content-type": type,
      "content-length": String(bytes.length),
      "x-content-type-options": "nosniff",
    };
    return new Response(request.method === "HEAD" ? null : new Uint8Array(bytes), { headers });
  };
}

async function find(path: string, skills: Publication["skills"]) {
  if (path === "index.json") return { type: "application/json", bytes: Buffer.from(await indexOf(skills)) };
  const [, name = "", file = ""] = /^([a-z0-9-]+)(\/SKILL\.md|\.tar\.gz)$/.exec(path) ?? [];
  const skill = skills.get(name);
  const artifact = skill && (await artifactOf(skill));
  return artifact && artifact.file === file ? artifact : undefined;
}

async function indexOf(skills: Publication["skills"]): Promise<string> {
  const entries: JsonObject[] = [];
  for (const skill of skills.values()) {
    const artifact = await artifactOf(skill);
    if (!artifact) continue;
    const { name, description, bytes, file } = artifact;
    const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
    entries.push({
      name,
      type: file === ONE_FILE ? "skill-md" : "archive",
      description,
      url: `${DISCOVERY}${name}${file}`,
      digest,
    });
  }
  return JSON.stringify({ $schema: SCHEMA, skills: entries });
}

const ONE_FILE = "/SKILL.md";

/** Returns what a skill's URL answers now. Undefined if its files can no longer be published. */
async function artifactOf(skill: PublishedSkill) {
  try {
    const { name, description } = (await skill.entry()).frontmatter;
    const files = await skill.readAll();
    const only = files.size === 1 ? files.get("SKILL.md") : undefined;
    const about = { name, description };
    if (only) return { ...about, file: ONE_FILE, type: "text/markdown; charset=utf-8", bytes: only };
    return { ...about, file: ".tar.gz", type: "application/gzip", bytes: await packArchive(files) };
  } catch {
    return undefined;
  }
}
