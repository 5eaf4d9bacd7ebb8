import skill from "../skills/logs/skill.ts";
import { toolContext } from "../src/testing.ts";

/** A separate process that searches a file of this folder, and prints its matches, time and peak memory. */
const [files = "", contains = ""] = process.argv.slice(2);
const search = skill.tools.find((tool) => tool.name === "search");
const begin = performance.now();
const result = await search?.handler({ files, contains } as never, toolContext({ workDir: process.cwd() }));
const seconds = (performance.now() - begin) / 1000;
const { matched } = result as { readonly matched: number };
console.log(JSON.stringify({ matched, seconds, megabytes: Math.round(process.resourceUsage().maxRSS / 1024) }));
