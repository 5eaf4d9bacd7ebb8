import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** A Chromium of this machine. Undefined if there is none. */
export const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) =>
  existsSync(path),
);

interface Looking {
  /** `#r7` */
  readonly at?: string;
  readonly width?: number;
  /** Runs in the page and returns its result. */
  readonly script: string;
}

/**
 * Opens a page in a browser, runs a script and returns its result. Removes only the part of the page's policy that
 * blocks that script.
 */
export async function lookAt(page: string, { at = "", width = 1200, script }: Looking): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), "skillflow-page-"));
  const file = join(folder, "page.html");
  const telling = `<script>addEventListener("load", async () => { const told = await (async () => { ${script} })();
    const out = document.createElement("pre"); out.id = "told"; out.textContent = encodeURIComponent(JSON.stringify(told)); document.body.append(out); });</script>`;
  const open = page.replace(/<meta http-equiv="Content-Security-Policy"[^>]*>/, "");
  writeFileSync(
    file,
    open.replace("</body>", () => `${telling}</body>`),
  );
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000"];
  const own = [`--user-data-dir=${join(folder, "profile")}`, `--window-size=${width},900`, "--dump-dom"];
  try {
    const { stdout } = await execute(CHROMIUM ?? "", [...flags, ...own, `file://${file}${at}`], {
      maxBuffer: 100_000_000,
      timeout: 60_000,
    });
    const told = /<pre id="told">([^<]*)<\/pre>/.exec(stdout)?.[1];
    if (told === undefined) throw new Error("the page returned nothing");
    return JSON.parse(decodeURIComponent(told));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The source of axe, which checks accessibility. */
export function axeSource(): string {
  return createRequire(import.meta.url)("axe-core").source;
}
