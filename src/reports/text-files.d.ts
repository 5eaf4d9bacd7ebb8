/** A file's text, inlined: esbuild reads the attribute `type`, and Vite the query. */
declare module "*?raw" {
  const text: string;
  export default text;
}
