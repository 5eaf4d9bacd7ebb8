import prerelease from "semver/functions/prerelease.js";
import rcompare from "semver/functions/rcompare.js";
import satisfies from "semver/functions/satisfies.js";
import valid from "semver/functions/valid.js";

/** A skill as far as choosing among its versions goes. */
export interface Versioned {
  /** Of its level: equal for all that were found there. */
  readonly priority: number;
  readonly loaded: { readonly skill: { readonly version?: string } };
}

export interface Choice<Layer> {
  readonly winner: Layer | undefined;
  /** What the winner stands in front of: lower levels, and those of its own level that cannot be told from others. */
  readonly shadowed: readonly Layer[];
}

/**
 * Which of one id's skills is meant, highest level first: of the highest level that has a version in the range its
 * highest. Without a range a pre-release counts only where its level has nothing else.
 */
export function chooseVersion<Layer extends Versioned>(layers: readonly Layer[], range?: string): Choice<Layer> {
  const fitting = range === undefined ? layers : layers.filter((layer) => fitsRange(versionOf(layer), range));
  const top = fitting[0]?.priority;
  const [winner] = fitting.filter(({ priority }) => priority === top).sort(byVersion);
  const isShadowed = (layer: Layer) =>
    layer !== winner &&
    (layer.priority < (top ?? 0) ||
      versionOf(layer) === undefined ||
      versionOf(layer) === (winner && versionOf(winner)));
  return { winner, shadowed: winner ? layers.filter(isShadowed) : [] };
}

/** Those that share a level and a version with an earlier one, and so cannot be named. */
export function repeatedVersions<Layer extends Versioned>(layers: readonly Layer[]): [winner: Layer, loser: Layer][] {
  return layers.flatMap((layer, index): [Layer, Layer][] => {
    const isSame = (other: Layer) => other.priority === layer.priority && versionOf(other) === versionOf(layer);
    const first = layers.slice(0, index).find(isSame);
    return first ? [[first, layer]] : [];
  });
}

/** A version or range as an author wrote it; what is neither fits nothing. */
export function fitsRange(version: string | undefined, range: string): boolean {
  return version !== undefined && satisfies(version, range);
}

/** The versions that there are, newest first. */
export function listVersions(layers: readonly Versioned[]): readonly string[] {
  return [...new Set(layers.flatMap((layer) => versionOf(layer) ?? []))].sort(rcompare);
}

function versionOf({ loaded }: Versioned): string | undefined {
  const { version } = loaded.skill;
  return version === undefined ? undefined : (valid(version) ?? undefined);
}

/** Stable ones, pre-releases, what has no version; the first found of equals. */
function byVersion(a: Versioned, b: Versioned): number {
  const [left, right] = [versionOf(a), versionOf(b)];
  if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
  return Number(isPrerelease(left)) - Number(isPrerelease(right)) || rcompare(left, right);
}

function isPrerelease(version: string): boolean {
  return prerelease(version) !== null;
}
