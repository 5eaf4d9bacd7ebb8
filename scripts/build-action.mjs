import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { copyParts, interpreter, licencesOf, program, shape, skills } from "./bundle.mjs";

/**
 * Builds the GitHub action into a folder, whose content a release publishes on its own branch. index.js is the whole program
 * in one file, with every package that it uses, so that a job installs nothing. parts/ holds what cannot be in that file:
 * code that runs in a thread, in a sandbox or in Python, compiled code, the modules that a project imports, and the
 * documents of skills. The same sources produce the same bytes.
 */

const folder = process.argv[2] ?? "dist/action";
const parts = join(folder, "parts");
// Only what an earlier build wrote: the folder may be a checkout of the branch.
rmSync(parts, { recursive: true, force: true });
const bundle = await build({
  // Names are kept, so that the diff between two releases is small.
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
for (const entry of ["index", "internal", "testing"]) {
  writeFileSync(join(parts, `${entry}.js`), `module.exports = require("../index.js").${entry};\n`);
}
for (const id of skills) {
  const source = `module.exports = { ...require("../../../index.js").skill("${id}"), id: "${id}" };\n`;
  mkdirSync(join(parts, "skills", id), { recursive: true });
  writeFileSync(join(parts, "skills", id, "skill.js"), source);
}
for (const name of ["action.yml", "LICENSE"]) copyFileSync(name, join(folder, name));
writeFileSync(join(folder, "package.json"), `${JSON.stringify({ type: "commonjs" })}\n`);
writeFileSync(
  join(folder, "LICENSES.txt"),
  licencesOf([...Object.keys({ ...bundle.metafile.inputs, ...vendored.metafile.inputs }), "node_modules/jiti"]),
);

/** Starts the action if it is the main module. Otherwise exports what skills and the project's modules share with it. */
function code() {
  return `
    const SKILLS = { ${skills.map((id) => `"${id}": () => require("./skills/${id}/skill.ts").default`).join(", ")} };
    module.exports = {
      skill: (id) => SKILLS[id](),
      get index() { return require("./src/index.ts"); },
      get internal() { return require("./src/kit/internal.ts"); },
      get testing() { return require("./src/testing.ts"); },
    };
    if (require.main === module) require("./src/entry/action/entry.ts").startAction();`;
}
