import type { Json, JsonObject } from "./values.ts";

/**
 * The values that fit a JSON Schema that is written in place: told from `type`, `properties`, `required`, `items`, `enum` and
 * `const`. What says less, or says it by other keywords, is Json.
 */
export type Inferred<Schema> = Schema extends { readonly const: infer Value }
  ? Value
  : Schema extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : Schema extends { readonly type: readonly (infer Name)[] }
      ? OfEach<Name, Schema>
      : Schema extends { readonly type: infer Name }
        ? OfType<Name, Schema>
        : Json;

/** Of the input of a tool, which is an object whether or not its schema says so. */
export type InferredInput<Schema> = Schema extends { readonly type: unknown }
  ? Inferred<Schema>
  : Schema extends { readonly properties: unknown }
    ? OfType<"object", Schema>
    : JsonObject;

/** One name at a time. */
type OfEach<Name, Schema> = Name extends unknown ? OfType<Name, Schema> : never;

type OfType<Name, Schema> = Name extends "string"
  ? string
  : Name extends "number" | "integer"
    ? number
    : Name extends "boolean"
      ? boolean
      : Name extends "null"
        ? null
        : Name extends "array"
          ? readonly ItemOf<Schema>[]
          : Name extends "object"
            ? ObjectOf<Schema>
            : Json;

type ItemOf<Schema> = Schema extends { readonly items: infer Item } ? Inferred<Item> : Json;

type ObjectOf<Schema> = Schema extends { readonly properties: infer Properties }
  ? Flat<
      {
        readonly [Key in keyof Properties as Key extends RequiredOf<Schema> ? Key : never]: Inferred<Properties[Key]>;
      } & {
        readonly [Key in keyof Properties as Key extends RequiredOf<Schema> ? never : Key]?: Inferred<Properties[Key]>;
      } & { readonly [Key in Exclude<RequiredOf<Schema>, keyof Properties>]: Json }
    >
  : JsonObject;

type RequiredOf<Schema> = Schema extends { readonly required: readonly (infer Name extends string)[] } ? Name : never;

/** As people read it in an editor. */
type Flat<Value> = { readonly [Key in keyof Value]: Value[Key] };
