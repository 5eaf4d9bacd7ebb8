import { existsSync } from "node:fs";
import type { Course } from "./course.ts";
import type { Dice } from "./dice.ts";
import type { Grounds } from "./grounds.ts";
import { type Ended, type Life, live, type Task, type Through } from "./life.ts";
import { count, type Tally } from "./tally.ts";
import { MOMENTS, type World } from "./world.ts";

/** One process that drives several runs, and a disturbance of it. */

export interface Scene {
  readonly grounds: Grounds;
  readonly world: World;
  readonly courses: readonly Course[];
  readonly chance: Dice;
  /** Number of requests if all runs are driven without disturbance. */
  readonly size: number;
  readonly tally: Tally;
}

/** Lets one process drive the remaining runs. Returns false if none remain. */
export async function disturb(scene: Scene): Promise<boolean> {
  const { chance, courses } = scene;
  const tasks = courses.flatMap((course) => (course.problems.length > 0 ? [] : (course.next() ?? [])));
  if (tasks.length === 0) return false;
  const befall = chance.pick(BEFALLS);
  // Two days ahead and back, several times while the process lives.
  const clock = chance.percent(20) ? { everyMs: 40, stepMs: 172_800_000 } : undefined;
  if (clock) count(scene.tally.struck, "the clock set ahead and back");
  const ended = await befall(scene, { tasks, ...(clock ? { clock } : {}) });
  scene.world.plan(undefined);
  for (const done of ended.done) courses.find(({ id }) => id === done.id)?.take(done);
  if (ended.signal === null && ended.code !== 0) throw new Error(`the driver failed: ${ended.said}`);
  if (ended.signal === "SIGKILL") mourn(scene, tasks, ended);
  return true;
}

type Living = Omit<Life, "program">;
type Befall = (scene: Scene, life: Living) => Promise<Ended>;

/** Kills it at its nth request to the world. */
async function killAtRequest(scene: Scene, life: Living): Promise<Ended> {
  const living = live(scene.grounds, life);
  planKill(scene, living);
  return living.ended;
}

function planKill({ world, chance, size, tally }: Scene, living: ReturnType<typeof live>): void {
  const strike = async (at: string) => {
    count(tally.struck, at);
    await living.kill();
    return "killed" as const;
  };
  world.plan({ nth: nthOf(chance, size), moment: chance.pick(MOMENTS), strike });
}

/** It kills itself at its nth file operation. */
async function fallAtFile({ grounds, chance, size, tally }: Scene, life: Living): Promise<Ended> {
  const fall = { nth: nthOf(chance, size), moment: chance.pick(MOMENTS) };
  const ended = await live(grounds, { ...life, fall }).ended;
  if (ended.signal === "SIGKILL") count(tally.struck, /^fell .*$/m.exec(ended.said)?.[0] ?? "fell");
  return ended;
}

/** No file may grow beyond a length: what a full disk looks like to a process. */
async function fillDisk(scene: Scene, life: Living): Promise<Ended> {
  const { grounds, courses, chance, tally } = scene;
  if (!existsSync("/usr/bin/prlimit")) return killAtRequest(scene, life);
  const through: Through = ["prlimit", `--fsize=${2000 + chance.below(40_000)}`];
  const living = live(grounds, life, through);
  planKill(scene, living);
  const ended = await living.ended;
  const full = ended.done.filter(({ code, stderr }) => code === 4 && stderr.includes("the disk is full"));
  for (const { id } of full) {
    courses.find((course) => course.id === id)?.look();
    count(tally.struck, "the disk full");
  }
  return { ...ended, done: ended.done.filter((done) => !full.includes(done)) };
}

/** Starts another process for the same runs, while the first runs them and waits for an answer. */
async function rival(scene: Scene, life: Living): Promise<Ended> {
  const { grounds, world, courses, chance, size, tally } = scene;
  const living = live(grounds, life);
  const strike = async () => {
    const isDriven = ({ id }: Task) => courses.some((course) => course.id === id && course.isLocked());
    const wanted = life.tasks.filter(isDriven).map((task) => ({ ...task, argv: ["resume", "r", "--json"] }));
    const { done } = await live(grounds, { tasks: wanted }).ended;
    for (const { id, code, stderr } of done) {
      const isRefused = code === 4 && stderr.includes("is being driven by process");
      // The process that has the run only applies its plan.
      const isLate = code === 2 && stderr.includes("has succeeded");
      const course = courses.find((each) => each.id === id);
      if (isRefused) count(tally.struck, "a second driver, refused");
      else if (course?.isLocked() && !isLate) course.problems.push(`a second driver ended with ${code}: ${stderr}`);
    }
    planKill(scene, living);
    return "alive" as const;
  };
  world.plan({ nth: nthOf(chance, size), moment: chance.pick(["before", "after"]), strike });
  return living.ended;
}

/** Each entry is as frequent as the number of times it is listed. */
const BEFALLS: readonly [Befall, ...Befall[]] = [
  killAtRequest,
  ...[killAtRequest, killAtRequest, killAtRequest, killAtRequest, killAtRequest],
  ...[fallAtFile, fallAtFile, fallAtFile, fallAtFile],
  ...[fillDisk, rival],
];

function nthOf(chance: Dice, size: number): number {
  return 1 + chance.below(Math.max(4, Math.ceil(size / 16)));
}

/** Notes which runs were interrupted, and checks their records. */
function mourn({ courses, tally }: Scene, tasks: readonly Task[], { done }: Ended): void {
  tally.deaths += 1;
  for (const { id } of tasks.filter((task) => !done.some((each) => each.id === task.id))) {
    tally.kills += 1;
    count(tally.positions, courses.find((course) => course.id === id)?.look() ?? "");
  }
}
