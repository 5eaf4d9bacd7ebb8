import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRedactor, wordsOf } from "../../../../src/core/base/redact/redact.ts";
import type { Json } from "../../../../src/core/base/values.ts";
import { ANY_CHARACTER } from "../../../harness/any-character.ts";
import { LONG, runsOf } from "../../../harness/long.ts";

const TOKEN = { name: "TOKEN", value: 'p@ss "w/rd"+é\\~' };
const redactor = createRedactor([TOKEN]);

function broken(text: string, width: number, lineEnd: string): string {
  return (text.match(new RegExp(`.{1,${width}}`, "g")) ?? []).join(lineEnd);
}

function percentCodes(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
}

function unicodeCodes(text: string): string {
  return text.replace(/[\s\S]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function entities(text: string, write: (code: number) => string): string {
  return text.replace(/[\s\S]/g, (character) => write(character.charCodeAt(0)));
}

/** Encodes every byte that is not a letter or digit, with soft line breaks. */
function quotedPrintable(text: string, width: number): string {
  const codes = [...Buffer.from(text)].map((byte) => {
    const character = String.fromCharCode(byte);
    return /[a-z\d]/i.test(character) ? character : `=${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  });
  return codes.map((code, index) => (index > 0 && index % width === 0 ? `=\r\n${code}` : code)).join("");
}

function octal(text: string): string {
  return [...Buffer.from(text)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
}

function bytes(text: string): readonly number[] {
  return [...Buffer.from(text)];
}

/** Inserts something between all characters. */
function sown(text: string, seed: string): string {
  return [...text].join(seed);
}

const NAMES: Readonly<Record<string, string>> = {
  "@": "&commat;",
  '"': "&quot;",
  "/": "&sol;",
  "+": "&plus;",
  "\\": "&bsol;",
  " ": "&nbsp;",
};

function spaced(text: string, gap: string): string {
  return broken(Buffer.from(text).toString("hex"), 2, gap);
}

interface Printed {
  readonly columns?: number;
  /** Bytes in a group. */
  readonly group?: number;
  readonly isReversed?: boolean;
  readonly offset?: (at: number) => string;
  readonly characters?: (text: string) => string;
}

/** Bytes as printed by programs that are not installed everywhere. */
function dumped(text: string, { columns = 16, group = 1, isReversed = false, offset, characters }: Printed): string {
  const all = Buffer.from(text, "latin1");
  const rows = Array.from({ length: Math.ceil(all.length / columns) }, (_, row) => {
    const held = all.subarray(row * columns, (row + 1) * columns);
    const groups = Array.from({ length: Math.ceil(held.length / group) }, (_, index) => {
      const some = held.subarray(index * group, (index + 1) * group);
      return (isReversed ? Buffer.from(some).reverse() : some).toString("hex");
    });
    const width = columns * 2 + columns / group;
    const shown = characters?.(held.toString("latin1").replaceAll(/[^ -~]/g, ".")) ?? "";
    return `${offset?.(row * columns) ?? ""} ${groups.join(" ").padEnd(characters ? width : 0)}${shown}`;
  });
  return rows.join("\n");
}

const XXD = (at: number) => `${at.toString(16).padStart(8, "0")}:`;
const OD = (at: number) => at.toString(8).padStart(7, "0");
const BARE = (shown: string) => ` ${shown}`;
const BARS = (shown: string) => ` |${shown}|`;

describe("a dump of bytes that holds a secret", () => {
  const secret = "correct-be-cafe/horse-added+7";
  const hidden = createRedactor([{ name: "S", value: secret }]);
  const od = (...args: readonly string[]) => {
    return (input: string) =>
      execFileSync("od", args, { input, encoding: "latin1", env: { LC_ALL: "C", ...process.env } });
  };
  const printers: readonly (readonly [string, (text: string) => string])[] = [
    ["xxd", (text) => dumped(text, { group: 2, offset: XXD, characters: BARE })],
    ["xxd -g1", (text) => dumped(text, { offset: XXD, characters: BARE })],
    ["xxd -g4 -c8", (text) => dumped(text, { group: 4, columns: 8, offset: XXD, characters: BARE })],
    ["xxd -e", (text) => dumped(text, { group: 4, isReversed: true, offset: XXD, characters: BARE })],
    ["xxd -u", (text) => dumped(text, { group: 2, offset: XXD, characters: BARE }).toUpperCase()],
    ["hexdump -C", (text) => dumped(text, { offset: (at) => XXD(at).replace(":", " "), characters: BARS })],
    ["hexdump", (text) => dumped(text, { group: 2, isReversed: true, offset: OD })],
    ...[
      ["-An", "-tx1"],
      ["-tx1"],
      ["-tx1z"],
      ["-x"],
      ["-An", "-x"],
      ["-tx4"],
      ["-An", "-tx8"],
      ["-c"],
      ["-An", "-c"],
    ].map((args) => [`od ${args.join(" ")}`, od(...args)] as const),
    ...[["-b"], ["-tx1c"], []].map((args) => [`od ${args.join(" ")}`, od(...args)] as const),
  ];

  test.each(printers)("%s: its rows are replaced, and no other line is", (_, print) => {
    for (let before = 0; before < 18; before++) {
      const text = print(`${"x".repeat(before)}${secret} and more`);
      const logged = text.replaceAll(/^(?=.)/gm, "2026-05-01T10:00:00.000Z ");
      for (const each of [text, logged, text.replaceAll("\n", "\r\n")]) {
        const redacted = hidden.text(`first line\n${each}\nlast line`);
        expect(redacted).toMatch(/^first line\n([^\n]*\n)*[^\n]*\[redacted:S\]\s*\n([^\n]*\n)*last line$/);
        for (const piece of ["correc", "cafe/h", "636166", "6665 6163", "d+7"]) expect(redacted).not.toContain(piece);
      }
      expect(hidden.text(JSON.stringify(`first\n${text}`))).toContain("[redacted:S]");
      const rows = hidden.value({ rows: ["first", ...text.split("\n"), "last"] }).rows;
      expect([rows[0], rows.includes("[redacted:S]"), rows.at(-1)]).toEqual(["first", true, "last"]);
    }
  });

  test.each([
    ["rows", "00000000: 7365 6372\n".repeat(50_000)],
    ["short rows", "ab cd\n".repeat(160_000)],
    ["cells", "   s".repeat(250_000)],
    ["blanks", " ".repeat(1_000_000)],
    ["stars", `ab cd\n${"*\n".repeat(500_000)}`],
    ["digits", "a".repeat(1_000_000)],
  ])("%s without a secret stay as they are", (_, text) => {
    expect(hidden.text(text)).toBe(text);
  });
});

describe("a periodic secret", () => {
  const repeating = createRedactor([{ name: "S", value: "a".repeat(40) }]);

  // A checkout may choose the values of its .env, and its jobs what they print.
  test.each([
    ["base64 in short lines", "YWFh\n"],
    ["numbers", "97, "],
    ["numbers in hexadecimal digits", "0x61,"],
    ["pairs", "61:"],
  ])("is found at every place of a long text of %s", (_, unit) => {
    expect(repeating.text(unit.repeat(400_000 / unit.length))).toMatch(/^.{0,9}\[redacted:S\][\s\S]{0,40}$/);
  });
});

describe("one secret", () => {
  test.each([
    ["as it is", TOKEN.value],
    ["by encodeURIComponent", encodeURIComponent(TOKEN.value)],
    ["by encodeURI", encodeURI(TOKEN.value)],
    ["with lower-case codes", encodeURIComponent(TOKEN.value).replace(/%../g, (code) => code.toLowerCase())],
    ["as a form field", new URLSearchParams({ a: TOKEN.value }).toString().slice(2)],
    ["in JSON", JSON.stringify(TOKEN.value).slice(1, -1)],
    ["in JSON within JSON", JSON.stringify(JSON.stringify(TOKEN.value)).slice(3, -3)],
    ["in JSON with slashes escaped", JSON.stringify(TOKEN.value).slice(1, -1).replaceAll("/", "\\/")],
    ["in JSON of ASCII only", JSON.stringify(TOKEN.value).slice(1, -1).replace("é", "\\u00e9")],
    ["in base64", Buffer.from(TOKEN.value).toString("base64")],
    ["in base64 without padding", Buffer.from(TOKEN.value).toString("base64").replace(/=+$/, "")],
    ["in url-safe base64", Buffer.from(TOKEN.value).toString("base64url")],
    ["in base64 in a URL", encodeURIComponent(Buffer.from(TOKEN.value).toString("base64"))],
    ["in base64 of short lines", broken(Buffer.from(TOKEN.value).toString("base64"), 8, "\n")],
    ["in base64 of indented lines", broken(Buffer.from(TOKEN.value).toString("base64"), 5, "\r\n  ")],
    [
      "in base64 of lines in JSON",
      JSON.stringify(broken(Buffer.from(TOKEN.value).toString("base64"), 8, "\n")).slice(1, -1),
    ],
    ["in hexadecimal digits", Buffer.from(TOKEN.value).toString("hex")],
    ["in capital hexadecimal digits", Buffer.from(TOKEN.value).toString("hex").toUpperCase()],
    ["in hexadecimal digits of lines", broken(Buffer.from(TOKEN.value).toString("hex"), 16, "\n")],
    ["with every byte encoded for URLs", percentCodes(TOKEN.value)],
    [
      "with every other byte encoded for URLs",
      percentCodes(TOKEN.value).replace(/%(73|77|64)/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16))),
    ],
    ["encoded for URLs twice", encodeURIComponent(percentCodes(TOKEN.value))],
    ["in JSON with every character escaped", unicodeCodes(TOKEN.value)],
    ["with HTML entities", TOKEN.value.replace(/[&<>"'/]/g, (mark) => `&#${mark.charCodeAt(0)};`)],
    ["with the names of HTML entities", TOKEN.value.replaceAll('"', "&quot;")],
    ["with every character an HTML entity", entities(TOKEN.value, (code) => `&#${code};`)],
    ["with hexadecimal HTML entities", entities(TOKEN.value, (code) => `&#x${code.toString(16).padStart(4, "0")};`)],
    ["with HTML entities in JSON", JSON.stringify(TOKEN.value.replaceAll('"', "&quot;")).slice(1, -1)],
    ["quoted-printable", quotedPrintable(TOKEN.value, 200)],
    ["quoted-printable in short lines", quotedPrintable(TOKEN.value, 5)],
    ["quoted-printable in JSON", JSON.stringify(quotedPrintable(TOKEN.value, 5)).slice(1, -1)],
    ...[":", " ", "-", ","].map((gap) => [`in bytes with "${gap}" between them`, spaced(TOKEN.value, gap)]),
    ["in capital bytes with colons between them", spaced(TOKEN.value, ":").toUpperCase()],
    ["in bytes with blanks between them, in lines", broken(spaced(TOKEN.value, " "), 24, "\n").replace(/ \n/g, "\n")],
    [
      "in program text by bytes",
      bytes(TOKEN.value)
        .map((byte) => `\\x${byte.toString(16)}`)
        .join(""),
    ],
    ["in program text with UTF-8 beyond ASCII", TOKEN.value.replace("\\", "\\\\").replace("é", "\\xc3\\xa9")],
    ["in program text with one byte beyond ASCII", TOKEN.value.replace("\\", "\\\\").replace("é", "\\xe9")],
    ["in JSON of bytes", unicodeCodes(Buffer.from(TOKEN.value).toString("latin1"))],
    ["in program text by points", TOKEN.value.replace(/[\s\S]/g, (one) => `\\u{${one.charCodeAt(0).toString(16)}}`)],
    ["in octal digits", octal(TOKEN.value)],
    ["as git quotes it", TOKEN.value.replace("\\", "\\\\").replace('"', '\\"').replace("é", "\\303\\251")],
    ["in octal digits in JSON", JSON.stringify(octal(TOKEN.value)).slice(1, -1)],
    ["in decimal bytes", bytes(TOKEN.value).join(" ")],
    ["in decimal bytes of a list", bytes(TOKEN.value).join(", ")],
    ["in decimal bytes of an indented list", bytes(TOKEN.value).join(",\n      ")],
    ["in decimal codes of characters", [...TOKEN.value].map((one) => one.charCodeAt(0)).join(",")],
    [
      "in hexadecimal numbers",
      bytes(TOKEN.value)
        .map((byte) => `0x${byte.toString(16)}`)
        .join(", "),
    ],
    ["in base64 in decimal bytes", bytes(Buffer.from(TOKEN.value).toString("base64")).join(" ")],
    ["with long HTML entities", entities(TOKEN.value, (code) => `&#${String(code).padStart(12, "0")};`)],
    ["with names of all its marks as HTML entities", TOKEN.value.replace(/[^\w~é]/g, (mark) => NAMES[mark] ?? mark)],
    ...[..."\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\ufe0f\u180e\u202e\u2066\u061c\u0007\0\u{e0100}\u{e0041}"].map(
      (seed) => [`with U+${seed.codePointAt(0)?.toString(16)} between all characters`, sown(TOKEN.value, seed)],
    ),
    ["with colours of a terminal in it", sown(TOKEN.value, "\u001b[0;31m")],
    ["with a link of a terminal in it", sown(TOKEN.value, "\u001b]8;;https://example.com\u0007")],
    ["with what is not seen as HTML entities", sown(TOKEN.value, "&#8203;")],
    ["with what is not seen by name", sown(TOKEN.value, "&ZeroWidthSpace;")],
    [
      "with what is not seen, in JSON",
      JSON.stringify(sown(TOKEN.value, "\u200b")).slice(1, -1).replaceAll("\u200b", "\\u200b"),
    ],
    ["with what is not seen, in a URL", encodeURIComponent(sown(TOKEN.value, "\u200b"))],
    ["with what is not seen in base64", sown(Buffer.from(TOKEN.value).toString("base64"), "\u2063")],
    ["in a URL in JSON", JSON.stringify(encodeURIComponent(TOKEN.value)).slice(1, -1)],
  ])("%s is replaced completely", (_form, text) => {
    expect(redactor.text(`before ${text} after`)).toBe("before [redacted:TOKEN] after");
    expect(redactor.text(text)).toBe("[redacted:TOKEN]");
  });

  test.each([
    ["as it is", 80, ""],
    ["of lines", 20, "\n"],
    ["of something around it", 80, "user:"],
    ["of something else around it", 80, "x"],
  ])(
    "in base64 of base64 %s it is replaced, except for at most four characters of its encoding",
    (_, width, before) => {
      const once = Buffer.from(`${before}${TOKEN.value}`).toString("base64");
      const text = broken(Buffer.from(once).toString("base64"), width, "\n");
      const [, rest = ""] = redactor.text(text).split("[redacted:TOKEN]");
      expect(rest.length).toBeLessThanOrEqual(4);
      expect(redactor.text(text).length).toBeLessThan(40);
    },
  );

  test("in Unicode tags it is replaced completely", () => {
    const ascii = "correct-horse-battery";
    const unseen = [...ascii].map((one) => String.fromCodePoint(0xe0000 + one.charCodeAt(0))).join("");
    expect(createRedactor([{ name: "S", value: ascii }]).text(`all is well${unseen}!`)).toBe(
      "all is well[redacted:S]!",
    );
  });

  test("invisible characters in the secret do not hide it", () => {
    const hidden = createRedactor([{ name: "S", value: "correct\u200b-horse" }]);
    expect(hidden.text("correct-horse, correct\u200b-horse")).toBe("[redacted:S], [redacted:S]");
  });

  test("inside basic authentication it is replaced too", () => {
    const redacted = redactor.text(`Basic ${Buffer.from(`user:${TOKEN.value}`).toString("base64")}`);
    expect(Buffer.from(redacted.replace(/\[.*/, "").slice(6), "base64").toString()).toBe("user:");
    expect(redacted).toMatch(/\[redacted:TOKEN\]$/);
  });

  test("white space around the stored value does not hide it", () => {
    expect(createRedactor([{ name: "KEY", value: "abcdefgh\n" }]).text("key=abcdefgh;")).toBe("key=[redacted:KEY];");
  });
});

test("the longest form is replaced if several start at one place", () => {
  const two = createRedactor([
    { name: "SHORT", value: "abcdefgh" },
    { name: "LONG", value: "abcdefghijkl" },
  ]);
  expect(two.text("abcdefghijkl abcdefgh")).toBe("[redacted:LONG] [redacted:SHORT]");
});

test("secrets that overlap become one mark", () => {
  const two = createRedactor([
    { name: "LEFT", value: "abcdefghi" },
    { name: "RIGHT", value: "ghijklmn" },
  ]);
  expect(two.text("-abcdefghijklmn-ghijklmn-")).toBe("-[redacted:LEFT]-[redacted:RIGHT]-");
});

test("a secret shared by two names is marked with the first", () => {
  const two = createRedactor([
    { name: "A", value: "same-value" },
    { name: "B", value: "same-value" },
  ]);
  expect(two.text("same-value")).toBe("[redacted:A]");
});

test("a secret that is contained in its own mark gets a mark without it", () => {
  expect(createRedactor([{ name: "MYSECRET", value: "MYSECRET" }]).text("a MYSECRET b")).toBe("a [redacted] b");
  expect(createRedactor([{ name: "WORD", value: "redacted" }]).text("a redacted b")).toBe("a *** b");
});

describe("a value that would redact ordinary text", () => {
  const words = wordsOf({
    nodes: { run_tests: { instruction: "Look at production. Then `incident-triage`, none@all" } },
  });
  const secrets = [
    { name: "PIN", value: "1234567" },
    { name: "STAGE", value: "production" },
    { name: "ANTHROPIC_API_KEY", value: "run_tests" },
    { name: "UNSET", value: "" },
    { name: "KEY", value: "incident" },
  ];

  test("is left alone and listed: under eight characters, or a word of the document", () => {
    const some = createRedactor(secrets, words);
    expect(some.unsearched).toEqual([
      { name: "PIN", why: "short" },
      { name: "STAGE", why: "word" },
      { name: "ANTHROPIC_API_KEY", why: "word" },
    ]);
    const text = "1234567 run_tests in production";
    expect(some.text(text)).toBe(text);
    expect(some.text("an incident")).toBe("an [redacted:KEY]");
  });

  test("is redacted nevertheless if it cannot be an ordinary word", () => {
    const value = "Abcdefgh12345678ijkl";
    const some = createRedactor([{ name: "KEY", value }], wordsOf({ note: value }));
    expect(some.unsearched).toEqual([]);
    expect(some.text(value)).toBe("[redacted:KEY]");
  });

  test.each([
    ["a key", { "some-name": 1 }, "some-name"],
    ["a text with punctuation", ["(see src/core/redact/redact.ts:32, and v1.2)"], "src/core/redact/redact.ts:32"],
    ["the end of a sentence", ["all of it."], "it"],
    ["a word of another script", ["über Straße"], "Straße"],
  ])("is contained in %s", (_, document, word) => {
    expect([...wordsOf(document)]).toContain(word);
  });
});

describe("a secret of several lines", () => {
  const lines = [
    "-----BEGIN PRIVATE KEY-----",
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
    "short",
    "-----END PRIVATE KEY-----",
  ];
  const pem = createRedactor([{ name: "PEM", value: `${lines.join("\n")}\n` }]);

  test("is replaced completely", () => {
    expect(pem.text(`key:\n${lines.join("\n")}\n`)).toBe("key:\n[redacted:PEM]");
  });

  test("is replaced by its long lines elsewhere", () => {
    expect(pem.text(`  ${lines[1]}\r\n  short`)).toBe("  [redacted:PEM]\r\n  short");
    expect(pem.text(Buffer.from(lines[1] ?? "").toString("base64"))).toBe("[redacted:PEM]");
  });

  test("is recognized by its lines if it was stored with escaped line breaks", () => {
    const stored = createRedactor([{ name: "PEM", value: lines.join("\\n") }]);
    expect(stored.text(lines[1] ?? "")).toBe("[redacted:PEM]");
  });
});

describe("a secret address", () => {
  const hook = {
    name: "HOOK",
    value: "https://hooks.example.com/services/T00000000/B00000000/a1B2c3D4e5F6g7H8i9J0k1L2?code=q1w2e3r4t5y6u7i8",
  };

  test.each(["a1B2c3D4e5F6g7H8i9J0k1L2", "q1w2e3r4t5y6u7i8", "/a1B2c3D4e5F6g7H8i9J0k1L2?"])(
    "is recognized by %s alone",
    (text) => {
      expect(createRedactor([hook]).text(`POST ${text} failed`)).toContain("[redacted:HOOK]");
      expect(createRedactor([hook]).text(text)).not.toMatch(/a1B2|q1w2/);
    },
  );

  test("is not recognized by its host and by short or plain parts", () => {
    const text = "hooks.example.com services T00000000 code";
    expect(createRedactor([hook]).text(text)).toBe(text);
    const database = { name: "DB_KEY", value: "postgres://host/reporting_of_production" };
    expect(createRedactor([database]).text("reporting_of_production")).toBe("reporting_of_production");
  });
});

describe("a secret that others truncate", () => {
  const value = "Canary0123456789abcdefgh";
  const cut = createRedactor([{ name: "KEY", value }]);

  test.each([
    [`at ${value.slice(0, 20)}…`, "at [redacted:KEY]…"],
    [`at ${value.slice(0, 8)}… [93 more characters]`, "at [redacted:KEY]… [93 more characters]"],
    [
      `at ${value.slice(0, 9)}\n[… 12 characters left out …]\n${value.slice(-12)} end`,
      "at [redacted:KEY]\n[… 12 characters left out …]\n[redacted:KEY] end",
    ],
    [`…${value.slice(3)} end`, "…[redacted:KEY] end"],
    [`${Buffer.from(value).toString("base64").slice(0, 15)}…`, "[redacted:KEY]…"],
    [`${bytes(value).slice(0, 10).join(" ")} … [12 more characters]`, "[redacted:KEY] … [12 more characters]"],
    [`${spaced(value, " ").slice(0, 40)}…`, "[redacted:KEY] 3…"],
    [`${bytes(value).join(", ").slice(0, 48)}…`, "[redacted:KEY], 5…"],
    [
      `${broken(Buffer.from(value).toString("base64"), 8, "\n").slice(0, 17)}\n[… 2 of 4 lines left out]`,
      "[redacted:KEY]\n[… 2 of 4 lines left out]",
    ],
    [
      `[… 2 of 4 lines left out]\n${broken(Buffer.from(value).toString("base64").slice(8), 8, "\n")}\n`,
      "[… 2 of 4 lines left out]\n[redacted:KEY]\n",
    ],
    [`at ${value.slice(0, 7)}…`, `at ${value.slice(0, 7)}…`],
    [`at ${value.slice(1, 20)}…`, `at ${value.slice(1, 20)}…`],
    [`at ${value.slice(0, 20)}.`, `at ${value.slice(0, 20)}.`],
  ])("%j", (text, expected) => {
    expect(cut.text(text)).toBe(expected);
    expect(cut.value({ text }).text).toBe(expected);
  });
});

describe("values", () => {
  test("strings are redacted at any depth, and so are keys that cannot be a name", () => {
    const value = { list: [1, null, true, { [TOKEN.value]: `x ${TOKEN.value}` }], rest: "kept" };
    expect(redactor.value(value)).toEqual({
      list: [1, null, true, { "[redacted:TOKEN]": "x [redacted:TOKEN]" }],
      rest: "kept",
    });
  });

  test("unchanged parts are the same objects, within a changed value too", () => {
    const kept = { deep: [{ a: "b" }] };
    expect(redactor.value(kept)).toBe(kept);
    expect(redactor.value({ kept, secret: TOKEN.value }).kept).toBe(kept);
  });

  test("a number that equals a secret is replaced, and no other", () => {
    const { value } = createRedactor([{ name: "PIN", value: "9182736450123" }]);
    const given = { pin: 9182736450123, list: [9182736450123, 918273645, 0.5], text: "9182736450123" };
    const mark = "[redacted:PIN]";
    expect(value(given)).toEqual({ pin: mark, list: [mark, 918273645, 0.5], text: mark });
  });

  test("a list of its bytes becomes the mark, in its place", () => {
    const data = [1, 2, ...bytes(TOKEN.value), 300, ...bytes(TOKEN.value), 3];
    const mark = "[redacted:TOKEN]";
    expect(redactor.value({ type: "Buffer", data })).toEqual({ type: "Buffer", data: [1, 2, mark, 300, mark, 3] });
    expect(redactor.value([...TOKEN.value].map((one) => one.charCodeAt(0)))).toEqual([mark]);
    const members = redactor.value(JSON.parse(JSON.stringify(new Uint8Array(bytes(TOKEN.value)))) as Json);
    expect(new Set(Object.values(members as object))).toEqual(new Set([mark]));
  });

  test("other lists of numbers are the same objects", () => {
    const value = { series: [[115, 101, 99, 114, 101, 116, 33, 10, 9]], object: { 0: 200, 1: 201, 2: 202 } };
    expect(redactor.value(value)).toBe(value);
  });

  test("an escape that starts before the secret does not hide it", () => {
    const hidden = createRedactor([{ name: "S", value: "correct-horse" }]);
    for (const before of ["\\", "\\u{", "&", "\u001b", "12"]) {
      for (const write of [octal, (text: string) => bytes(text).join(","), (text: string) => text])
        expect(hidden.value([before, write("correct-horse")])).toEqual([before, "[redacted:S]"]);
    }
  });

  test("a key named __proto__ stays a plain key", () => {
    const value: Json = JSON.parse(`{"__proto__": ${JSON.stringify(TOKEN.value)}}`);
    expect(JSON.stringify(redactor.value(value))).toBe('{"__proto__":"[redacted:TOKEN]"}');
  });

  test("a value 200,000 levels deep is redacted", () => {
    let value: Json = TOKEN.value;
    for (let depth = 0; depth < 200_000; depth++) value = depth % 2 === 0 ? [value] : { a: value };
    let redacted: Json = redactor.value(value);
    while (typeof redacted === "object" && redacted !== null) redacted = Object.values(redacted)[0] as Json;
    expect(redacted).toBe("[redacted:TOKEN]");
  });

  test("a part used in several places is redacted in all", () => {
    const part = { a: TOKEN.value };
    const nested: Json = [part, { part, more: [part] }];
    expect(JSON.stringify(redactor.value(nested))).not.toContain("p@ss");
  });
});

test("a text of many megabytes is searched to its end", () => {
  const text = "the quick brown fox jumps over it ".repeat(LONG ? 3_000_000 : 300_000);
  expect(redactor.text(text)).toBe(text);
  expect(redactor.text(`${text}${TOKEN.value}`).slice(text.length)).toBe("[redacted:TOKEN]");
});

test.each([
  ["numbers", "115, ", (bytes: Buffer) => [...bytes].join(", ")],
  ["pairs of digits", "73 ", (bytes: Buffer) => bytes.toString("hex").replace(/..(?=.)/g, "$& ")],
])("a list of %s is searched to its end, however long", (_, item, write) => {
  const text = item.repeat(LONG ? 5_000_000 : 300_000);
  expect(redactor.text(text + write(Buffer.from(TOKEN.value))).slice(text.length)).toBe("[redacted:TOKEN]");
});

test.each(["0x9z ", "0x 1e3 ff", "key_0x", "0xfff, 997"])("bytes are found after %j", (before) => {
  const list = [...Buffer.from(TOKEN.value)].join(", ");
  expect(redactor.text(`${before}\n${list}`)).toBe(`${before}\n[redacted:TOKEN]`);
  expect(redactor.text(`0x1 ${before}a${list}`)).toContain("[redacted:TOKEN]");
});

test("without secrets everything is returned unchanged", () => {
  const none = createRedactor([]);
  const value = { a: ["b"] };
  expect(none.text("abc")).toBe("abc");
  expect(none.value(value)).toBe(value);
});

const secretValue = fc.oneof(
  fc.string({ minLength: 8, maxLength: 40, unit: "grapheme-ascii" }),
  fc.string({ minLength: 8, maxLength: 40, unit: "grapheme" }),
  fc.stringMatching(/^[A-Za-z0-9+/=_-]{8,60}$/),
);
const around = fc.string({ maxLength: 12, unit: ANY_CHARACTER });

/** All encodings of a text around a secret by the platform's encoders. */
const ENCODERS: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => JSON.stringify(text),
  (text) => JSON.stringify(JSON.stringify(text)),
  (text) => encodeURIComponent(text),
  (text) => new URLSearchParams({ value: text }).toString(),
  (text) => Buffer.from(text).toString("base64"),
  (text) => Buffer.from(text).toString("base64url"),
  (text) => encodeURIComponent(Buffer.from(text).toString("base64")),
  (text) => bytes(text).join(", "),
  (text) => octal(text),
  (text) => sown(text, "\u200b"),
  (text) => unicodeCodes(Buffer.from(text).toString("latin1")),
];
/** Decodings of the encoded text from any position. */
const DECODERS: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text.replaceAll(/\\(["\\/])/g, "$1"),
  (text) => text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (codes) => Buffer.from(codes.replaceAll("%", ""), "hex").toString()),
  (text) => text.replaceAll("\u200b", ""),
  (text) => Buffer.from((text.match(/\b\d{1,3}\b/g) ?? []).map(Number)).toString(),
  (text) => Buffer.from((text.match(/[0-7]{3}/g) ?? []).map((code) => Number.parseInt(code, 8))).toString(),
  ...[0, 1, 2, 3].map((skip) => (text: string) => Buffer.from(text.slice(skip), "base64").toString()),
];

describe("for any secret and any text around it", () => {
  test("no form of the secret survives", () => {
    fc.assert(
      fc.property(secretValue, around, around, fc.constantFrom(...ENCODERS), (value, before, after, encode) => {
        fc.pre(value.trim().length >= 8 && !"[redacted:S]***".includes(value));
        const redacted = createRedactor([{ name: "S", value }]).text(encode(`${before}${value}${after}`));
        for (const piece of redacted.split(/\[redacted(?::S)?\]|\*\*\*/)) {
          for (const decode of DECODERS) expect(decode(piece)).not.toContain(value);
        }
        expect(redacted).not.toContain(value);
      }),
      { numRuns: runsOf(2000) },
    );
  });

  test("redacting again changes nothing", () => {
    const small = fc.string({ minLength: 8, maxLength: 11, unit: fc.constantFrom(..."[redacted:]*AB") });
    fc.assert(
      fc.property(
        fc.array(small, { minLength: 1, maxLength: 4 }),
        fc.array(fc.nat(8), { maxLength: 12 }),
        (values, picks) => {
          const secrets = values.map((value, index) => ({ name: index % 2 === 0 ? "A" : "B", value }));
          const stained = createRedactor(secrets);
          const redacted = stained.text(picks.map((pick) => values[pick] ?? "A][redacted:B").join(""));
          expect(stained.text(redacted)).toBe(redacted);
          expect(values.filter((value) => redacted.includes(value))).toEqual([]);
        },
      ),
      { numRuns: runsOf(2000) },
    );
  });

  test("text without the secret is unchanged", () => {
    const secret = createRedactor([{ name: "S", value: "correct-horse-battery-staple" }]);
    fc.assert(
      fc.property(fc.jsonValue(), fc.string({ unit: ANY_CHARACTER }), (value, text) => {
        expect(secret.text(text)).toBe(text);
        expect(secret.value(value as Json)).toBe(value);
      }),
    );
  });
});
