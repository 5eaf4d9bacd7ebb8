import * as z from "zod";
import { lazy } from "../base/values.ts";
import { lazyAnyOf, optional, stringMap, strings, text, toolReach } from "./field.ts";

const clientId = lazy(() => text().describe("Client id at the authorization server"));

const mcpAuth = lazy(() => {
  const issuer = z
    .string()
    .regex(/^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/)
    .describe("Authorization server that receives the client's credentials");
  const scopes = {
    scopes: optional(strings(), "Scopes to request instead of those that the server asks for"),
  };
  const variable = (what: string) => text().describe(`Name of the variable that holds ${what}`);
  return z
    .discriminatedUnion("type", [
      z.strictObject({
        type: z.literal("client_credentials").describe("Machine client with a secret"),
        issuer,
        clientId: clientId(),
        secret: variable("the client's secret"),
        ...scopes,
      }),
      z.strictObject({
        type: z.literal("private_key_jwt").describe("Machine client with a private key"),
        issuer,
        clientId: clientId(),
        key: variable("the client's private key, as PEM"),
        ...scopes,
      }),
      z
        .strictObject({
          type: z.literal("authorization_code").describe("A person, who signs in once in a browser"),
          issuer: issuer.optional(),
          clientId: optional(text(), "Client id at the authorization server. Without it, a client is registered."),
          secret: variable("the client's secret").optional(),
          ...scopes,
        })
        .refine(({ secret, issuer }) => secret === undefined || issuer !== undefined, "secret needs issuer")
        .meta({ dependentRequired: { secret: ["issuer"] } }),
    ])
    .describe("OAuth 2.1 for a server with a url. Effective only in the user's file.");
});

export const mcpServerSchema = lazyAnyOf(["command", "url"], () => ({
  type: optional(z.enum(["stdio", "http"]), "Transport (default: stdio with a command, http with a url)"),
  command: optional(text(), "Program to start"),
  args: optional(strings(), "Arguments of the program"),
  url: optional(text(), "URL of a running server"),
  headers: optional(stringMap(), "Headers of each request. ${VARIABLE} inserts a variable declared in env."),
  env: optional(stringMap(), "Environment variables for the server, each with its purpose"),
  effects: optional(
    z.record(z.string(), z.enum(["read", "write"])),
    "Effects by tool, overriding those that the server states. read is effective only in the user's file.",
  ),
  ...toolReach(),
  auth: mcpAuth().optional(),
}));
