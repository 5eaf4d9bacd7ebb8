import { createRequire } from "node:module";
import { keyOf, SkillflowError, type ToolContext } from "skillflow";
import type { Credentials } from "./signature.ts";

const PACKAGE = "@aws-sdk/credential-providers";

/** What is used of AWS's own package. */
export interface Providers {
  fromNodeProviderChain(options: { readonly profile?: string }): () => Promise<Credentials>;
}

/**
 * Keys of config, or else what AWS's own chain finds: profiles, single sign-on, web identities, containers and instances.
 */
export async function credentialsOf(
  { config, offline }: Pick<ToolContext, "config" | "offline">,
  load: () => Providers | undefined = loadProviders,
): Promise<Credentials> {
  const accessKeyId = keyOf(config, "AWS_ACCESS_KEY_ID");
  const secretAccessKey = keyOf(config, "AWS_SECRET_ACCESS_KEY");
  if (accessKeyId && secretAccessKey)
    return { accessKeyId, secretAccessKey, sessionToken: keyOf(config, "AWS_SESSION_TOKEN") };
  const providers = load();
  if (!providers) throw new Error(`${NO_KEYS}.`);
  if (offline) throw new SkillflowError("offline.refused", "AWS was not asked for credentials: the run is offline");
  const profile = config["AWS_PROFILE"]?.trim();
  return providers.fromNodeProviderChain(profile ? { profile } : {})();
}

const NO_KEYS = `AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and the package ${PACKAGE}, which finds them elsewhere, is not installed beside skillflow`;

/** Why nothing can be asked; undefined where it may be. */
export function lackingCredentials({ config }: Pick<ToolContext, "config">, load = loadProviders): string | undefined {
  const hasKeys = Boolean(config["AWS_ACCESS_KEY_ID"]?.trim() && config["AWS_SECRET_ACCESS_KEY"]?.trim());
  return hasKeys || load() ? undefined : NO_KEYS;
}

/** Beside us, as those who installed us did; never in a checkout. */
function loadProviders(): Providers | undefined {
  const near = createRequire(import.meta.url);
  try {
    return near(PACKAGE) as Providers;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "MODULE_NOT_FOUND") throw error;
    return undefined;
  }
}
