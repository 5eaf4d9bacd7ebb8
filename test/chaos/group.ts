import { join } from "node:path";
import { checkCourse } from "./checks.ts";
import { beginCourse, type Course } from "./course.ts";
import { type Dice, dice } from "./dice.ts";
import { flowOf } from "./flows.ts";
import type { Grounds } from "./grounds.ts";
import { type Ended, type Life, live, type Task } from "./life.ts";
import { count, type Tally } from "./tally.ts";
import { MOMENTS, openWorld, type World } from "./world.ts";

/** Runs that are driven side by side by one process after another, each of which is killed. */

export interface Group {
  readonly seed: number;
  /** How many runs a process has. */
  readonly together: number;
  /** After so many deaths nobody kills any more. */
  readonly mostDeaths: number;
}

export async function runGroup(grounds: Grounds, { seed, together, mostDeaths }: Group, tally: Tally): Promise<void> {
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
    let deaths = 0;
    while (deaths < mostDeaths && (await liveAndDie({ grounds, world, wild, chance, size, tally }))) deaths += 1;
    await driveCalmly(grounds, wild);
    await checkAll({ grounds, world, calm, wild, tally, seed });
  } finally {
    await world.close();
  }
}

/** Life after life, none of which is killed. */
async function driveCalmly(grounds: Grounds, courses: readonly Course[]): Promise<void> {
  for (let lives = 0; lives < 60; lives++) {
    const tasks = tasksOf(courses);
    if (tasks.length === 0) return;
    takeAll(courses, await live(grounds, { tasks }).ended);
  }
  for (const course of courses) if (course.next()) course.problems.push("it does not come to an end");
}

function tasksOf(courses: readonly Course[]): readonly Task[] {
  return courses.flatMap((course) => (course.problems.length > 0 ? [] : (course.next() ?? [])));
}

function takeAll(courses: readonly Course[], ended: Ended): void {
  for (const done of ended.done) courses.find(({ id }) => id === done.id)?.take(done);
  if (ended.signal === null && ended.code !== 0) throw new Error(`the driver failed: ${ended.said}`);
}

interface Wild {
  readonly grounds: Grounds;
  readonly world: World;
  readonly wild: readonly Course[];
  readonly chance: Dice;
  /** How many requests a calm drive of them all takes. */
  readonly size: number;
  readonly tally: Tally;
}

/** One process, killed somewhere; false once no run is left. */
async function liveAndDie({ grounds, world, wild, chance, size, tally }: Wild): Promise<boolean> {
  const tasks = tasksOf(wild);
  if (tasks.length === 0) return false;
  const nth = 1 + chance.below(Math.max(4, Math.ceil(size / 12)));
  const moment = chance.pick(MOMENTS);
  const isFall = chance.percent(40);
  const life: Omit<Life, "program"> = { tasks, ...(isFall ? { fall: { nth: nth * 2, moment } } : {}) };
  const living = live(grounds, life);
  let struck: string | undefined;
  const strike = async (at: string) => {
    struck = at;
    await living.kill();
    return "killed" as const;
  };
  world.plan(isFall ? undefined : { nth, moment, strike });
  const ended = await living.ended;
  world.plan(undefined);
  takeAll(wild, ended);
  if (ended.signal !== "SIGKILL") return true;
  tally.deaths += 1;
  count(tally.struck, struck ?? ended.said.trim().split("\n").at(-1) ?? "");
  const over = new Set(ended.done.map(({ id }) => id));
  for (const { id } of tasks) {
    const course = wild.find((each) => each.id === id);
    if (!course || over.has(id)) continue;
    tally.kills += 1;
    count(tally.positions, course.look());
  }
  return true;
}

interface Checked extends Omit<Wild, "chance" | "size"> {
  readonly calm: readonly Course[];
  readonly seed: number;
}

const LOOKS = [
  ["runs", "show", "r", "--json"],
  ["runs", "verify", "r", "--json"],
  ["replay", "r", "--json"],
];

async function checkAll({ grounds, world, calm, wild, tally, seed }: Checked): Promise<void> {
  const both = [...calm, ...wild];
  const answers: Ended[] = [];
  for (const argv of LOOKS) answers.push(await live(grounds, { tasks: both.map((one) => one.command(argv)) }).ended);
  const [shown, verified, replayed] = answers;
  if (!shown || !verified || !replayed) return;
  for (const [index, course] of wild.entries()) {
    const twin = calm[index];
    if (!twin) continue;
    const told = (ended: Ended, { id }: Course) => ended.done.find((done) => done.id === id);
    const looked = {
      calm: told(shown, twin),
      shown: told(shown, course),
      verified: told(verified, course),
      replayed: told(replayed, course),
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
