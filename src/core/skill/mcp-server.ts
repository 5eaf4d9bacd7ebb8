import * as z from "zod";
import { lazy } from "../base/values.ts";
import { anyRequired, atLeastOne, stringMap, strings, text, toolReach } from "./field.ts";

const clientId = lazy(() => text().describe("the client's id at the authorization server"));

const mcpAuth = lazy(() => {
  const issuer = z
    .string()
    .regex(/^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/)
    .describe("the authorization server that is given the client's secret");
  const scopes = { scopes: strings().optional().describe("in place of those that the server asks for") };
  const variable = (what: string) => text().describe(`the name of the variable that holds ${what}`);
  return z
    .discriminatedUnion("type", [
      z.strictObject({
        type: z.literal("client_credentials").describe("a machine with a secret"),
        issuer,
        clientId: clientId(),
        secret: variable("the client's secret"),
        ...scopes,
      }),
      z.strictObject({
        type: z.literal("private_key_jwt").describe("a machine with a private key"),
        issuer,
        clientId: clientId(),
        key: variable("the client's private key, as PEM"),
        ...scopes,
      }),
      z
        .strictObject({
          type: z.literal("authorization_code").describe("a person, asked once in a browser"),
          issuer: issuer.optional(),
          clientId: text().optional().describe("without it, one is registered"),
          secret: variable("the client's secret").optional(),
          ...scopes,
        })
        .refine(({ secret, issuer }) => secret === undefined || issuer !== undefined, "secret needs issuer")
        .meta({ dependentRequired: { secret: ["issuer"] } }),
    ])
    .describe("OAuth 2.1 for a server at an address; counts in the user's file");
});

export const mcpServerSchema = lazy(() =>
  z
    .strictObject({
      type: z.enum(["stdio", "http"]).optional().describe("default: by whether there is a command or an url"),
      command: text().optional().describe("the program that is started"),
      args: strings().optional().describe("its arguments"),
      url: text().optional().describe("the address of a server that runs"),
      headers: stringMap().optional().describe("sent with each request; ${VARIABLE} stands for one that env declares"),
      env: stringMap().optional().describe("variables that it is given, each with what it is for"),
      effects: z
        .record(z.string(), z.enum(["read", "write"]))
        .optional()
        .describe("tool -> its effect, whatever the server says; read counts in the user's file"),
      ...toolReach(),
      auth: mcpAuth().optional(),
    })
    .refine(...atLeastOne(["command", "url"]))
    .meta({ anyOf: anyRequired(["command", "url"]) }),
);
