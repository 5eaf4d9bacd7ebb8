import { openBlobs, openExecution } from "../../app/calls/execute.ts";
import type { Workspace } from "../../app/host.ts";
import { type HttpOptions, openHttpServer } from "../http-server.ts";
import { DISCOVERY, discovery } from "../publishing/discovery.ts";
import { publishSkills } from "../publishing/published.ts";
import { type Catalog, openCatalog } from "./catalog.ts";
import { answerRpc, type RpcOptions } from "./json-rpc.ts";
import { skillsProtocol } from "./methods.ts";

interface ServiceOptions extends Pick<HttpOptions, "host" | "port" | "token"> {
  readonly onFault: (error: unknown) => void;
  /** Receives the reasons why skills are not in the index of skills. */
  readonly warn: (line: string) => void;
}

/** Largest request body, including the content of a blob. */
const MOST_BYTES = 32 * 1024 * 1024;
const MOST_CALLS = 100;

/** Serves a project's skills at `/rpc`, and an index of them for discovery. Blobs live as long as the service. */
export async function openService(workspace: Workspace, options: ServiceOptions) {
  const catalog = await openCatalog(workspace);
  const entries = catalog.skills.map(({ entry }) => entry);
  const published = await publishSkills(entries, workspace.skills);
  for (const warning of [...published.warnings, ...hiddenTools(catalog)]) options.warn(warning);
  const { blobs, forget } = await openBlobs(workspace.host, "serve");
  const execution = openExecution(workspace, blobs);
  const rpc: RpcOptions = {
    methods: skillsProtocol({ catalog, blobs, execution }),
    mostCalls: MOST_CALLS,
    onFault: options.onFault,
  };
  const endpoint = async (body: string, signal: AbortSignal) => {
    const answer = await answerRpc(body, rpc, signal);
    return answer === undefined ? undefined : JSON.stringify(answer);
  };
  try {
    const endpoints = new Map([["/rpc", endpoint]]);
    const handlers = new Map([[DISCOVERY, discovery(published)]]);
    const server = await openHttpServer({ ...options, mostBytes: MOST_BYTES, endpoints, handlers });
    return {
      url: server.url,
      skills: catalog.skills.length,
      async close(graceMs: number): Promise<void> {
        await server.close(graceMs);
        await execution.close();
        await forget();
      },
    };
  } catch (error) {
    await forget();
    throw error;
  }
}

/** Reports tools that cannot be executed, because a skill has their full name. */
function hiddenTools({ skills, has }: Catalog): string[] {
  return skills.flatMap(({ name, entry }) => {
    const hidden = entry.skill.tools.map((tool) => `${name}.${tool.name}`).filter(has);
    return hidden.map((full) => `the skill ${full} hides the tool ${full} of the skill ${name}: rename one of them`);
  });
}
