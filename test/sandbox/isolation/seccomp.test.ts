import { expect, it } from "vitest";
import { MACHINES, type Machine, seccompFilter } from "../../../src/sandbox/isolation/seccomp.ts";

/** Runs a filter as the kernel does, for the few instructions that skillflow's filter uses. */
function judge(filter: Buffer, call: { audit: number; number: number; first?: number; second?: number }): string {
  const shown = new Map([
    [0, call.number],
    [4, call.audit],
    [16, call.first ?? 0],
    [24, call.second ?? 0],
  ]);
  let loaded = 0;
  for (let at = 0; at * 8 < filter.length; at++) {
    const code = filter.readUInt16LE(at * 8);
    const value = filter.readUInt32LE(at * 8 + 4);
    const skip = (is: boolean) => filter.readUInt8(at * 8 + (is ? 2 : 3));
    if (code === 0x06)
      return value === 0x7fff0000 ? "allow" : value === 0x80000000 ? "kill" : `errno ${value & 0xffff}`;
    if (code === 0x20) loaded = shown.get(value) ?? Number.NaN;
    else if (code === 0x54) loaded &= value;
    else at += skip(code === 0x35 ? loaded >= value : loaded === value);
  }
  return "fell off";
}

const machines = Object.entries(MACHINES);

it.each(machines)("allows ordinary calls on %s, and refuses those that it lists", (_name, machine: Machine) => {
  const filter = seccompFilter(machine) ?? Buffer.alloc(0);
  const { audit, refused, unheld, fallocate } = machine;
  const expectedOf = (number: number) => {
    if (refused.includes(number)) return "errno 1";
    if (unheld.includes(number)) return "errno 38";
    return number === fallocate ? "errno 95" : "allow";
  };
  for (let number = 0; number < 500; number++) {
    if (number === machine.socket || number === machine.socketpair) continue;
    expect([number, judge(filter, { audit, number })]).toEqual([number, expectedOf(number)]);
  }
});

it.each(machines)("opens sockets of the network namespace alone on %s", (_name, machine: Machine) => {
  const filter = seccompFilter(machine) ?? Buffer.alloc(0);
  const { audit, socket: number } = machine;
  const allowed = Array.from({ length: 50 }, (_, first) => first).filter(
    (first) => judge(filter, { audit, number, first }) === "allow",
  );
  expect(allowed).toEqual([2, 10, 16]);
  expect(judge(filter, { audit, number, first: 40 })).toBe("errno 97");
});

it.each(machines)("pairs Unix sockets that cannot be connected again on %s", (_name, machine: Machine) => {
  const filter = seccompFilter(machine) ?? Buffer.alloc(0);
  const { audit, socketpair: number } = machine;
  const flags = 0o2004000;
  for (let first = 0; first < 50; first++) {
    for (let kind = 0; kind < 16; kind++) {
      const expected = first === 1 && (kind === 1 || kind === 5) ? "allow" : "errno 97";
      expect(judge(filter, { audit, number, first, second: kind | flags })).toBe(expected);
    }
  }
});

it.each(machines)("refuses the calls of other processors on %s", (_name, machine: Machine) => {
  const filter = seccompFilter(machine) ?? Buffer.alloc(0);
  expect(judge(filter, { audit: 0x40000003, number: 1 })).toBe("kill");
  if (machine.second !== undefined)
    expect(judge(filter, { audit: machine.audit, number: machine.second + 1 })).toBe("errno 38");
});
