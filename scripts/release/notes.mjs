import { readFileSync } from "node:fs";

/** Prints the section of CHANGELOG.md for a tag. Fails if the package, server.json or CHANGELOG.md has another version. */

const [tag = ""] = process.argv.slice(2);
const read = (path) => readFileSync(path, "utf8");
const versions = ["package.json", "scripts/release/server.json"].map((path) => [path, JSON.parse(read(path)).version]);
const [, latest = "", notes = ""] = /^## (\S+).*\n([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(read("CHANGELOG.md")) ?? [];
const wrong = [...versions, ["CHANGELOG.md", latest]].filter(([, version]) => tag !== `v${version}`);
for (const [path, version] of wrong) process.stderr.write(`${path} has version ${version}, and the tag is ${tag}\n`);
if (wrong.length > 0) process.exit(1);
process.stdout.write(`${notes.trim()}\n`);
