import { describe, expect, test } from "vitest";
import { configValues, isSecretName, missingConfig, resolveConfig, secretValues } from "../../src/core/config.ts";
import type { ConfigField } from "../../src/core/skill.ts";

const field = (parts: Partial<ConfigField> = {}): ConfigField => ({ description: "d", ...parts });
const resolve = (config: Record<string, ConfigField>, env = {}, overrides: Record<string, string> = {}) =>
  resolveConfig({ id: "desk", config }, new Map(Object.entries(overrides)), env);

describe("where a value comes from (S2)", () => {
  const config = { TOKEN: field({ env: "THE_TOKEN", required: true }) };

  test.each<[string, object, Record<string, string>, string | undefined, string | undefined]>([
    ["the override first", { THE_TOKEN: "e" }, { TOKEN: "o" }, "o", undefined],
    ["that of this skill before that of the key", {}, { TOKEN: "o", "desk.TOKEN": "mine" }, "mine", undefined],
    ["no other skill's", {}, { "other.TOKEN": "o" }, undefined, "THE_TOKEN is not set"],
    ["else the variable", { THE_TOKEN: "e" }, {}, "e", undefined],
    ["not a variable of the key's name", { TOKEN: "e" }, {}, undefined, "THE_TOKEN is not set"],
    ["nothing", {}, {}, undefined, "THE_TOKEN is not set"],
    ["an empty variable is unresolved (D26)", { THE_TOKEN: "" }, {}, undefined, "THE_TOKEN is set but empty"],
    ["an empty override is unresolved (D26)", {}, { TOKEN: "" }, undefined, "THE_TOKEN is set but empty"],
    ["white space is a value", { THE_TOKEN: " " }, {}, " ", undefined],
  ])("%s", (_, env, overrides, value, reason) => {
    const fields = resolve(config, env, overrides);
    expect(fields[0]?.value).toBe(value);
    expect(missingConfig(fields)).toBe(reason);
  });

  test("a field without a variable is only given", () => {
    const fields = resolve({ KEY: field({ required: true }) }, { KEY: "e" });
    expect(missingConfig(fields)).toBe("KEY is not given");
    expect(missingConfig(resolve({ KEY: field({ required: true }) }, {}, { KEY: "o" }))).toBeUndefined();
  });

  test("an optional field may stay unresolved", () => {
    expect(missingConfig(resolve({ A: field({ env: "A" }) }))).toBeUndefined();
  });

  test("every missing field is named (S3)", () => {
    const config = { A: field({ env: "A", required: true }), B: field({ env: "B", required: true }) };
    expect(missingConfig(resolve(config, { B: "" }))).toBe("A is not set; B is set but empty");
  });

  test("a field that another one does for is missing where both are", () => {
    const config = { HOOK: field({ env: "HOOK", required: true, unless: "BOT" }), BOT: field({ env: "THE_BOT" }) };
    expect(missingConfig(resolve(config, { THE_BOT: "b" }))).toBeUndefined();
    expect(missingConfig(resolve(config, { HOOK: "h" }))).toBeUndefined();
    expect(missingConfig(resolve(config, { THE_BOT: "" }))).toBe("HOOK is not set, nor is THE_BOT");
  });

  test("names that objects already have are not found where nobody set them", () => {
    expect(missingConfig(resolve({ toString: field({ env: "NOPE", required: true }) }))).toBe("NOPE is not set");
  });
});

test("a handler sees the resolved fields only (D26)", () => {
  const config = { A: field({ env: "A" }), B: field({ env: "B" }), C: field({ env: "C" }) };
  expect(configValues(resolve(config, { A: "a", C: "", OTHER: "x" }))).toEqual({ A: "a" });
});

test("every value is a secret unless its field says otherwise", () => {
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
  ])("%s says that it is secret", (name) => expect(isSecretName(name)).toBe(true));

  test.each(["PATH", "KEYBOARD", "MONKEY", "TOKENS", "PASSWORDLESS", "STAGE", "SECRETARY_NAME"])(
    "%s does not",
    (name) => expect(isSecretName(name)).toBe(false),
  );
});
