import { existsSync } from "node:fs";
import { arch } from "node:os";
import { SkillflowError } from "../../core/base/errors.ts";
import loadByPerl from "../scripts/load-filter.pl?raw" with { type: "text" };
import loadByPython from "../scripts/load-filter.py?raw" with { type: "text" };

/** Constants of a processor: its audit number and the numbers of its system calls. */
export interface Machine {
  readonly audit: number;
  readonly socket: number;
  readonly socketpair: number;
  readonly prctl: number;
  readonly keyctl: number;
  readonly fallocate: number;
  /** First number of a second set of calls, if there is one. */
  readonly second?: number;
  readonly refused: readonly number[];
  /** Calls that allocate memory that is not mapped by any process and so is not counted. */
  readonly unheld: readonly number[];
}

/**
 * Numbers per processor. `refused`: ptrace, process_vm_readv and _writev, add_key, request_key, keyctl,
 * perf_event_open, bpf, userfaultfd, open_by_handle_at, init_module, finit_module, delete_module, kexec_load and
 * _file_load, and io_uring, which opens sockets past any filter. `unheld`: memfd_create, memfd_secret, shmget, msgget.
 */
export const MACHINES: Readonly<Record<string, Machine>> = {
  x64: {
    audit: 0xc000003e,
    socket: 41,
    socketpair: 53,
    prctl: 157,
    keyctl: 250,
    fallocate: 285,
    second: 0x40000000,
    refused: [101, 310, 311, 248, 249, 250, 298, 321, 323, 304, 175, 313, 176, 246, 320, 425, 426, 427],
    unheld: [319, 447, 29, 68],
  },
  arm64: {
    audit: 0xc00000b7,
    socket: 198,
    socketpair: 199,
    prctl: 167,
    keyctl: 219,
    fallocate: 47,
    refused: [117, 270, 271, 217, 218, 219, 241, 280, 282, 265, 105, 273, 106, 104, 294, 425, 426, 427],
    unheld: [279, 447, 194, 186],
  },
};

/**
 * IPv4, IPv6 and netlink: the families that a network namespace isolates. Unix sockets are excluded: the host's stay
 * reachable through mounted folders, and a filter cannot read the path of a `connect`.
 */
const FAMILIES = [2, 10, 16];

/** Connected pairs of Unix sockets are allowed. A datagram pair is not, because it could send elsewhere. */
const UNIX = 1;
const STREAM = 1;
const SEQUENCED = 5;
/** Mask that separates a socket's type from its flags. */
const TYPE_MASK = 0xf;

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const refuse = (errno: number) => 0x00050000 | errno;
const EPERM = 1;
const ENOSYS = 38;
const EOPNOTSUPP = 95;
const EAFNOSUPPORT = 97;

/** Offsets in the data that the kernel passes to a filter. */
const NUMBER = 0;
const AUDIT = 4;
const FIRST_ARGUMENT = 16;
const SECOND_ARGUMENT = 24;

/**
 * Builds a filter that refuses system calls that tools do not need and namespaces do not contain. Returns undefined for
 * processors whose call numbers are unknown.
 */
export function seccompFilter(machine = MACHINES[arch()]): Buffer | undefined {
  if (!machine) return undefined;
  const { audit, socket, socketpair, second, refused, unheld, fallocate } = machine;
  return Buffer.concat([
    load(AUDIT),
    skip(audit, 1, 0),
    answer(KILL), // a program for another processor, whose calls have other numbers
    load(NUMBER),
    ...(second === undefined ? [] : [instruction(0x35, 0, 1, second), answer(refuse(ENOSYS))]),
    ...refused.flatMap((number) => [skip(number, 0, 1), answer(refuse(EPERM))]),
    // ENOSYS, as on a kernel without these calls, makes programs fall back to files.
    ...unheld.flatMap((number) => [skip(number, 0, 1), answer(refuse(ENOSYS))]),
    // It takes disk space that is not counted as written. Programs then write instead.
    ...[skip(fallocate, 0, 1), answer(refuse(EOPNOTSUPP))],
    skip(socketpair, 0, 8),
    ...[load(FIRST_ARGUMENT), skip(UNIX, 0, 4)],
    ...[load(SECOND_ARGUMENT), instruction(0x54, 0, 0, TYPE_MASK), skip(STREAM, 2, 0), skip(SEQUENCED, 1, 0)],
    ...[answer(refuse(EAFNOSUPPORT)), answer(ALLOW)],
    skip(socket, 1, 0),
    answer(ALLOW),
    load(FIRST_ARGUMENT),
    ...FAMILIES.flatMap((family) => [skip(family, 0, 1), answer(ALLOW)]),
    answer(refuse(EAFNOSUPPORT)),
  ]);
}

/** Returns a command that loads the filter, joins a new session keyring if it can, and runs its arguments. */
export function filterLoader(filter: Buffer, machine = MACHINES[arch()]): readonly string[] {
  const loader = LOADERS.find(([program]) => existsSync(program));
  if (!machine || !loader) {
    throw new SkillflowError("sandbox.failed", "cannot load a system call filter without perl or python3", {
      hint: "install bubblewrap (apt-get install bubblewrap), perl or python3",
    });
  }
  return [...loader, `${machine.keyctl}`, `${machine.prctl}`, filter.toString("hex")];
}

/** Loaders in tools that most Linux systems have. Each calls KEYCTL_JOIN_SESSION_KEYRING, then PR_SET_SECCOMP. */
const LOADERS = [
  ["/usr/bin/perl", "-e", loadByPerl, "--"],
  ["/usr/bin/python3", "-I", "-c", loadByPython],
] as const;

const load = (offset: number) => instruction(0x20, 0, 0, offset);
const answer = (value: number) => instruction(0x06, 0, 0, value);

/** Skips `same` instructions if the loaded value matches, otherwise `other` instructions. */
const skip = (value: number, same: number, other: number) => instruction(0x15, same, other, value);

function instruction(code: number, same: number, other: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(same, 2);
  bytes.writeUInt8(other, 3);
  bytes.writeUInt32LE(value >>> 0, 4);
  return bytes;
}
