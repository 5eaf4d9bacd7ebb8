import { describe, expect, it } from "vitest";
import { describeApi } from "../../../../src/core/skill/openapi/description.ts";

const api = (paths: unknown, rest = {}) => describeApi({ openapi: "3.1.0", info: { title: "Acme" }, paths, ...rest });
const described = (paths: unknown, rest = {}) => {
  const found = api(paths, rest);
  if (typeof found === "string") throw new Error(found);
  return found;
};
const get = (operation: unknown, path = "/things") => described({ [path]: { get: operation } }).operations[0];
const parameter = (given: unknown) => get({ parameters: [given] })?.parameters[0];

describe("an API's description", () => {
  it.each([
    [[], "it is not a mapping"],
    [{ info: {} }, "it has neither `openapi` nor `swagger`"],
    [{ openapi: "4.0.0", paths: {} }, "it has version 4.0.0, not OpenAPI 3 or Swagger 2.0"],
    [{ swagger: "1.2", paths: {} }, "it has version 1.2, not OpenAPI 3 or Swagger 2.0"],
    [{ openapi: "3.0.3" }, "it has no paths"],
  ])("is refused with the reason: %j", (document, why) => {
    expect(describeApi(document)).toBe(why);
  });

  it.each([
    [{ servers: [{ url: "https://api.example/v1/" }] }, "https://api.example/v1"],
    [
      { servers: [{ url: "https://{region}.api.example", variables: { region: { default: "eu" } } }] },
      "https://eu.api.example",
    ],
    [{ servers: [{ url: "https://{region}.api.example" }] }, undefined],
    [{ servers: [{ url: "/v1" }] }, undefined],
    [{ servers: [{ url: "https://user:word@api.example" }] }, undefined],
    [{ servers: [{ url: "file:///etc/passwd" }] }, undefined],
    [{ openapi: undefined, swagger: "2.0", host: "api.example", basePath: "/v2" }, "https://api.example/v2"],
    [{ openapi: undefined, swagger: "2.0", host: "api.example", schemes: ["http"] }, "http://api.example"],
    [{}, undefined],
  ])("contains the API's address: %j", (rest, address) => {
    expect(described({}, rest).address).toBe(address);
  });

  it.each([
    [{ a: { type: "http", scheme: "Bearer" } }, [{ kind: "bearer" }]],
    [{ a: { type: "oauth2", flows: {} } }, [{ kind: "bearer" }]],
    [{ a: { type: "http", scheme: "basic" } }, [{ kind: "basic" }]],
    [{ a: { type: "apiKey", in: "header", name: "X-Key" } }, [{ kind: "header", name: "X-Key" }]],
    [{ a: { type: "apiKey", in: "query", name: "key" } }, [{ kind: "query", name: "key" }]],
    [{ a: { type: "apiKey", in: "header", name: "Authorization" } }, [{ kind: "bearer" }]],
    [{ a: { type: "apiKey", in: "cookie", name: "sid" } }, []],
    [{ a: { type: "apiKey", in: "header", name: "X: y\r\nEvil" } }, []],
    [{ a: { type: "mutualTLS" }, b: { type: "http", scheme: "bearer" } }, [{ kind: "bearer" }]],
  ])("contains the authentication: %j", (securitySchemes, access) => {
    expect(described({}, { components: { securitySchemes } }).access).toEqual(access);
  });

  it("uses the first authentication option that can be sent completely, of the document or an operation", () => {
    const securitySchemes = {
      cookie: { type: "apiKey", in: "cookie", name: "sid" },
      api: { type: "apiKey", in: "header", name: "API-KEY" },
      app: { type: "apiKey", in: "header", name: "APP-KEY" },
    };
    const ways = [
      { cookie: [], api: [] },
      { api: [], app: [] },
    ];
    const both = [
      { kind: "header", name: "API-KEY" },
      { kind: "header", name: "APP-KEY" },
    ];
    expect(described({}, { components: { securitySchemes }, security: ways }).access).toEqual(both);
    const paths = { "/a": { get: { security: ways } } };
    expect(described(paths, { components: { securitySchemes } }).access).toEqual(both);
  });
});

describe("an operation of it", () => {
  it.each([
    ["listIncidents", "/a", "list_incidents"],
    ["incidents/list-open", "/a", "incidents_list_open"],
    ["HTMLPages.get", "/a", "htmlpages_get"],
    [undefined, "/teams/{team_id}/members", "get_teams_team_id_members"],
    ["é漢", "/a", "operation"],
    ["x".repeat(90), "/a", "x".repeat(50)],
  ])("is named by its id, or by its path: %s %s", (operationId, path, name) => {
    const parameters = [{ name: "team_id", in: "path", required: true }];
    expect(get({ operationId, parameters }, path)?.name).toBe(name);
  });

  it("has a unique name", () => {
    const { operations } = described({
      "/a": { get: { operationId: "list things" } },
      "/b": { get: { operationId: "listThings" } },
    });
    expect(operations.map(({ name }) => name)).toEqual(["list_things", "list_things_2"]);
  });

  it("is found at once among many with one id", () => {
    const paths = Array.from(
      { length: 50_000 },
      (_, index) => [`/${index}`, { get: { operationId: "list" } }] as const,
    );
    const { operations } = described(Object.fromEntries(paths));
    expect(operations.at(-1)?.name).toBe("list_50000");
  });

  it.each([
    [{ summary: "Lists." }, "Lists."],
    [{ description: "Lists <b>all</b>\n things." }, "Lists all things."],
    [{ summary: "Lists", description: "Lists all things." }, "Lists all things."],
    [{ summary: "Lists", description: "Newest first." }, "Lists. Newest first."],
    [{}, "GET /things"],
  ])("is described in one line: %j", (operation, summary) => {
    expect(get(operation)?.summary).toBe(summary);
  });

  it("that cannot be parsed or called does not become a tool", () => {
    const { operations } = described({
      "/a": { get: {}, post: {}, delete: {} },
      "/b/{id}": { get: {} },
      "/c": { get: { parameters: [{ name: "sid", in: "cookie", required: true }] } },
      "/d": { get: { parameters: [{ $ref: "other.yml#/a" }] } },
      "/e": { get: { parameters: [{ name: "sid", in: "cookie" }] } },
    });
    expect(operations.map(({ method, path, unfit }) => [method, path, unfit])).toEqual([
      ["GET", "/a", undefined],
      ["POST", "/a", "POST may write, but the skill only reads"],
      ["DELETE", "/a", "DELETE may write, but the skill only reads"],
      ["GET", "/b/{id}", "its path contains {id}, which is not one of its parameters"],
      ["GET", "/c", "it needs sid as a cookie"],
      ["GET", "/d", "one of its parameters is in another document, or missing"],
      ["GET", "/e", undefined],
    ]);
  });

  it("takes its parameters from its path, and its own before those", () => {
    const found = described({
      "/a/{id}": {
        parameters: [
          { name: "id", in: "path", schema: { type: "string" } },
          { name: "limit", in: "query", schema: { type: "integer" } },
        ],
        get: { parameters: [{ name: "limit", in: "query", required: true, schema: { type: "integer", maximum: 9 } }] },
      },
    });
    expect(found.operations[0]?.parameters).toEqual([
      { key: "id", name: "id", place: "path", isRequired: true, schema: { type: "string" }, between: "," },
      { key: "limit", name: "limit", place: "query", isRequired: true, schema: { type: "integer", maximum: 9 } },
    ]);
  });

  it("gives distinct keys to parameters of the same name, and omits those of every request", () => {
    const parameters = [
      { name: "id", in: "query" },
      { name: "id", in: "header" },
      { name: "page[size]", in: "query" },
      { name: "Accept", in: "header", required: true },
      { name: "Authorization", in: "header", required: true },
    ];
    expect(get({ parameters })?.parameters.map(({ key, name }) => [key, name])).toEqual([
      ["id", "id"],
      ["id_2", "id"],
      ["page_size", "page[size]"],
    ]);
  });

  it.each([
    [{ in: "query" }, {}],
    [{ in: "query", explode: false }, { between: "," }],
    [{ in: "query", style: "pipeDelimited" }, { between: "|" }],
    [{ in: "query", style: "deepObject" }, { isDeep: true }],
    [{ in: "query", collectionFormat: "csv" }, { between: "," }],
    [{ in: "query", collectionFormat: "multi" }, {}],
    [{ in: "header" }, { between: "," }],
  ])("contains the format of its lists: %j", (how, style) => {
    const { between, isDeep } = parameter({ name: "a", ...how }) ?? {};
    expect({ ...(between ? { between } : {}), ...(isDeep ? { isDeep } : {}) }).toEqual(style);
  });
});

describe("a parameter's schema", () => {
  const of = (schema: unknown, rest = {}) =>
    described(
      { "/a": { get: { parameters: [{ name: "a", in: "query", schema }] } } },
      {
        components: {
          schemas: { State: { type: "string", enum: ["open"] }, Round: { $ref: "#/components/schemas/Round" } },
        },
        ...rest,
      },
    ).operations[0]?.parameters[0]?.schema;

  it.each([
    [{ $ref: "#/components/schemas/State" }, { type: "string", enum: ["open"] }],
    [
      { allOf: [{ $ref: "#/components/schemas/State" }], description: "Which." },
      { type: "string", enum: ["open"], description: "Which." },
    ],
    [{ $ref: "#/components/schemas/Round" }, {}],
    [{ $ref: "#/components/schemas/None" }, {}],
    [{ $ref: "https://evil.example/s.json" }, {}],
    [
      { type: ["integer", "null"], minimum: 1, pattern: "(a+)+$", format: "int32" },
      { type: "integer", minimum: 1 },
    ],
    [
      { type: "string", default: "open" },
      { type: "string", description: "Default open." },
    ],
    [
      { type: "array", items: { type: "string" }, maxItems: 3 },
      { type: "array", items: { type: "string" }, maxItems: 3 },
    ],
    [{ type: "file" }, {}],
    [{ oneOf: [{ type: "string" }, { type: "integer" }] }, {}],
  ])("keeps types, choices and bounds: %j", (schema, plain) => {
    expect(of(schema)).toEqual(plain);
  });

  it("is cut if it is endless", () => {
    const schemas = { Deep: { type: "array", items: { $ref: "#/components/schemas/Deep" } } };
    const level = (items: unknown) => ({ type: "array", items });
    const found = of({ $ref: "#/components/schemas/Deep" }, { components: { schemas } });
    expect(found).toEqual(level(level(level(level({})))));
  });

  it("of Swagger 2.0 is in the parameter itself", () => {
    const found = described(
      {
        "/a": {
          get: { parameters: [{ name: "a", in: "query", type: "integer", maximum: 5, description: "How many." }] },
        },
      },
      { openapi: undefined, swagger: "2.0" },
    );
    expect(found.operations[0]?.parameters[0]?.schema).toEqual({
      type: "integer",
      maximum: 5,
      description: "How many.",
    });
  });
});
