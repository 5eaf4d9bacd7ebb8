import { findRun, openStore } from "../app/adapters/stores.ts";
import { openReference } from "../app/reference.ts";
import type { StoredRun } from "../core/engine/ports.ts";
import { planAt } from "./commands/run/apply.ts";
import { projectOptions, text } from "./flags.ts";
import type { Flags, Io } from "./io.ts";
import { painter } from "./terminal/terminal.ts";

type Continued = { readonly by: "run" | "plan"; readonly given: string };

export type Ground = Awaited<ReturnType<typeof openGround>>;

/**
 * Opens the documents at the deciding commit, undefined if the checkout decides, and prints a note about it. Reads the run
 * that the command continues, which keeps its original commit.
 */
export async function openGround(io: Io, flags: Flags, named: Continued | undefined) {
  /** Run that the command continues, which keeps its original commit. */
  const continued = named && (await readContinued(io, flags, named));
  const recorded = continued?.record.commit;
  /** Documents at the deciding commit. Undefined if the checkout decides. */
  const documents = openReference(io.host, text(flags, "fromRef"), recorded);
  if (documents && flags.quiet !== true) {
    const { commit, by } = documents;
    const line = `workflow, config and skills come from commit ${commit.slice(0, 12)} (${by}), not from the checkout`;
    await io.err(`${painter(io, flags)("dim", line)}\n`);
  }
  return { documents, continued };
}

async function readContinued({ host }: Io, flags: Flags, { by, given }: Continued): Promise<StoredRun> {
  const { store } = openStore(host, projectOptions(flags).store);
  const run = by === "plan" ? planAt(host.cwd, given)?.run : undefined;
  return store.read(await findRun(store, run ?? given));
}
