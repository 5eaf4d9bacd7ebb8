import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
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
await build({
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
});
for (const id of skills) {
  const document = join("skills", id, "SKILL.md");
  if (existsSync(document)) cpSync(document, join("dist", document));
}
cpSync("src/loaders/runners", "dist/runners", { recursive: true });
cpSync("src/protocol/guide", "dist/guide", { recursive: true });
chmodSync("dist/bin.js", 0o755);
