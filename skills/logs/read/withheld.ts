import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Inside, openInside } from "skillflow";

/**
 * Returns why a file may not be read, or undefined. Hidden files may contain credentials, and skillflow's own files
 * contain earlier runs. Users who want them set LOGS_ROOT to their folder.
 */
export async function withheld(place: Inside, named: boolean): Promise<string | undefined> {
  if (/^\/(?:proc|sys)\//.test(place.path)) return "is a system file, not a log file";
  if (isHidden(place.relative))
    return "is in a hidden folder, or its name starts with a dot; set LOGS_ROOT to its folder to read it";
  const direct = named && !place.relative.includes("/");
  if (direct || !(await isOurs(place))) return undefined;
  return "was written by a skillflow run; set LOGS_ROOT to its folder to read it";
}

export function isHidden(path: string): boolean {
  return path.split("/").some((segment) => segment.startsWith(".") && segment !== ".");
}

/** Returns true for skillflow's own files. They carry a mark, or are recognized by marked files next to them. */
async function isOurs(place: Inside): Promise<boolean> {
  const [folder, name = ""] = [dirname(place.path), place.path.split("/").at(-1)];
  const run = /^(.*\/[^/]+)\.blobs\//.exec(place.path)?.[1];
  if (run !== undefined && (await isMarked({ ...place, path: `${run}.jsonl` }))) return true;
  if (/\.jsonl?$/.test(name) && (await isMarked(place))) return true;
  if (!REPORTS.has(name)) return false;
  const beside = (await readdir(folder)).filter((each) => each === "result.json" || each === "trace.jsonl");
  const marks = await Promise.all(beside.map((each) => isMarked({ ...place, path: join(folder, each) })));
  return marks.some(Boolean);
}

const REPORTS: ReadonlySet<string> = new Set(["summary.md", "junit.xml", "report.html", "plan.json"]);
const MARK = /^\s*\{\s*"schema":\s*"skillflow\./;

async function isMarked(place: Inside): Promise<boolean> {
  const opened = await openInside(place);
  if (!("file" in opened)) return false;
  try {
    const { buffer, bytesRead } = await opened.file.read(Buffer.alloc(64), 0, 64, 0);
    return MARK.test(buffer.toString("latin1", 0, bytesRead));
  } finally {
    await opened.file.close();
  }
}
