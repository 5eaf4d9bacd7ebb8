import prerelease from "semver/functions/prerelease.js";
import rcompare from "semver/functions/rcompare.js";
import satisfies from "semver/functions/satisfies.js";
import valid from "semver/functions/valid.js";

/** Part of a skill that is needed to choose a version. */
export interface Versioned {
  /** Priority of the level. All skills of one level share it. */
  readonly priority: number;
  readonly loaded: { readonly skill: { readonly version?: string } };
}

/**
 * Chooses among the skills of one id, highest level first. The highest level with a version in the range wins, with its
 * highest version. Without a range, pre-releases count only if the level has nothing else. The winner shadows lower
 * levels, and skills of its level without a distinct version.
 */
export function chooseVersion<Layer extends Versioned>(layers: readonly Layer[], range?: string) {
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

/** Returns skills that have the same level and version as an earlier one, so that no reference can select them. */
export function repeatedVersions<Layer extends Versioned>(layers: readonly Layer[]): [winner: Layer, loser: Layer][] {
  return layers.flatMap((layer, index): [Layer, Layer][] => {
    const isSame = (other: Layer) => other.priority === layer.priority && versionOf(other) === versionOf(layer);
    const first = layers.slice(0, index).find(isSame);
    return first ? [[first, layer]] : [];
  });
}

/** Checks a version against a range. An invalid version or range never matches. */
export function fitsRange(version: string | undefined, range: string): boolean {
  return version !== undefined && satisfies(version, range);
}

export function listVersions(layers: readonly Versioned[]): readonly string[] {
  return [...new Set(layers.flatMap((layer) => versionOf(layer) ?? []))].sort(rcompare);
}

function versionOf({ loaded }: Versioned): string | undefined {
  const { version } = loaded.skill;
  return version === undefined ? undefined : (valid(version) ?? undefined);
}

/** Orders stable versions first, then pre-releases, then skills without a version. */
function byVersion(a: Versioned, b: Versioned): number {
  const [left, right] = [versionOf(a), versionOf(b)];
  if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
  return Number(prerelease(left) !== null) - Number(prerelease(right) !== null) || rcompare(left, right);
}
