import { basename } from "node:path";
import { openSite } from "../../../app/views/site.ts";
import { openUi, type Pages } from "../../../protocol/ui-server.ts";
import { runPage } from "../../../reports/site/live.ts";
import { problemPage } from "../../../reports/site/page.ts";
import { runsPage } from "../../../reports/site/runs.ts";
import { statsPage } from "../../../reports/site/stats.ts";
import { openGuarded, text } from "../../flags.ts";
import type { Action } from "../../io.ts";
import { portOf } from "../../serving.ts";

/** Open pages lose nothing when the server stops, so this can be short. */
const GRACE_MS = 100;

export const ui: Action = async (io, _args, flags) => {
  const workspace = openGuarded(io, flags);
  const stopped = new Promise<void>((resolve) => io.onInterrupt(() => resolve()));
  const place = text(flags, "store") ?? basename(io.host.cwd);
  const pages: Pages = {
    runs: (list, view) => (nonce) => runsPage({ ...list, view, place }, nonce),
    run: ({ report, html, isUnderWay, questions }) => runPage(report, html, { isUnderWay, questions }),
    stats: (stats, days) => statsPage({ ...stats, days }),
    problem: problemPage,
  };
  const server = await openUi(openSite(workspace), pages, portOf(flags, "0"));
  await io.out(`${server.address}\n`);
  if (flags.quiet !== true) await io.err("open it in a browser; press Ctrl-C to stop\n");
  await stopped;
  await server.close(GRACE_MS);
  return 0;
};
