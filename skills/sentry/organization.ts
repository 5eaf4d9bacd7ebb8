import { Refusal } from "./failure.ts";
import type { Requests } from "./request.ts";

/** Returns the only organization that the token can see. Throws if there is none or more than one. */
export async function onlyOrganization(request: Requests): Promise<string> {
  const { data } = await request({ method: "GET", path: ["organizations"], scope: "org:read" });
  const slugs = (data as readonly { readonly slug: string }[]).map(({ slug }) => slug);
  const [slug] = slugs;
  if (slug !== undefined && slugs.length === 1) return slug;
  const choice = slugs.length === 0 ? "the token sees none" : `the token sees ${slugs.slice(0, 20).join(", ")}`;
  throw new Error(`Name the organization: SENTRY_ORG sets no default, and ${choice}.`);
}

/** Explains a 404, which Sentry returns both for a wrong name and for a wrong or hidden organization. */
export async function explaining404<Result>(
  request: Requests,
  organization: string,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refusal) || error.answer.status !== 404) throw error;
    const what = `404 for ${error.request.method} ${error.request.path}`.slice(0, 300);
    if (await isVisible(request, organization)) {
      throw new Error(
        `The organization ${organization} exists, but not what was asked for in it (${what}): the issue, project or name is wrong, or in a project that SENTRY_AUTH_TOKEN cannot see.`,
      );
    }
    throw new Error(
      `The organization ${organization} was not found (${what}): its slug is wrong, SENTRY_AUTH_TOKEN is not for it, or it is on another server than SENTRY_BASE_URL.`,
    );
  }
}

async function isVisible(request: Requests, organization: string): Promise<boolean> {
  try {
    const query = { per_page: 1 };
    await request({ method: "GET", path: ["organizations", organization, "projects"], query, scope: "org:read" });
    return true;
  } catch (error) {
    // 403 means that the organization exists, but the token may not list its projects.
    if (error instanceof Refusal && error.answer.status < 500) return error.answer.status === 403;
    throw error;
  }
}
