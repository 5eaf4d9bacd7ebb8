import { readableLog, reducedLog } from "../../src/core/skill/log-text.ts";
import type { Bench } from "../measure.ts";
import type { Row } from "../results.ts";

const MOST_BYTES = 16_000;

/** How much of a failed CI job's cause survives in 16 KB of its log. */
export const ciLogs: Bench = {
  name: "ci-logs",
  title: "Reduced CI logs",
  isCounted: true,
  how: `What \`github_get_job_log\` and \`gitlab_get_job_log\` show by default, next to what people usually give to a model: 16,000 bytes of a log of a failed
job. *Kept* is the share of the lines that name the cause, *none* the number of logs of which no such line is left. The 48 logs are generated: 16 kinds of
failure, each in three settings (the failure at the end, in front of a long cleanup, and among harmless lines that say "error" or "failed"), 40 to 900 KB.
Generated logs are cleaner than real ones, and their authors know the patterns: real logs are harder.`,
  async measure() {
    const logs = FAILURES.flatMap((failure, seed) => SETTINGS.map((setting) => setting(failure, seed + 1)));
    const rows = READERS.map(({ name, kind, read }): Row => {
      const shares = logs.map(({ text, cause }) => {
        const shown = read(text);
        // A character that was cut in two becomes three bytes.
        if (Buffer.byteLength(shown) > MOST_BYTES + 8)
          throw new Error(`${name} shows ${Buffer.byteLength(shown)} bytes`);
        return cause.filter((line) => shown.includes(line)).length / cause.length;
      });
      const kept = (100 * shares.reduce((sum, share) => sum + share, 0)) / shares.length;
      return { name, kind, cells: { kept: [kept], none: [shares.filter((share) => share === 0).length] } };
    });
    rows[0] = { ...(rows[0] as Row), promises: { kept: { least: 90 } } };
    return { columns: COLUMNS, rows, rounds: 1 };
  },
};

const COLUMNS = [
  { name: "kept", unit: "%", better: "more" },
  { name: "none", unit: "logs", better: "neither" },
] as const;

// ---- what is compared

const READERS: readonly { readonly name: string; readonly kind: Row["kind"]; read(log: string): string }[] = [
  { name: "skillflow, reduced log", kind: "ours", read: reduced },
  { name: "tail -c 16000", kind: "peer", read: (log) => lastBytes(log, MOST_BYTES) },
  {
    name: "head -c 8000 and tail -c 8000",
    kind: "peer",
    read: (log) => Buffer.from(log).toString("utf8", 0, MOST_BYTES / 2) + lastBytes(log, MOST_BYTES / 2),
  },
  { name: "grep of error and fail, first 16,000 bytes", kind: "peer", read: grepped },
];

function reduced(log: string): string {
  const lines = readableLog(log).split("\n");
  return reducedLog(lines, MOST_BYTES)
    .map((index) => lines[index])
    .join("\n");
}

function lastBytes(log: string, most: number): string {
  return Buffer.from(log).subarray(-most).toString("utf8");
}

function grepped(log: string): string {
  const hits = log.split("\n").filter((line) => /error|fail/i.test(line));
  return Buffer.from(hits.join("\n")).toString("utf8", 0, MOST_BYTES);
}

// ---- the logs

interface Failure {
  /** A line of ordinary progress; `n` counts, `r` is random. */
  readonly progress: (n: number, r: number) => string;
  /** Lines that the failed step prints. Those that name the cause start with "! ", which is removed. */
  readonly says: readonly string[];
  readonly exit: number;
}

interface Log {
  readonly text: string;
  readonly cause: readonly string[];
}

const test = (n: number, r: number) => `  ok ${n} - handles case ${r % 977} of the table (${r % 40} ms)`;
const compile = (n: number, r: number) =>
  `[${n}/2400] Building CXX object src/module_${r % 300}/CMakeFiles/unit_${n}.o`;
const fetched = (n: number, r: number) =>
  `npm http fetch GET 200 https://registry.example.com/package-${n} ${r % 900}ms (cache miss)`;
const layer = (n: number, r: number) => `#${n % 19} ${(r % 900) / 10} copying layer ${r.toString(16)} done`;

const FAILURES: readonly Failure[] = [
  {
    progress: compile,
    says: [
      "! src/pool.cpp:88:14: error: no member named 'release' in 'Connection'",
      "   88 |     held->release();",
      "! 1 error generated.",
    ],
    exit: 2,
  },
  {
    progress: test,
    says: [
      "! not ok 1204 - refunds a declined payment",
      "  ---",
      "! AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 409 !== 200",
      "    at test/refund.test.js:41:10",
    ],
    exit: 1,
  },
  {
    progress: test,
    says: [
      "Traceback (most recent call last):",
      '  File "/builds/shop/importer.py", line 211, in load',
      "! KeyError: 'price_eur'",
      "! FAILED tests/test_importer.py::test_feed_of_today - KeyError: 'price_eur'",
    ],
    exit: 1,
  },
  {
    progress: (n, r) => `=== RUN   TestLedger/case_${n}_${r % 99}`,
    says: [
      "! --- FAIL: TestSnapshot (30.01s)",
      "!     snapshot_test.go:72: timed out after 30s waiting for lock held by pid 211",
      "FAIL\tledger/snapshot\t31.2s",
    ],
    exit: 1,
  },
  {
    progress: fetched,
    says: [
      "! npm error code ERESOLVE",
      "! npm error While resolving: react-chart@4.2.0",
      "! npm error Found: react@19.1.0",
      "npm error A complete log of this run can be found in the cache",
    ],
    exit: 1,
  },
  {
    progress: fetched,
    says: ["! npm error code E401", "! npm error Unable to authenticate, need: Bearer realm=packages"],
    exit: 1,
  },
  {
    progress: layer,
    says: [
      "#17 RUN make install",
      "! #17 41.2 /bin/sh: 1: protoc: not found",
      '! ERROR: failed to solve: process "/bin/sh -c make install" did not complete successfully: exit code: 127',
    ],
    exit: 1,
  },
  {
    progress: compile,
    says: [
      "! c++: fatal error: Killed signal terminated program cc1plus",
      "compilation terminated.",
      "! make[2]: *** [src/solver/CMakeFiles/solver.dir/build.make:76: solver.o] Error 1",
    ],
    exit: 2,
  },
  { progress: layer, says: ["! write /var/lib/docker/tmp/blob-88: no space left on device"], exit: 1 },
  {
    progress: test,
    says: [
      "! error[E0502]: cannot borrow `cache` as mutable because it is also borrowed as immutable",
      "!   --> crates/store/src/lib.rs:140:9",
      "error: could not compile `store` (lib) due to 1 previous error",
    ],
    exit: 101,
  },
  {
    progress: (n, r) => `> Task :module${n}:compileJava UP-TO-DATE (${r % 50})`,
    says: [
      "FAILURE: Build failed with an exception.",
      "* What went wrong:",
      "! Execution failed for task ':billing:test'.",
      "! > There were failing tests. See the report at: build/reports/tests/test/index.html",
    ],
    exit: 1,
  },
  {
    progress: (n, r) => `aws_instance.web[${n % 60}]: Still creating... [${r % 300}s elapsed]`,
    says: [
      "! Error: creating Security Group: InvalidGroup.Duplicate: The security group 'web' already exists",
      "!   with aws_security_group.web,",
      "  on network.tf line 12, in resource",
    ],
    exit: 1,
  },
  {
    progress: test,
    says: [
      "! fatal: could not read Username for 'https://git.example.com': terminal prompts disabled",
      "! The variable DEPLOY_TOKEN is empty",
    ],
    exit: 128,
  },
  {
    progress: (n, r) => `applying migration ${n} of 2200 (${r % 70} ms)`,
    says: [
      '! ERROR:  column "carrier_id" of relation "orders" contains null values',
      "! migration 20261120_carrier.sql failed and was rolled back",
    ],
    exit: 3,
  },
  {
    progress: (n, r) => `[chromium] › e2e/checkout.spec.ts:${r % 400}:${n % 9} › step ${n}`,
    says: [
      "! 1) [chromium] › e2e/checkout.spec.ts:88:3 › pays with a voucher",
      '! Error: expect(locator).toHaveText(expected) failed: Expected "10.00", Received "12.00"',
      "    at e2e/checkout.spec.ts:97:31",
    ],
    exit: 1,
  },
  {
    progress: (n, r) => `pod/web-${r % 90} condition met (${n})`,
    says: [
      '! Error from server (Forbidden): deployments.apps is forbidden: User "ci" cannot patch resource "deployments" in namespace "prod"',
    ],
    exit: 1,
  },
];

/** Numbers of a linear congruential generator, the same each time. */
function randomFrom(seed: number): () => number {
  let state = seed * 2_654_435_761;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state;
  };
}

function lines(count: number, line: (n: number) => string): string[] {
  return Array.from({ length: count }, (_, n) => line(n));
}

const HARMLESS = [
  (r: number) => `warning: failed to read cache entry ${r}: not found, continuing`,
  (r: number) => `  ok ${r} - reports an error if the card is declined`,
  (r: number) => `retrying after error: connection reset by peer (attempt ${r % 3})`,
];

const SETTINGS: readonly ((failure: Failure, seed: number) => Log)[] = [
  (failure, seed) => logOf(failure, seed, { before: 900, after: 3, harmless: 0 }),
  (failure, seed) => logOf(failure, seed, { before: 6000, after: 2500, harmless: 0 }),
  (failure, seed) => logOf(failure, seed, { before: 5000, after: 900, harmless: 4 }),
];

interface Setting {
  readonly before: number;
  readonly after: number;
  /** Number of harmless lines that sound like failures, in ten ordinary lines. */
  readonly harmless: number;
}

function logOf({ progress, says, exit }: Failure, seed: number, { before, after, harmless }: Setting): Log {
  const random = randomFrom(seed);
  const ordinary = (n: number) => {
    const r = random();
    const alarming = HARMLESS[r % HARMLESS.length];
    return r % 10 < harmless && alarming ? alarming(r) : progress(n, r);
  };
  const said = says.map((line) => line.replace(/^! ?/, ""));
  const cause = says.filter((line) => line.startsWith("!")).map((line) => line.replace(/^! ?/, "").trim());
  const text = [
    "Runner version 2.328.0",
    "##[group]Run the step",
    ...lines(before, ordinary),
    ...said,
    `##[error]Process completed with exit code ${exit}.`,
    ...lines(after, (n) => `Cleaning up: removed temporary file ${n} (${random()})`),
    "Job failed",
  ];
  return { text: text.join("\n"), cause };
}
