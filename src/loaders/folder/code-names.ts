import { extname } from "node:path";
import { parseJson } from "../../core/base/values.ts";

/**
 * Files and modules that a program's text names, found without running it. Errs on the side of too many: names in
 * comments count as well.
 */
export interface CodeNames {
  /** Paths as written. An import may omit the extension. */
  readonly paths: readonly string[];
  /** Paths of programs that it starts, which may begin in the working directory. */
  readonly started: readonly string[];
  readonly packages: readonly string[];
  /** Dotted Python modules. Names with leading dots are relative. */
  readonly modules: readonly string[];
  /** Possible folders of Python modules. */
  readonly folders: readonly string[];
}

type Language = "javascript" | "python" | "sh" | "manifest";

/** Detects the language by the file name, or else by the first line. Returns undefined for other files. */
export function languageOf(path: string, text: string): Language | undefined {
  if (/[/\\]package\.json$/.test(path)) return "manifest";
  if (/[/\\](?:(?:GNU)?[Mm]akefile|[Jj]ustfile|Taskfile\.ya?ml|[^/\\]{1,255}\.mk)$/.test(path)) return "sh";
  const known = LANGUAGES.find(([endings]) => endings.includes(extname(path)))?.[1];
  if (known || !text.startsWith("#!")) return known;
  const line = text.slice(0, 200).split("\n")[0] ?? "";
  return INTERPRETERS.find(([pattern]) => pattern.test(line))?.[1];
}

const LANGUAGES: readonly (readonly [endings: readonly string[], language: Language])[] = [
  [[".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"], "javascript"],
  [[".py", ".pyw"], "python"],
  [[".sh", ".bash"], "sh"],
];
const INTERPRETERS: readonly (readonly [pattern: RegExp, language: Language])[] = [
  [/python/, "python"],
  [/\b(?:node|deno|bun|tsx)\b/, "javascript"],
  [/sh\b/, "sh"],
];

export function namesIn(language: Language, text: string, path = ""): CodeNames {
  return READERS[language](text, path);
}

const READERS: Readonly<Record<Language, (text: string, path: string) => CodeNames>> = {
  javascript: namesInJavaScript,
  python: namesInPython,
  sh: namesInShell,
  manifest: namesInManifest,
};

const NOTHING: CodeNames = { paths: [], started: [], packages: [], modules: [], folders: [] };

// All repetitions are bounded, because the text is untrusted.
const SPECIFIER =
  /\b(?:from|import|require|resolve)\s{0,99}\(?\s{0,99}(?:\/\*[^*]{0,99}\*\/\s{0,99}){0,3}(["'`])([^"'`\n$]+)\1/g;
const QUOTED_FILE = /(["'`])((?:[\w.@ -]*\/)*[\w.@ -]+\.(?:[mc]?[jt]sx?|pyw?|sh|bash|node|wasm|so))\1/g;

/** Matches the file after an interpreter, in a command (`sh -e a/b.sh`) or a list of words (`["node", "a/b"]`). */
const STARTED =
  /(?<![\w.-])(?:(?:ba|da|z)?sh|node|bun|tsx|deno run|python3?)["'`]?[\s,]{1,9}(?:["'`]?-[\w=-]{1,40}["'`]?[\s,]{1,9}){0,5}["'`]{0,2}((?:[\w.-]+\/){0,9}[\w.-]+)/g;

function namesInJavaScript(text: string): CodeNames {
  const specifiers = captured(text, SPECIFIER);
  const isPath = (specifier: string) => /^(?:\.{0,2}\/|\.{1,2}$|file:)/.test(specifier);
  return {
    ...NOTHING,
    paths: unique([...specifiers.filter(isPath), ...captured(text, QUOTED_FILE)]),
    started: unique(captured(text, STARTED)),
    packages: unique(specifiers.filter((specifier) => !isPath(specifier))),
  };
}

const QUOTED_FOLDER = /(["'])((?:[\w.-]+\/){0,9}[\w.-]+)\/?\1/g;

function namesInPython(text: string): CodeNames {
  const whole = captured(text, /^[ \t]*import[ \t]+([\w., \t]+)/gm).flatMap((names) =>
    names.split(",").map((name) => name.trim().split(/\s/)[0] ?? ""),
  );
  const parts = [...text.matchAll(/^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]{0,9999}\)|[^\n]*)/gm)].flatMap(
    ([, from = "", names = ""]) => {
      const each = names.replace(/[()\\]|#.*$/gm, " ").split(",");
      const below = each.map((name) => `${from}${from.endsWith(".") ? "" : "."}${name.trim().split(/\s/)[0] ?? ""}`);
      return [from, ...below];
    },
  );
  const called = captured(text, /\b(?:import_module|__import__)\(\s*["']([\w.]+)["']/g);
  const modules = [...whole, ...parts, ...called].filter((name) => /^\.*\w[\w.]*$/.test(name));
  return {
    paths: unique(captured(text, QUOTED_FILE)),
    started: unique(captured(text, STARTED)),
    packages: [],
    modules: unique(modules),
    folders: unique(captured(text, QUOTED_FOLDER)),
  };
}

const SHELL_FILE = /^.+\.(?:[mc]?[jt]s|py|sh|bash)\b/;
const SOURCED = /(?:^|[;&|(\s])(?:source|\.|sh|bash|dash|exec|[-s]?include)\s{1,9}["']{0,2}([\w./-]+)/gm;

/** Matches a program that a command names by its path, after the marks of make (`@-`) or YAML, and variables. */
const PROGRAM =
  /(?:^|[;&|(@]|\b(?:exec|then|do|else|sudo|env|time|cmd:))[ \t]{0,9}[-+@]{0,3}[ \t]{0,9}(?:[A-Za-z_]\w{0,40}=[^\s;&|]{0,200}[ \t]{1,9}){0,5}((?:[\w.-]+\/){1,9}[\w.-]+)/gm;

const PYTHON_MODULE = /\bpython3?[ \t]{1,9}(?:-[A-Za-z]{1,9}[ \t]{1,9}){0,5}?-m[ \t]{1,9}(\w[\w.]*)/g;

/** Command in parentheses, such as `$(shell a/b)` of make. */
const SUBSTITUTED = /\$\((?:shell[ \t]{1,9})?([^()]{1,999})/g;

/** Variable part of a path, usually the script's own folder. */
const VARIABLE = /\$\{[^}]{0,99}\}|\$\([^)]{0,99}\)|\$\w{1,99}/g;

function namesInShell(script: string): CodeNames {
  const text = [script.replace(VARIABLE, "."), ...captured(script, SUBSTITUTED)].join("\n");
  const files = (text.match(/[\w./-]+/g) ?? []).flatMap(filesIn);
  const sourced = captured(text, SOURCED);
  const started = unique([...captured(text, STARTED), ...sourced, ...captured(text, PROGRAM)]);
  const modules = unique(captured(text, PYTHON_MODULE));
  return { ...NOTHING, paths: unique([...files, ...sourced]), started, modules };
}

/** Finds the files that a path names. Each part may be one. In a folder with a dot, the text after it counts. */
function filesIn(path: string): readonly string[] {
  const files: string[] = [];
  let folders: string[] = [];
  for (const part of path.split("/")) {
    const file = SHELL_FILE.exec(part)?.[0] ?? "";
    if (file) files.push([...folders, file].join("/"));
    const folder = /(?:\.{1,2}|(?<![\w-])[\w-]+)$/.exec(part.slice(file.length))?.[0];
    if (folder !== part) folders = [];
    if (folder) folders.push(folder);
  }
  return files;
}

/** Returns a package's entry files and scripts. For an installed package, also its dependencies. */
function namesInManifest(text: string, path: string): CodeNames {
  const manifest = Object(parseJson(text)) as Readonly<Record<string, unknown>>;
  const { main, bin, exports, imports, scripts } = manifest;
  const isInstalled = /[/\\]node_modules[/\\]/.test(path);
  const packages = isInstalled ? NEEDS.flatMap((key) => Object.keys(Object(manifest[key]) as object)) : [];
  const entries = JSON.stringify([main, bin, exports, imports]).match(/"[^"*{}:,[\]]+"(?=[,}\]])/g) ?? [];
  const { paths, started } = namesInShell(Object.values(Object(scripts) as object).join("\n"));
  return {
    ...NOTHING,
    paths: unique([...entries.map((file) => file.slice(1, -1)), ...paths]),
    started,
    packages: unique(packages),
  };
}

const NEEDS = ["dependencies", "optionalDependencies", "peerDependencies"];

/** Returns the last group of each match. */
function captured(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match.at(-1) ?? "");
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}
