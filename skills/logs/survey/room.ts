/** Maximum length of a survey's JSON, in characters. */
const ROOM = 12_000;
/** Room for the names of the members and what was left out. */
const FRAME = 300;

type Sections<Name extends string> = Readonly<Record<Name, readonly object[]>>;

/**
 * Shortens lists so that their JSON fits into one result. Every list gets an equal share, and what short lists leave
 * over goes to the others. `left_out` counts the missing entries, with those that the caller left out before.
 */
export function fitSections<Name extends string>(
  sections: Sections<Name>,
  before: Readonly<Partial<Record<Name, number>>>,
): Sections<Name> & { readonly left_out: Readonly<Record<string, number>> } {
  const names = Object.keys(sections) as Name[];
  const sizes = new Map(names.map((name) => [name, lengthOf(sections[name])]));
  const bySize = [...names].sort((a, b) => (sizes.get(a) ?? 0) - (sizes.get(b) ?? 0));
  const kept = new Map<Name, readonly object[]>();
  let room = ROOM - FRAME;
  for (const [index, name] of bySize.entries()) {
    const part = beginning(sections[name], Math.floor(room / (bySize.length - index)));
    kept.set(name, part);
    room -= lengthOf(part);
  }
  const missing = names.map((name) => {
    return [name, sections[name].length - (kept.get(name)?.length ?? 0) + (before[name] ?? 0)] as const;
  });
  return {
    ...(Object.fromEntries(names.map((name) => [name, kept.get(name) ?? []])) as Sections<Name>),
    left_out: Object.fromEntries(missing.filter(([, count]) => count > 0)),
  };
}

function beginning(items: readonly object[], room: number): readonly object[] {
  let used = 0;
  const stop = items.findIndex((item) => {
    used += JSON.stringify(item).length + 1;
    return used > room;
  });
  return stop < 0 ? items : items.slice(0, stop);
}

function lengthOf(items: readonly object[]): number {
  return items.reduce<number>((sum, item) => sum + JSON.stringify(item).length + 1, 0);
}
