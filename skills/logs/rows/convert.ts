/** Converter of text, which comes in pieces, to rows without line breaks. */
export interface Convert {
  push(text: string): Generator<string>;
  end(): Generator<string>;
}
