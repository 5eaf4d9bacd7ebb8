import { openService } from "../../../protocol/skills-protocol/service.ts";
import type { Action } from "../../io.ts";
import { GRACE_MS, listenAt, openServing } from "../../serving.ts";
import { amount, jsonText } from "../../terminal/terminal.ts";

export const serve: Action = async (io, _args, flags) => {
  const place = listenAt(io, flags);
  const { workspace, teller, stopped } = openServing(io, flags, []);
  const service = await openService(workspace, { ...place, onFault: teller.onFault, warn: teller.warn });
  const { url, skills } = service;
  if (flags.json === true) await io.out(jsonText({ url, skills }));
  teller.note(`serving ${amount(skills, "skill")} at ${url}/rpc (Ctrl-C stops)`);
  await stopped;
  teller.note("stopping: finishes the current calls first");
  await service.close(GRACE_MS);
  return 0;
};
