import { describe, expect, test } from "vitest";
import {
  configValues,
  isSecretName,
  lackOfConfig,
  resolveConfig,
  secretValues,
} from "../../../src/core/document/config.ts";
import type { LookUp } from "../../../src/core/skill/availability/config-form.ts";
import type { ConfigField } from "../../../src/core/skill/skill.ts";

const field = (parts: Partial<ConfigField> = {}): ConfigField => ({ description: "d", ...parts });
const places: Readonly<Record<string, ReturnType<LookUp>>> = { "/f": "file", "/d": "directory", "/x": "unreadable" };
const lookUp: LookUp = (path) => places[path] ?? "none";
const resolve = (config: Record<string, ConfigField>, env = {}, overrides: Record<string, string> = {}) =>
  resolveConfig({ id: "desk", config }, new Map(Object.entries(overrides)), { env, lookUp });
const missingConfig = (fields: ReturnType<typeof resolve>) => lackOfConfig(fields)?.reason;

describe("the source of a value", () => {
  const config = { TOKEN: field({ env: "THE_TOKEN", required: true }) };

  test.each<[string, object, Record<string, string>, string | undefined, string | undefined]>([
    ["the override first", { THE_TOKEN: "e" }, { TOKEN: "o" }, "o", undefined],
    ["that of this skill before that of the key", {}, { TOKEN: "o", "desk.TOKEN": "mine" }, "mine", undefined],
    ["an override by the variable's name", { THE_TOKEN: "e" }, { THE_TOKEN: "o" }, "o", undefined],
    ["the variable of this skill before the key", {}, { TOKEN: "o", "desk.THE_TOKEN": "mine" }, "mine", undefined],
    ["no other skill's", {}, { "other.TOKEN": "o" }, undefined, "THE_TOKEN is not set"],
    ["else the variable", { THE_TOKEN: "e" }, {}, "e", undefined],
    ["not a variable of the key's name", { TOKEN: "e" }, {}, undefined, "THE_TOKEN is not set"],
    ["nothing", {}, {}, undefined, "THE_TOKEN is not set"],
    ["an empty variable is unresolved", { THE_TOKEN: "" }, {}, undefined, "THE_TOKEN is set but empty"],
    ["an empty override is unresolved", {}, { TOKEN: "" }, undefined, "THE_TOKEN is set but empty"],
    ["white space is a value", { THE_TOKEN: " " }, {}, " ", undefined],
  ])("%s", (_, env, overrides, value, reason) => {
    const fields = resolve(config, env, overrides);
    expect(fields[0]?.value).toBe(value);
    expect(missingConfig(fields)).toBe(reason);
  });

  test("a field without a variable has only given values", () => {
    const fields = resolve({ KEY: field({ required: true }) }, { KEY: "e" });
    expect(missingConfig(fields)).toBe("KEY is not given");
    expect(missingConfig(resolve({ KEY: field({ required: true }) }, {}, { KEY: "o" }))).toBeUndefined();
  });

  test("an optional field may stay unresolved", () => {
    expect(missingConfig(resolve({ A: field({ env: "A" }) }))).toBeUndefined();
  });

  test("every missing field is named", () => {
    const config = { A: field({ env: "A", required: true }), B: field({ env: "B", required: true }) };
    expect(missingConfig(resolve(config, { B: "" }))).toBe("A is not set; B is set but empty");
  });

  test("a field that another one can replace is missing if both are", () => {
    const config = { HOOK: field({ env: "HOOK", required: true, unless: "BOT" }), BOT: field({ env: "THE_BOT" }) };
    expect(missingConfig(resolve(config, { THE_BOT: "b" }))).toBeUndefined();
    expect(missingConfig(resolve(config, { HOOK: "h" }))).toBeUndefined();
    expect(missingConfig(resolve(config, { THE_BOT: "" }))).toBe("HOOK is not set, nor is THE_BOT");
  });

  test("names of object properties are not found if they are not set", () => {
    expect(missingConfig(resolve({ toString: field({ env: "NOPE", required: true }) }))).toBe("NOPE is not set");
  });
});

describe("a declared form", () => {
  const good: [ConfigField["format"], string[]][] = [
    ["text", ["any text", "a, b"]],
    ["name", ["eu-west-1", "owner/name", "é"]],
    ["token", ["glsa_a.b=", " t\n"]],
    ["integer", ["0", "-12", " 7 "]],
    ["url", ["http://a", "https://hooks.example.com/T0/B0?x=1"]],
    ["base_url", ["http://[::1]:9090/api", "https://example.com/"]],
    ["host", ["datadoghq.eu", "127.0.0.1:80"]],
    ["host_list", ["a.example", "*.example.com, https://b.example/ 10.0.0.5:8080,", "[::1]:80", "my_host"]],
    ["list", ["a", "a,b", "a b"]],
    ["email", ["a@b.example", "Ops <ops@b.example>"]],
    ["email_list", ["a@b.example", "a@b.example, Ops <ops@b.example>"]],
    ["file", ["/f"]],
    ["directory", ["/d"]],
    ["path", ["/f", "/d"]],
  ];
  const bad: [ConfigField["format"], string[]][] = [
    ["name", ["a b", "a\u0000b"]],
    ["token", ["a b", "tökn", "a\nb"]],
    ["integer", ["1.5", "ten", "1e3", "9".repeat(400)]],
    ["url", ["foo", "ftp://a", "http://", "https://u:p@a", "https://a b"]],
    ["base_url", ["abc", "https://a/?x=1", "https://a/#x"]],
    ["host", ["https://a", "a/b", "", "*"]],
    ["host_list", [",,", "a.example,b/c", "*.com/", "*", "x y:port"]],
    ["list", [",", " , ,"]],
    ["email", ["a", "a@", "@b", "a b@c", "<a@b"]],
    ["email_list", ["a@b.example,", "a@b.example;c"]],
    ["file", ["/d", "/x", "/gone"]],
    ["directory", ["/f", "/gone"]],
    ["path", ["/x", "/gone"]],
  ];
  const lackOf = (format: ConfigField["format"], value: string) =>
    lackOfConfig(resolve({ A: field({ env: "A", required: true, format }) }, { A: value }));

  test.each(good)("%s accepts %j", (format, values) => {
    for (const value of values) expect([value, lackOf(format, value)]).toEqual([value, undefined]);
  });

  test.each(bad)("%s refuses %j, and shows no value", (format, values) => {
    for (const value of values) {
      const lack = lackOf(format, value);
      expect([value, lack?.kind]).toEqual([value, value.trim() === "" ? "config_missing" : "config_form"]);
      expect(lack?.reason).toMatch(/^A is (?:not |set but empty)/);
      if (value.length > 3) expect(JSON.stringify(lack)).not.toContain(value);
    }
  });

  test("may be a URL of other schemes, which may hold a password", () => {
    const config = { A: field({ env: "A", format: "url", schemes: ["postgres", "postgresql"] }) };
    expect(lackOfConfig(resolve(config, { A: "postgres://u:p@h/db" }))).toBeUndefined();
    expect(lackOfConfig(resolve(config, { A: "https://h/db" }))).toMatchObject({
      kind: "config_form",
      reason: "A is not a URL that begins with postgres:// or postgresql://",
      fix: "set A to a URL that begins with postgres:// or postgresql://, or unset it (d)",
    });
  });

  test("trims white space around a value, and white space alone is not a value", () => {
    const fields = resolve(
      {
        A: field({ env: "A", required: true, format: "token" }),
        B: field({ env: "B", required: true, format: "text" }),
      },
      { A: "secret\n", B: " \t" },
    );
    expect(configValues(fields)).toEqual({ A: "secret" });
    expect(lackOfConfig(fields)).toMatchObject({ kind: "config_missing", reason: "B is set but empty" });
  });

  test("names every field, missing ones first", () => {
    const config = { A: field({ env: "A", format: "url" }), B: field({ env: "B", required: true }) };
    expect(lackOfConfig(resolve(config, { A: "foo" }))).toMatchObject({
      kind: "config_missing",
      reason: "B is not set; A is not an http or https URL without a user name and password",
    });
  });
});

test("a handler sees the resolved fields only", () => {
  const config = { A: field({ env: "A" }), B: field({ env: "B" }), C: field({ env: "C" }) };
  expect(configValues(resolve(config, { A: "a", C: "", OTHER: "x" }))).toEqual({ A: "a" });
});

test("every value is a secret unless its field declares otherwise", () => {
  const config = { TOKEN: field({ env: "A" }), URL: field({ env: "B", secret: false }), GONE: field({ env: "C" }) };
  expect(secretValues(resolve(config, { A: "a", B: "b" }))).toEqual([{ name: "TOKEN", value: "a" }]);
});

describe("a variable's name", () => {
  test.each([
    "API_TOKEN",
    "token",
    "MY_SECRET_2",
    "DD_APP_KEY",
    "APIKEY",
    "x_apikey",
    "DB_PASSWORD",
    "PASSWD",
    "SENTRY_DSN",
    "A_CREDENTIAL",
    "PGPASSWORD",
    "NPMTOKEN",
    "PASSWORD1",
    "DBPASSWORDS",
    "RABBITMQ_DEFAULT_PASSWORDFILE",
    "API_KEYS",
    "TOKENS",
    "APITOKEN2",
    "GHTOKEN_X",
    "SECRETKEY",
    "SECRETS_JSON",
  ])("%s marks a secret", (name) => expect(isSecretName(name)).toBe(true));

  test.each([
    "PATH",
    "KEYBOARD",
    "MONKEY",
    "TOKENIZER",
    "STAGE",
    "SECRETARY_NAME",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "CREDENTIALS_DIRECTORY",
  ])("%s does not mark a secret", (name) => expect(isSecretName(name)).toBe(false));
});
