import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Diagnostic } from "../../core/base/diagnostic.ts";
import { lazy } from "../../core/base/values.ts";
import { refuseAmbiguous } from "../../core/document/config.ts";
import { boundTo, uncontained } from "../../core/skill/formats/tool-reach.ts";
import { describeTools, type Skill } from "../../core/skill/skill.ts";
import {
  type KnownSkills,
  parseRange,
  parseRemote,
  type RemoteReference,
  type SkillReference,
} from "../../core/skill/skill-reference.ts";
import type { BoundTo } from "../folder/format.ts";
import type { LoaderHost } from "../folder/host.ts";
import { refuseSameTools } from "./derived/instance.ts";
import { remoteEntry } from "./derived/remote.ts";
import { askForLack, calledTool, joinLayers } from "./entry.ts";
import { ceilingOf, createInvoke, holdToEffect } from "./invoke.ts";
import { findLayers, type Layer, openBuiltins, partsOf, refusedVariables, shadowings } from "./layers.ts";
import type { InlineSkills, OwnedInline, SkillEntry, SkillSet, SkillSetOptions } from "./skill-set.ts";
import { chooseVersion, fitsRange, listVersions } from "./versions.ts";
import { describeWithheld, heldOf, isTrusted } from "./withheld.ts";

export function knownSkills({ ids, versions, serves }: SkillSet): KnownSkills {
  const has = (reference: string) => {
    const remote = remoteOf(ids, reference);
    if (remote) return serves(remote.server);
    const { id, range } = referenceOf(ids, reference);
    return ids.has(id) && (range === undefined || versions(id).some((version) => fitsRange(version, range)));
  };
  return { has, [Symbol.iterator]: () => ids[Symbol.iterator]() };
}

/** Parses a reference. An existing id may itself contain an `@`, such as that of an instance. */
function referenceOf(ids: ReadonlySet<string>, reference: string): SkillReference {
  return ids.has(reference) ? { id: reference, range: undefined } : parseRange(reference);
}

/** Splits the reference of a remote skill. An existing id may itself contain a slash. */
function remoteOf(ids: ReadonlySet<string>, reference: string): RemoteReference | undefined {
  return ids.has(reference) ? undefined : parseRemote(reference);
}

/** Opens the skills of all levels. If several have the same id, the highest level wins. */
export function openSkillSet(said: SkillSetOptions): SkillSet {
  const options = withGiven(said);
  const host = hostOf(options, (call, context) => invoke(call, context));
  const found = findAll(options, host);
  const { ids, layers, hidden, builtins, diagnostics } = found;
  const unmistaken = lazy(() => checkChoices(found, (id) => findEntry(found, id, {})));
  const set: SkillSet = {
    async lint(paths) {
      const { foldersAt, foldersOf, lintSkills } = await import("./lint.ts");
      const own = options.levels.filter(({ kind }) => kind !== "builtin");
      const { folders, skipped } = paths ? { folders: paths.flatMap(foldersAt), skipped: [] } : foldersOf(own);
      const linted = lintSkills(folders, { host, known: ids, unbound: await findUnbound(found) });
      return [...linted, ...skipped];
    },
    ids,
    folders: [...layers.values()].flatMap((found) => found.map(({ path }) => path)),
    declares: (variable) => declarationOf(found, variable),
    keys() {
      const custom = [...layers.values()].flat().map(({ loaded }) => loaded.skill);
      return [...(options.given ?? []), ...custom].flatMap(({ config }) => Object.keys(config));
    },
    host,
    diagnostics: [...diagnostics, ...refusedVariables(options), ...shadowings(layers, builtins), ...hiddenBy(hidden)],
    async find(reference, inline) {
      await unmistaken();
      const entry = await findEntry(found, reference, { inline });
      return entry && askForLack(entry, { workDir: host.cwd, texts: [] });
    },
    withheld: (reference, inline) => withheldOf(found, reference, inline),
    about: (reference, inline) => findingsAbout(found, referenceOf(ids, reference).id, inline),
    owner: (reference) => remoteOf(ids, reference)?.server ?? reference,
    serves: (id) => options.servers.has(id) || layers.get(id)?.some(({ loaded }) => loaded.skill.mcp) === true,
    versions: (id) => listVersions(layers.get(id) ?? []),
    unconnected() {
      const { callMcp: _, askAgent: __, ...rest } = options.host;
      return openSkillSet({ ...options, host: rest });
    },
  };
  const invoke = createInvoke(set, host);
  return set;
}

interface Found {
  readonly options: SkillSetOptions;
  readonly ids: ReadonlySet<string>;
  readonly layers: ReadonlyMap<string, readonly Layer[]>;
  /** Skills that a skill of the embedding program shadows. */
  readonly hidden: ReadonlyMap<string, readonly Layer[]>;
  readonly builtins: ReturnType<typeof openBuiltins>;
  readonly diagnostics: readonly Diagnostic[];
}

function findAll(options: SkillSetOptions, host: LoaderHost): Found {
  const { layers: found, diagnostics } = findLayers(options.levels, host);
  const given = new Set((options.given ?? []).map(({ id }) => id));
  const layers = new Map([...found].filter(([id]) => !given.has(id)));
  const hidden = new Map([...found].filter(([id]) => given.has(id)));
  // Computes digests now: for skills trusted by id alone, they must precede any code that could change the files.
  for (const id of options.trust.ids) for (const { contents } of layers.get(id) ?? []) contents.digest();
  const builtins = openBuiltins(options);
  const known = new Set([...builtins.ids, ...layers.keys(), ...options.servers.keys()]);
  const instances = [...(options.instances ?? [])].filter(([, { skill }]) => known.has(skill));
  const ids = new Set([...known, ...instances.map(([id]) => id)]);
  return { options, ids, layers, hidden, builtins, diagnostics };
}

function hostOf({ host, env }: SkillSetOptions, invoke: LoaderHost["invoke"]): LoaderHost {
  const { callMcp } = host;
  return {
    ...host,
    env,
    invoke,
    ...(callMcp ? { callMcp: (call, context) => callMcp({ ...call, ...ceilingOf(call, context) }, context) } : {}),
  };
}

/** Finds a skill. `callers` are the contracts that lead to it, to stop at cycles. */
async function findEntry(
  found: Found,
  reference: string,
  { inline, callers = [] }: { readonly inline?: InlineSkills | undefined; readonly callers?: readonly string[] },
): Promise<SkillEntry | undefined> {
  const { options, ids, layers, builtins } = found;
  const instance = options.instances?.get(reference);
  const own = inlineOf(reference, inline) ?? (instance && inlineOf(instance.skill, inline));
  const remote = own ? undefined : remoteOf(ids, reference);
  if (remote) {
    const server = await findEntry(found, remote.server, { inline, callers });
    const isServer = server?.skill.mcp || server?.holdsServer || server?.unavailable?.kind === "policy";
    return server && isServer ? remoteEntry(server, remote.name) : undefined;
  }
  const { id, range } = own ? { id: reference, range: undefined } : referenceOf(ids, reference);
  const base = instance?.skill ?? id;
  const { winner, shadowed } = chooseVersion(layers.get(base) ?? [], range);
  const builtin = await builtins.load(base);
  if (range !== undefined && !winner && !fitsRange(builtin?.version, range)) return undefined;
  const entry = await joinLayers(id, {
    inline: own,
    custom: winner ? [winner, ...shadowed] : [],
    builtin,
    kept: builtins.kept(base),
    server: options.servers.get(base),
    instance,
    options,
  });
  if (entry?.format !== "contract") return entry;
  const { boundTo: binding } = winner?.loaded ?? {};
  if (!binding || builtin || callers.includes(id)) return withCeiling(entry);
  const target = await findEntry(found, binding.skill, { callers: [...callers, id] });
  const reason = faultOfTarget(id, binding, target);
  const unavailable = entry.unavailable ?? (reason === undefined ? undefined : { kind: "invalid" as const, reason });
  return withCeiling(withTarget({ ...entry, unavailable }, binding.tool, target));
}

/** Explains why a contract's target cannot exist. Returns undefined if it exists, or if its skill has unknown tools. */
function faultOfTarget(id: string, { skill, tool }: BoundTo, target: SkillEntry | undefined): string | undefined {
  if (skill === id) return "its binding.yml names its own tool";
  if (!target) return `its binding.yml names the skill "${skill}", which does not exist`;
  const tools = [...target.skill.tools, ...target.heldTools];
  const isOpen = target.isUnopened || target.skill.mcp || (target.unavailable && tools.length === 0);
  const isFound = tool === undefined ? tools.length > 0 : tools.some(({ name }) => name === tool);
  return isOpen || isFound ? undefined : `its binding.yml names "${tool ?? ""}", which is not a tool of ${skill}`;
}

/** Returns the reasons why targets of contracts cannot exist, by the contracts' paths. Imports no module of a project. */
async function findUnbound(found: Found): Promise<ReadonlyMap<string, string>> {
  const importsCode = (reference: string) => {
    const { id } = referenceOf(found.ids, reference);
    const layers = found.layers.get(found.options.instances?.get(id)?.skill ?? id);
    return layers?.some(({ loaded }) => loaded.importCode) === true;
  };
  const bound = [...found.layers].flatMap(([id, [layer]]) => {
    const { boundTo: binding } = layer?.loaded ?? {};
    return layer && binding && !importsCode(binding.skill) ? [{ id, path: layer.path, binding }] : [];
  });
  const faults = bound.map(async ({ id, path, binding }) => {
    // The target must not look for its own target: it counts as a caller.
    const target = await findEntry(found, binding.skill, { callers: [id, binding.skill] });
    return [path, faultOfTarget(id, binding, target)] as const;
  });
  return new Map((await Promise.all(faults)).flatMap(([path, fault]) => (fault === undefined ? [] : [[path, fault]])));
}

function declarationOf({ options, layers }: Found, variable: string) {
  const vouched = [...layers].flatMap(([id, found]) =>
    found
      .filter(({ loaded }) => fieldsFor(loaded.skill, variable).length > 0)
      .flatMap((layer) => (isTrusted(id, layer, options.trust) ? [layer.loaded.skill] : [])),
  );
  const declared = [...(options.given ?? []), ...vouched].flatMap((skill) => fieldsFor(skill, variable));
  if (declared.length === 0) return undefined;
  return declared.some(({ secret }) => secret === false) ? "readable" : "secret";
}

function fieldsFor({ config }: Pick<Skill, "config">, variable: string) {
  return Object.values(config).filter(({ env }) => env === variable);
}

function withheldOf({ options, ids, layers, builtins }: Found, said: string, inline: InlineSkills | undefined) {
  const reference = remoteOf(ids, said)?.server ?? said;
  const { id, range } = referenceOf(ids, reference);
  const base = options.instances?.get(id)?.skill ?? id;
  const { winner } = chooseVersion(layers.get(base) ?? [], range);
  const parts = partsOf({
    inline: inlineOf(reference, inline),
    custom: winner ? [winner] : [],
    server: options.servers.get(base),
    options,
    hasBuiltin: builtins.ids.has(base),
  });
  return describeWithheld(id, heldOf(id, parts, options.trust), options.trust);
}

function findingsAbout({ ids, layers, hidden, builtins, diagnostics }: Found, id: string, inline?: InlineSkills) {
  const of = (all: Found["layers"]) => new Map([...all].filter(([other]) => other === id));
  const skips = diagnostics.filter(({ code, file }) => code === "SKILL_SKIPPED" && isAbout(id, file));
  return [...skips, ...inlineShadows(id, inline, ids), ...shadowings(of(layers), builtins), ...hiddenBy(of(hidden))];
}

/** Adds the skills of the embedding program as our own. They override servers and `disabled`. */
function withGiven(options: SkillSetOptions): SkillSetOptions {
  const { given = [], own, servers, disabled } = options;
  const ids = new Set(given.map(({ id }) => id));
  const contained = given.map((skill) => ({ ...skill, tools: skill.tools.map(uncontained) }));
  return {
    ...options,
    own: [
      ...own.filter(({ skill }) => !ids.has(skill.id)),
      ...contained.map((skill) => ({ skill, unavailable: undefined })),
    ],
    servers: new Map([...servers].filter(([id]) => !ids.has(id))),
    disabled: disabled.filter((id) => !ids.has(id)),
  };
}

function hiddenBy(layers: ReadonlyMap<string, readonly Layer[]>): Diagnostic[] {
  return [...layers].flatMap(([id, found]) =>
    found.map(({ path }) => {
      const message = `skill "${id}": the program's own skill shadows ${path}`;
      return { severity: "warning", code: "SKILL_SHADOWED", path: [], message, file: path };
    }),
  );
}

/**
 * Refuses a value for a key that several skills declare, because it may be meant for only one of them, and instances
 * whose tools have the same names.
 */
async function checkChoices(
  { options: { overrides, instances = new Map() }, ids }: Found,
  find: (id: string) => Promise<SkillEntry | undefined>,
): Promise<void> {
  const alike = new Set([...instances].flatMap(([id, { skill }]) => [skill, id]));
  refuseSameTools(await Promise.all([...alike].map(find)));
  if (overrides.size === 0) return;
  const entries = await Promise.all([...ids].map(find));
  const skills = entries.filter((entry) => entry !== undefined);
  const keys = skills.map(({ skill: { id }, fields }) => ({ id, keys: fields.map(({ key }) => key) }));
  refuseAmbiguous(overrides, keys);
}

function withTarget(entry: SkillEntry, name: string | undefined, target: SkillEntry | undefined): SkillEntry {
  const called = target && calledTool(target, name);
  const [told] = called ? describeTools(target.skill, [called]) : [];
  const tools = entry.skill.tools.map((own) => boundTo(own, told));
  return { ...entry, skill: { ...entry.skill, tools } };
}

/** Limits a contract's tools: the calls that they make may do no more than the contract itself. */
function withCeiling(entry: SkillEntry): SkillEntry {
  return { ...entry, skill: { ...entry.skill, tools: entry.skill.tools.map(holdToEffect) } };
}

/** Checks whether a file is or is in a folder with this name, or is a manifest with this id. */
function isAbout(id: string, file: string | undefined): boolean {
  if (file === undefined) return false;
  const isNamed = [file, dirname(file)].some((path) => basename(path) === id);
  return isNamed || manifestsAt(file).some((path) => saysId(path, id));
}

const MANIFEST = /^(?:SKILL\.md|skill\.toml|contract\.(?:ya?ml|json))$/;
const MOST_BYTES = 1024 * 1024;

function manifestsAt(path: string): string[] {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats?.isDirectory()) return stats?.isFile() && stats.size <= MOST_BYTES ? [path] : [];
  return readdirSync(path).flatMap((name) => (MANIFEST.test(name) ? manifestsAt(join(path, name)) : []));
}

function saysId(file: string, id: string): boolean {
  const lines = readFileSync(file, "utf8").matchAll(/^[ \t{]*["']?(?:id|name)["']?[ \t]*[:=](.+)/gm);
  return [...lines].some(([, value = ""]) => value.replace(/^[\s"']+|(?<![\s"',])[\s"',]+$/g, "") === id);
}

function inlineShadows(id: string, inline: InlineSkills | undefined, ids: ReadonlySet<string>): Diagnostic[] {
  if (!inlineOf(id, inline) || !ids.has(id)) return [];
  const message = `skill "${id}": the workflow's skill shadows the installed one, which keeps its tools`;
  return [{ severity: "warning", code: "SKILL_SHADOWED", path: ["skills", id], message }];
}

function inlineOf(id: string, inline: InlineSkills | undefined): OwnedInline | undefined {
  const { skills = {}, trusted = false, recorded = false } = inline ?? {};
  const own = Object.hasOwn(skills, id) ? skills[id] : undefined;
  return own && { ...own, trusted, recorded };
}
