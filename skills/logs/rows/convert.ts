/** Makes rows of a text that comes in pieces. A row has no line end. */
export interface Convert {
  push(text: string): Generator<string>;
  end(): Generator<string>;
}
