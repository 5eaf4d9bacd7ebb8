import { usageError } from "../../../core/base/errors.ts";
import { VERSION } from "../../../files/own-files.ts";
import { openMcpHttp } from "../../../protocol/mcp/http.ts";
import { type McpService, openMcpService } from "../../../protocol/mcp/server.ts";
import { connectStreams } from "../../../protocol/mcp/stdio.ts";
import type { Action, Flags, Io } from "../../io.ts";
import { GRACE_MS, listenAt, openServing } from "../../serving.ts";
import { plainProgress } from "../../terminal/progress/plain.ts";
import { amount, jsonText } from "../../terminal/terminal.ts";
import { skillLogger } from "../run/run.ts";

export const mcp: Action = async (io, workflows, flags) => {
  const place = flags.http === true ? listenAt(io, flags) : refuseHttpFlags(flags);
  const { workspace, teller, stopped } = openServing(io, flags, undefined);
  const service = await openMcpService(workspace, {
    version: VERSION,
    choices: flags,
    workflows,
    loggerFor: (skill) => skillLogger(io, flags, skill),
    narrate: plainProgress,
    note: teller.note,
    onFault: teller.onFault,
    refuse(file, found) {
      teller.tell(found);
      teller.warn(`${file} is skipped: it is not a valid workflow`);
    },
  });
  const offered = tellOffer(io, service, teller.warn);
  try {
    if (flags.frozen) await offered;
    if (!place) {
      const connection = await connectStreams(service, { input: io.input(), write: io.out, onProblem: teller.warn });
      // `offered` rejects if no tools can be offered.
      await Promise.race([connection.ended, stopped, offered.then(() => connection.ended)]);
      await connection.close();
      return 0;
    }
    const { tools } = await offered;
    const server = await openMcpHttp(service, { ...place, onFault: teller.onFault });
    const url = `${server.url}/mcp`;
    if (flags.json === true) await io.out(jsonText({ url, tools }));
    teller.note(`serving ${amount(tools, "tool")} at ${url} (Ctrl-C stops)`);
    await stopped;
    await server.close(GRACE_MS);
    return 0;
  } finally {
    await service.close(GRACE_MS);
  }
};

function refuseHttpFlags(flags: Flags): undefined {
  const given = ["port", "host", "tokenEnv", "json"].find((name) => flags[name] !== undefined);
  if (given === undefined) return undefined;
  const flag = given === "tokenEnv" ? "token-env" : given;
  throw usageError(`--${flag} requires --http`);
}

/** Waits for the offered tools, redacts all skills' secrets from then on, and counts the tools. */
async function tellOffer(io: Io, { offer }: McpService, warn: (line: string) => void) {
  const { tools, redactor, warnings } = await offer;
  io.protect(redactor);
  for (const warning of warnings) warn(warning);
  return { tools: tools.size };
}
