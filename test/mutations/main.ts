import { MUTATIONS } from "./list.ts";
import { openScratch } from "./scratch.ts";

/** Reports for each mutation whether a test notices it. With numbers, only for those rules. */
const rules = process.argv.slice(2).map(Number);
const scratch = openScratch(process.cwd());
process.on("SIGINT", () => process.exit(130));
process.on("exit", () => scratch.close());
const say = (line: string) => process.stdout.write(`${line}\n`);
const sound = new Map<string, boolean>();
let unheld = 0;
for (const mutation of MUTATIONS) {
  if (rules.length > 0 && !rules.includes(mutation.rule)) continue;
  const tests = mutation.tests.join(" ");
  if (!sound.has(tests)) sound.set(tests, !scratch.notices({ ...mutation, after: mutation.before }));
  const said = sound.get(tests) ? (scratch.notices(mutation) ? "noticed" : "SURVIVED") : "RED BEFORE";
  if (said !== "noticed") unheld += 1;
  say(`${said} rule ${mutation.rule}: ${mutation.harm} (${mutation.file})`);
}
say(unheld === 0 ? "every mutation is noticed" : `${unheld} are not`);
process.exitCode = unheld === 0 ? 0 : 1;
