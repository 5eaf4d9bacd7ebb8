import type { Purpose } from "./failure.ts";

export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

export interface Answer<Data> {
  readonly data: Data;
  /** Cursor of the next page. */
  readonly nextCursor: string | undefined;
}

export interface Ask extends Purpose {
  readonly method: "GET" | "PUT" | "POST";
  readonly path: readonly string[];
  readonly query?: Query | undefined;
  readonly body?: object;
}

export type Requests = (ask: Ask) => Promise<Answer<unknown>>;
