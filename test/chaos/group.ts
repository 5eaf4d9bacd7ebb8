import { join } from "node:path";
import { checkCourse } from "./checks.ts";
import { beginCourse, type Course } from "./course.ts";
import { dice } from "./dice.ts";
import { disturb } from "./disturbances.ts";
import { flowOf } from "./flows.ts";
import type { Grounds } from "./grounds.ts";
import { live } from "./life.ts";
import { count, type Tally } from "./tally.ts";
import { openWorld, type World } from "./world.ts";

/** Runs that one process after another drives side by side, each of which is killed. */

export interface Group {
  readonly seed: number;
  /** How many runs a process has. */
  readonly together: number;
  /** Number of processes after which the disturbances end. */
  readonly mostLives: number;
}

export async function runGroup(grounds: Grounds, { seed, together, mostLives }: Group, tally: Tally): Promise<void> {
  const chance = dice(seed);
  const world = await openWorld();
  const folder = grounds.folderOf(seed);
  const flows = Array.from({ length: together }, () => flowOf(chance.below(2 ** 31)));
  const courseOf = (kind: string) => (flow: ReturnType<typeof flowOf>, index: number) => {
    const place = { flow, folder: join(folder, kind, String(index)), world, home: grounds.home };
    return beginCourse(`${kind}-${index}`, place);
  };
  const [calm, wild] = [flows.map(courseOf("calm")), flows.map(courseOf("wild"))];
  try {
    await driveCalmly(grounds, calm);
    const size = world.requests;
    const scene = { grounds, world, courses: wild, chance, size, tally };
    for (let lives = 0; lives < mostLives && (await disturb(scene)); ) lives += 1;
    await driveCalmly(grounds, wild);
    await checkAll({ grounds, world, calm, wild, tally, seed });
  } finally {
    await world.close();
  }
}

/** One process after another, without kills. */
async function driveCalmly(grounds: Grounds, courses: readonly Course[]): Promise<void> {
  for (let lives = 0; lives < 60; lives++) {
    const tasks = courses.flatMap((course) => (course.problems.length > 0 ? [] : (course.next() ?? [])));
    if (tasks.length === 0) return;
    const ended = await live(grounds, { tasks }).ended;
    for (const done of ended.done) courses.find(({ id }) => id === done.id)?.take(done);
    if (ended.code !== 0) throw new Error(`the driver failed: ${ended.said}`);
  }
  for (const course of courses) if (course.next()) course.problems.push("it does not end");
}

interface Checked {
  readonly grounds: Grounds;
  readonly world: World;
  readonly calm: readonly Course[];
  readonly wild: readonly Course[];
  readonly tally: Tally;
  readonly seed: number;
}

const LOOKS = { shown: ["runs", "show"], verified: ["runs", "verify"], replayed: ["replay"] } as const;

async function checkAll({ grounds, world, calm, wild, tally, seed }: Checked): Promise<void> {
  const looks = [...calm, ...wild].flatMap((course) =>
    Object.entries(LOOKS).map(([name, words]) => {
      const task = course.command([...words, "r", "--json"]);
      return { ...task, id: `${name} ${course.id}` };
    }),
  );
  const { done } = await live(grounds, { tasks: looks }).ended;
  const told = (name: keyof typeof LOOKS, { id }: Course) => done.find((one) => one.id === `${name} ${id}`);
  for (const [index, course] of wild.entries()) {
    const twin = calm[index];
    if (!twin) continue;
    const looked = {
      calm: told("shown", twin),
      shown: told("shown", course),
      verified: told("verified", course),
      replayed: told("replayed", course),
    };
    tally.doubts += checkCourse({
      course,
      twin,
      ledger: world.ledger(course.id),
      calmly: world.ledger(twin.id),
      looked,
    });
    tally.runs += 1;
    for (const part of course.flow.parts) count(tally.parts, part);
    for (const problem of [...twin.problems.map((text) => `calm: ${text}`), ...course.problems]) {
      tally.failures.push({ seed, problem: `flow ${course.flow.seed}: ${problem}` });
    }
  }
}
