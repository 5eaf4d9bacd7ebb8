import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import type { Workspace } from "../../src/app/host.ts";
import { openWorkspace } from "../../src/app/workspace.ts";
import { type Bench, type Contestant, interleave, timed } from "../measure.ts";
import { SKILLS, writeSkills } from "../skill-folder.ts";

const TIME = "time";
const READING = "reading their files";

interface Finder extends Contestant {
  readonly find: (folder: string) => void;
}

const CONTESTANTS: readonly Finder[] = [
  { name: READING, kind: "limit", find: (folder) => void readAll(folder) },
  { name: "reading, and parsing the frontmatter with yaml", kind: "peer", find: parseAll },
  { name: "skillflow", kind: "ours", find: findAll, promises: { [TIME]: { most: 2, of: READING } } },
];

export const skills: Bench = {
  name: "skills",
  title: "Finding a thousand skills",
  how: `A folder of 1,000 skills: half of them instructions (\`SKILL.md\`), half packages (\`skill.toml\`, \`SKILL.md\` and code), 2 KB or so each. The
files have been read before. Parsing the frontmatter is what a loader of SKILL.md does at the least: it checks nothing, and knows of no
conflicts, of no trust and of no other format. In one process, after a first round of each that does not count.`,
  async measure(effort) {
    const rounds = effort.rounds(7);
    const folder = mkdtempSync(join(tmpdir(), "bench-skills-"));
    try {
      writeSkills(join(folder, "skills"));
      for (const { find } of CONTESTANTS) find(folder);
      const measured = await interleave(CONTESTANTS, [TIME], rounds, async ({ find }) => [
        await timed(() => find(folder)),
      ]);
      const rows = CONTESTANTS.map(({ find: _find, ...row }, index) => {
        return { ...row, cells: measured.get(CONTESTANTS[index] as Finder) ?? {} };
      });
      return { columns: [{ name: TIME, unit: "ms", better: "less" }], rows, rounds };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** Finding skills and reading their documents. */
function findAll(folder: string): void {
  const { size } = projectOf(folder).skills.ids;
  if (size < SKILLS) throw new Error(`only ${size} skills were found`);
}

function projectOf(folder: string): Workspace {
  return openWorkspace(
    {
      env: {},
      cwd: folder,
      self: { pid: process.pid, host: "bench", started: "" },
      isAlive: () => true,
      execPath: process.execPath,
      uid: process.geteuid?.(),
      kill: () => undefined,
    },
    { overrides: new Map(), skillDirs: [join(folder, "skills")], discover: false, store: undefined },
  );
}

/** Lists every folder and reads every file, like `find` and `cat`. */
function readAll(directory: string): readonly (readonly [name: string, text: string])[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    return entry.isDirectory() ? readAll(path) : [[entry.name, readFileSync(path, "utf8")] as const];
  });
}

function parseAll(folder: string): void {
  const documents = readAll(join(folder, "skills")).filter(([name]) => name === "SKILL.md");
  const heads = documents.map(([, text]) => parse(text.split(/^---$/m)[1] ?? "") as unknown);
  if (heads.length < SKILLS) throw new Error(`only ${heads.length} skills were found`);
}
