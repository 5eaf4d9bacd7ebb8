import { createServer } from "node:http";
import { boardAt, COMMITS, KNOWN_ON_GITHUB, releaseOf, sentryEvent, sentryIssue, sentryIssueDetails } from "./data.mjs";

/** Simulates Sentry and GitHub on this machine: returns the board's data, and accepts no writes. */

/** `look` is the number of the run, starting with 1. */
export async function startServices() {
  const services = { look: 1 };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://localhost");
    const answer = request.method === "GET" ? answerOf(pathname, searchParams, services.look) : undefined;
    response.writeHead(answer ? 200 : 404, { "content-type": "application/json", ...answer?.headers });
    response.end(JSON.stringify(answer?.body ?? { detail: "The requested resource does not exist" }));
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const url = `http://127.0.0.1:${server.address().port}`;
  const close = () => new Promise((done) => server.close(done));
  return Object.assign(services, { url, close, environment: environmentFor(url) });
}

/** Configuration of the skills. The tokens are not real. */
function environmentFor(url) {
  return {
    ...{
      SENTRY_AUTH_TOKEN: "stand-in-for-sentry-0001",
      SENTRY_BASE_URL: url,
      SENTRY_ORG: "acme",
      SENTRY_PROJECT: "shop",
    },
    ...{ GITHUB_TOKEN: "stand-in-for-github-0001", GITHUB_API_URL: `${url}/github`, GITHUB_REPOSITORY: "acme/shop" },
  };
}

function answerOf(path, query, look) {
  const of = (pattern) => pattern.exec(path)?.slice(1).map(decodeURIComponent);
  const faults = boardAt(look);
  const known = (id) => faults.find(({ number }) => [`SHOP-${number}`, String(4000 + number)].includes(id));
  const one = (id, told) => (known(id) ? { body: told(known(id)) } : undefined);
  if (of(/^\/api\/0\/organizations\/acme\/issues\/$/)) return pageOf(faults, query);
  const [issue] = of(/^\/api\/0\/organizations\/acme\/issues\/([^/]+)\/$/) ?? [];
  if (issue) return one(issue, sentryIssueDetails);
  const [withEvent] =
    of(/^\/api\/0\/organizations\/acme\/issues\/([^/]+)\/events\/(?:latest|oldest|recommended)\/$/) ?? [];
  if (withEvent) return one(withEvent, sentryEvent);
  const [release] = of(/^\/api\/0\/organizations\/acme\/releases\/([^/]+)\/$/) ?? [];
  if (release) return { body: releaseOf(release) };
  if (of(/^\/api\/0\/organizations\/acme\/releases\/([^/]+)\/commits\/$/)) return { body: COMMITS };
  if (of(/^\/github\/repos\/acme\/shop$/))
    return { body: { full_name: "acme/shop", private: true, visibility: "private" } };
  if (of(/^\/github\/search\/issues$/)) return { body: foundOnGithub(query.get("q") ?? "") };
  return undefined;
}

/** Returns one page, as Sentry does: the cursor of the next one is in the Link header. */
function pageOf(faults, query) {
  const limit = Number(query.get("limit") ?? 100);
  const from = Number(query.get("cursor")?.split(":")[1] ?? 0);
  const more = from + limit < faults.length;
  const link = `<http://localhost/next>; rel="next"; results="${more}"; cursor="0:${from + limit}:0"`;
  return { body: faults.slice(from, from + limit).map(sentryIssue), headers: { link } };
}

function foundOnGithub(words) {
  const items = /UploadError/.test(words) ? [KNOWN_ON_GITHUB] : [];
  return { total_count: items.length, incomplete_results: false, items };
}
