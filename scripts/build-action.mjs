import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { copyParts, interpreter, licencesOf, program, shape, skills } from "./bundle.mjs";

/**
 * Makes the GitHub action: action/index.js is the whole program in one file, with every package that it uses, so that a
 * job installs nothing. In action/parts/ is what cannot be in it: what runs in a thread, in a sandbox or by Python, what
 * is compiled already, what modules of a project import, and the documents of skills. The same sources make the same bytes.
 */

const folder = process.argv[2] ?? "action";
const parts = join(folder, "parts");
rmSync(folder, { recursive: true, force: true });
const bundle = await build({
  // With its names, which keep a change of one line a small one for git, too.
  ...shape,
  ...program,
  define: { ...program.define, __PARTS__: '"parts"' },
  stdin: { contents: code(), resolveDir: ".", sourcefile: "index.js" },
  outfile: join(folder, "index.js"),
  banner: { js: "const __url=require('node:url').pathToFileURL(__filename).href;" },
});
const vendored = await build({
  ...shape,
  ...interpreter,
  entryPoints: { ...interpreter.entryPoints, undici: "undici", "zod/index": "zod" },
  outdir: join(parts, "vendor"),
});
copyParts(parts);
writeFileSync(join(parts, "vendor/zod/package.json"), `${JSON.stringify({ name: "zod", main: "index.cjs" })}\n`);
for (const entry of ["index", "testing"]) {
  writeFileSync(join(parts, `${entry}.js`), `module.exports = require("../index.js").${entry};\n`);
}
for (const id of skills) {
  const source = `module.exports = { ...require("../../../index.js").skill("${id}"), id: "${id}" };\n`;
  mkdirSync(join(parts, "skills", id), { recursive: true });
  writeFileSync(join(parts, "skills", id, "skill.js"), source);
}
writeFileSync(join(folder, "package.json"), `${JSON.stringify({ type: "commonjs" })}\n`);
writeFileSync(
  join(folder, "LICENSES.txt"),
  licencesOf([...Object.keys({ ...bundle.metafile.inputs, ...vendored.metafile.inputs }), "node_modules/jiti"]),
);

/** The action where it is started, and for its own skills and the code of others what they share with it. */
function code() {
  return `
    const SKILLS = { ${skills.map((id) => `"${id}": () => require("./skills/${id}/skill.ts").default`).join(", ")} };
    module.exports = {
      skill: (id) => SKILLS[id](),
      get index() { return require("./src/index.ts"); },
      get testing() { return require("./src/testing.ts"); },
    };
    if (require.main === module) require("./src/entry/action/entry.ts").startAction();`;
}
