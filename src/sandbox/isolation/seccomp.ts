import { existsSync } from "node:fs";
import { arch } from "node:os";
import { SkillflowError } from "../../core/base/errors.ts";

/** What the filter needs to know of a processor: how the kernel names it, and its numbers of system calls. */
export interface Machine {
  readonly audit: number;
  readonly socket: number;
  readonly socketpair: number;
  readonly prctl: number;
  readonly keyctl: number;
  readonly fallocate: number;
  /** The first number of a second set of calls, if there is one. */
  readonly second?: number;
  readonly refused: readonly number[];
  /** Give memory that no process has mapped, so that nobody is seen to hold it. */
  readonly unheld: readonly number[];
}

/**
 * In both: ptrace, process_vm_readv and _writev, add_key, request_key and keyctl, perf_event_open, bpf, userfaultfd,
 * open_by_handle_at, init_module, finit_module and delete_module, kexec_load and kexec_file_load, io_uring_setup,
 * _enter and _register (which opens sockets past any filter). Unheld are memfd_create, memfd_secret, shmget and msgget.
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
 * IPv4, IPv6 and netlink: those that belong to the network namespace. Others, as to a virtual machine's host, do not. Unix
 * sockets of the host stay reachable through every mounted folder, and a filter cannot read the path of a `connect`.
 */
const FAMILIES = [2, 10, 16];

/** Pairs of Unix sockets that are connected for good. A pair of datagram sockets could be connected or sent elsewhere. */
const UNIX = 1;
const STREAM = 1;
const SEQUENCED = 5;
/** Separates the type of a socket from its flags. */
const TYPE_MASK = 0xf;

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const refuse = (errno: number) => 0x00050000 | errno;
const EPERM = 1;
const ENOSYS = 38;
const EOPNOTSUPP = 95;
const EAFNOSUPPORT = 97;

/** Offsets in what the kernel shows to a filter. */
const NUMBER = 0;
const AUDIT = 4;
const FIRST_ARGUMENT = 16;
const SECOND_ARGUMENT = 24;

/**
 * A filter of system calls, as the kernel reads it: refuses those that no tool needs and that namespaces do not contain.
 * Undefined for processors whose numbers we do not know.
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
    // As on a kernel without them, where programs do with files.
    ...unheld.flatMap((number) => [skip(number, 0, 1), answer(refuse(ENOSYS))]),
    // Takes room on the disk that nobody counts as written; programs then write.
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

/** Loads a filter and becomes what follows its arguments, with a session keyring of its own where the kernel gives one. */
export function filterLoader(filter: Buffer, machine = MACHINES[arch()]): readonly string[] {
  const loader = LOADERS.find(([program]) => existsSync(program));
  if (!machine || !loader) {
    throw new SkillflowError("sandbox.failed", "nothing here can load a filter of system calls: perl and python3 can", {
      hint: "install bubblewrap (apt-get install bubblewrap), perl or python3",
    });
  }
  return [...loader, `${machine.keyctl}`, `${machine.prctl}`, filter.toString("hex")];
}

/** By tools that nearly every Linux has: KEYCTL_JOIN_SESSION_KEYRING, then PR_SET_SECCOMP with a program of the kernel's form. */
const LOADERS = [
  [
    "/usr/bin/perl",
    "-e",
    `my ($keyctl, $prctl, $code) = splice @ARGV, 0, 3;
    my $filter = pack "H*", $code;
    my $program = pack "Sx6P", length($filter) / 8, $filter;
    syscall($keyctl + 0, 1, 0, 0, 0);
    syscall($prctl + 0, 22, 2, $program) == 0 or die "no filter of system calls: $!\n";
    exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!\n";`,
    "--",
  ],
  [
    "/usr/bin/python3",
    "-I",
    "-c",
    `import ctypes, os, struct, sys
keyctl, prctl, code, *argv = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
data = bytes.fromhex(code)
held = ctypes.create_string_buffer(data, len(data))
program = ctypes.create_string_buffer(struct.pack("Hxxxxxx" + "P", len(data) // 8, ctypes.addressof(held)))
libc.syscall(int(keyctl), 1, None, 0, 0)
if libc.syscall(int(prctl), 22, 2, program): sys.exit("no filter of system calls: " + os.strerror(ctypes.get_errno()))
os.execv(argv[0], argv)`,
  ],
] as const;

const load = (offset: number) => instruction(0x20, 0, 0, offset);
const answer = (value: number) => instruction(0x06, 0, 0, value);

/** Skips as many instructions: the first number when the value is loaded, the second when another is. */
const skip = (value: number, same: number, other: number) => instruction(0x15, same, other, value);

function instruction(code: number, same: number, other: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(same, 2);
  bytes.writeUInt8(other, 3);
  bytes.writeUInt32LE(value >>> 0, 4);
  return bytes;
}
