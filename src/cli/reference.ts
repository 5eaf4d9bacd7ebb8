import { findRun, openStore } from "../app/adapters/stores.ts";
import type { DocumentsAt } from "../app/host.ts";
import { openReference } from "../app/reference.ts";
import type { StoredRun } from "../core/engine/ports.ts";
import { planAt } from "./commands/run/apply.ts";
import { projectOptions, text } from "./flags.ts";
import type { Flags, Io } from "./io.ts";
import { painter } from "./terminal/terminal.ts";

/** What a command goes on with: a run, or the plan of one. */
interface Continued {
  readonly by: "run" | "plan";
  readonly given: string;
}

/** What decides a command's documents. */
export interface Ground {
  /** As of the commit that decides; undefined where the checkout does. */
  readonly documents: DocumentsAt | undefined;
  /** The run that it goes on with, which keeps the commit that it began with (fine-print T26). */
  readonly continued: StoredRun | undefined;
}

/** The documents that count, said to whoever reads along where they are not the checkout's. */
export async function openGround(io: Io, flags: Flags, named: Continued | undefined): Promise<Ground> {
  const continued = named && (await readContinued(io, flags, named));
  const recorded = continued?.record.commit;
  const documents = openReference(io.host, { given: text(flags, "fromRef"), recorded });
  if (documents && flags.quiet !== true) {
    const { commit, by } = documents;
    const line = `workflow, config and skills as of ${commit.slice(0, 12)} (${by}); the checkout is data`;
    await io.err(`${painter(io, flags)("dim", line)}\n`);
  }
  return { documents, continued };
}

async function readContinued({ host }: Io, flags: Flags, { by, given }: Continued): Promise<StoredRun> {
  const { store } = openStore(host, projectOptions(flags).store);
  const run = by === "plan" ? planAt(host.cwd, given)?.run : undefined;
  return store.read(await findRun(store, run ?? given));
}
