import { existsSync, realpathSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { JitiOptions, TransformOptions, TransformResult } from "jiti";
import { isObject } from "../../../core/base/values.ts";
import { foldersUp } from "../../../files/files.ts";
import { ownPath } from "../../../files/own-files.ts";
import { loadTypescript, typescriptFolder } from "../../programs/typescript.ts";

/**
 * Runs a TypeScript or JavaScript module and returns its default export, or undefined. The module gets this program's
 * `skillflow`, `skillflow/internal` and `skillflow/testing`, and its own `zod` or else ours. Each call runs the files' current content again.
 */
export async function importDefault(file: string, verify?: Verify): Promise<unknown> {
  const [{ createJiti }, source, virtualModules] = await Promise.all([
    loadTypescript(),
    readFile(file, "utf8"),
    publicEntries(),
  ]);
  verify?.(realpathSync.native(file), source);
  const transform = (options: TransformOptions) => {
    const { filename = "", source: text } = options;
    if (filename !== file && existsSync(filename)) verify?.(realpathSync.native(filename), text);
    return transformOnce(options);
  };
  const hasZod = foldersUp(dirname(file)).some((folder) => existsSync(join(folder, "node_modules", "zod")));
  const alias: Record<string, string> = hasZod ? {} : { zod: ourPackage("zod") };
  const jiti = createJiti(file, { fsCache: false, moduleCache: false, virtualModules, alias, transform });
  // Without the transformation, Node would run a failing module itself, and jiti would run it again.
  const ext = extname(file);
  return defaultOf(await jiti.evalModule(source, { filename: file, ext, async: true, forceTranspile: true }));
}

/** Throws if a file's text differs from the text that was trusted. */
export type Verify = (file: string, text: string) => void;

/** Transpiles a text once. This is the slowest part of running a module. */
function transformOnce(options: TransformOptions): TransformResult {
  const { filename = "", source, ...rest } = options;
  const place = source.includes("meta") ? filename : extname(filename); // `import.meta` depends on the file's path
  const key = JSON.stringify([source, place, rest]);
  const known = transformed.get(key);
  if (known) return known;
  const result = (createRequire(import.meta.url)(join(typescriptFolder(), "dist/babel.cjs")) as Transform)(options);
  if (transformed.size >= MOST_TEXTS) transformed.clear();
  if (!result.error) transformed.set(key, result);
  return result;
}

type Transform = NonNullable<JitiOptions["transform"]>;
const transformed = new Map<string, TransformResult>();
const MOST_TEXTS = 100;

async function publicEntries(): Promise<Record<string, unknown>> {
  const load = (name: string, source = `src/${name}.ts`): Promise<unknown> =>
    import(pathToFileURL(ownPath(`${name}.js`, source)).href);
  const entries = [load("index"), load("internal", "src/kit/internal.ts"), load("testing")];
  const [index, internal, testing] = await Promise.all(entries);
  return { skillflow: index, "skillflow/internal": internal, "skillflow/testing": testing };
}

/** Returns our own copy of a package: the bundled one, or else the installed one. */
function ourPackage(name: string): string {
  const part = ownPath(`vendor/${name}`, `node_modules/${name}`);
  return existsSync(part) ? part : dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
}

/** Returns the default export. A CommonJS module is itself the value, unless it was compiled from an ES module. */
function defaultOf(module: unknown): unknown {
  if (!isObject(module)) return module;
  if (Object.hasOwn(module, "default")) return module.default;
  return Object.hasOwn(module, "__esModule") ? undefined : module;
}
