import { register } from "node:module";

/**
 * The suite's program imports `globSync`, which Node 20 does not have, for a command that the tests do not use. Loaded
 * before it by `--import`.
 */
const FS = "export * from 'node:fs'; export const globSync = () => { throw new Error('there is no glob here'); };";
const HOOKS = `
export function resolve(specifier, context, next) {
  const isSuite = context.parentURL?.includes("@modelcontextprotocol/conformance/");
  if (specifier !== "fs" || !isSuite) return next(specifier, context);
  return { url: ${JSON.stringify(dataUrl(FS))}, shortCircuit: true };
}`;

register(dataUrl(HOOKS));

function dataUrl(source) {
  return `data:text/javascript,${encodeURIComponent(source)}`;
}
