import { relative } from "node:path";
import { testFromRun } from "../../../app/testing/from-run.ts";
import { usageError } from "../../../core/base/errors.ts";
import { openGuarded, text } from "../../flags.ts";
import type { Action } from "../../io.ts";
import { replaceOwn } from "../../outputs.ts";

/** Writes a test from a run (`test --from RUN`) and prints its path. */
export const writeTest: Action = async (io, places, flags) => {
  if (places.length > 0) throw usageError("--from writes a test and runs none: leave out the paths");
  if (io.host.documents) throw usageError("--from cannot be used with --from-ref, because it writes to the checkout");
  const workspace = openGuarded(io, flags);
  const files = await testFromRun(workspace, text(flags, "from") ?? "");
  for (const { path, text: content, root } of files) {
    await replaceOwn(path, content, { root, fileMode: 0o666 });
  }
  await io.outText(`${relative(io.host.cwd, files[0].path)}\n`);
  return 0;
};
