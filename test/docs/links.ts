import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Returns the links of a page, outside of code, that lead to no file or heading below `root`. */
export function lostLinks(root: string, page: string): string[] {
  return linksOf(root, page).filter((target) => {
    const [path = "", anchor] = target.split("#");
    const file = path === "" ? page : join(dirname(page), path);
    if (!existsSync(join(root, file))) return true;
    return anchor !== undefined && file.endsWith(".md") && !anchorsOf(root, file).has(anchor);
  });
}

function withoutCode(text: string): string {
  return text.replace(/^(```|~~~)[\s\S]*?^\1/gm, "");
}

function linksOf(root: string, page: string): string[] {
  const prose = withoutCode(readFileSync(join(root, page), "utf8")).replace(/`[^`\n]*`/g, "`");
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = ""]) =>
    /^https?:/.test(target) ? [] : [target],
  );
}

function anchorsOf(root: string, page: string): Set<string> {
  const text = withoutCode(readFileSync(join(root, page), "utf8"));
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .replace(/<[^>]*>/g, "")
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .trim()
      .replaceAll(" ", "-"),
  );
  return new Set([...headings, ...[...text.matchAll(/ id="([^"]+)"/g)].map(([, id = ""]) => id)]);
}
