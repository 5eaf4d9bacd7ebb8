import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

/** Bundles the program, the public entries and the built-in skills into dist/, sharing what they share. */

const skills = existsSync("skills")
  ? readdirSync("skills").filter((id) => existsSync(join("skills", id, "skill.ts")))
  : [];
/** What stays a package of its own; every other SDK is bundled, so that those who install us need not its whole tree. */
const packages = [
  "@modelcontextprotocol/*",
  "nodemailer",
  "zod-to-json-schema",
  "jiti",
  "undici",
  "quickjs-emscripten",
];

const { version } = JSON.parse(readFileSync("package.json", "utf8"));

rmSync("dist", { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: {
    bin: "src/bin.ts",
    index: "src/index.ts",
    testing: "src/testing.ts",
    ...Object.fromEntries(skills.map((id) => [`skills/${id}/skill`, `skills/${id}/skill.ts`])),
  },
  outdir: "dist",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  minifySyntax: true,
  minifyWhitespace: true,
  external: packages,
  define: { __VERSION__: JSON.stringify(version) },
  alias: { skillflow: "./src/index.ts", yaml: "./node_modules/yaml/browser/index.js" },
  chunkNames: "chunks/[name]-[hash]",
  banner: {
    js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
  },
  logLevel: "warning",
  metafile: true,
});
for (const id of skills) {
  const document = join("skills", id, "SKILL.md");
  if (existsSync(document)) cpSync(document, join("dist", document));
}
cpSync("src/loaders/folder/runners", "dist/runners", { recursive: true });
cpSync("src/protocol/guide", "dist/guide", { recursive: true });
chmodSync("dist/bin.js", 0o755);
writeFileSync("dist/LICENSES.txt", licencesOf(Object.keys(metafile.inputs)));

/** What those who wrote the bundled packages ask for: their licence beside their code. */
function licencesOf(inputs) {
  const folders = inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  const parts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? `Licence: ${license}` : readFileSync(join(folder, file), "utf8").trim();
    return `${name} ${version}\n\n${text}\n`;
  });
  return parts.join(`\n${"-".repeat(80)}\n\n`);
}
