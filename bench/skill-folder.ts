import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export const SKILLS = 1000;
/** The one that does next to nothing. */
export const TRIVIAL = "team0.area.pack0";

const DOCUMENT = `# How to do it\n\n${"Look at what is there, and say what you saw.\n".repeat(40)}`;

/** Half of them packages, half instructions; the first package is the trivial one. */
export function writeSkills(folder: string): void {
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  for (let n = 0; n < SKILLS / 2; n++) {
    write(
      `doc-${n}/SKILL.md`,
      `---\nname: doc-${n}\ndescription: How to do the thing of number ${n}.\n---\n${DOCUMENT}`,
    );
    const name = `team${n % 20}.area.pack${n}`;
    write(
      `${name}/skill.toml`,
      `name = "${name}"\nversion = "1.${n}.0"\ndescription = "Does the thing of number ${n}."\nkind = "action"\n\n` +
        '[runtime]\nlanguage = "python"\nentrypoint = "code/main.py"\nexport = "main"\n\n' +
        '[inputs.text]\ntype = "string"\ndescription = "What to look at"\n',
    );
    write(`${name}/SKILL.md`, `---\nname: Pack ${n}\nshort_description: Does it.\ntags: [a, b]\n---\n${DOCUMENT}`);
    write(`${name}/code/main.py`, 'def main(args):\n    return {"ok": True}\n');
  }
}
