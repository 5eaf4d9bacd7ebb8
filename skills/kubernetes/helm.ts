import { firstOf, isoTime, resultSchema, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { name, namespace, newestFirst, text } from "./fields.ts";
import { kubernetesTool, listAll, METADATA_LIST } from "./service.ts";

export const helmTools = [
  kubernetesTool({
    name: "list_helm_releases",
    description:
      "Lists Helm releases, failed and pending ones first: last version, status, time, earlier versions. Does not read charts or values.",
    ...TEAM_SNAPSHOT,
    selects: ["namespace", "release"],
    input_schema: z.strictObject({
      namespace,
      release: name.optional().describe("Shows up to 20 of its versions."),
      limit: z.int().min(1).max(100).optional(),
    }),
    output_schema: resultSchema(
      "releases",
      "releases:[{ name namespace version:number status at versions:[any] }] matching:number left_out:number note",
    ),
    work: async ({ ask, own }, input) => {
      const where = input.namespace ?? own.namespace;
      const { items, unread } = await listAll(ask, {
        where,
        plural: "secrets",
        item: stored,
        labelSelector: `owner=helm${input.release ? `,name=${input.release}` : ""}`,
        accept: METADATA_LIST,
        needs: `permission to list secrets in ${where}, which the cluster role view does not grant; only their labels are read`,
      });
      const all = [...releasesOf(items, input.release ? 20 : 3)].sort(
        (a, b) => rank(a.status) - rank(b.status) || newestFirst(a, b),
      );
      const { shown, ...counts } = firstOf(all, input.limit ?? 30);
      return {
        releases: shown,
        ...counts,
        note:
          unread ??
          (all.length === 0 ? `There are no Helm releases in the secrets of ${where}. ${NO_HELM}` : undefined),
      };
    },
  }),
];

const stored = z.object({
  metadata: z.object({ namespace: text, labels: z.record(z.string(), z.string()).nullish(), creationTimestamp: text }),
});

/** Returns releases with their status. Each secret is one version, and the newest has the release's status. */
function releasesOf(secrets: readonly z.infer<typeof stored>[], most: number) {
  const versions = secrets.map(({ metadata: { namespace: where, labels, creationTimestamp } }) => ({
    release: labels?.["name"] ?? "",
    namespace: where,
    version: Number(labels?.["version"]),
    status: labels?.["status"],
    at: isoTime(Number(labels?.["modifiedAt"] ?? "none") * 1000) ?? creationTimestamp,
  }));
  const newestFirst = versions.sort((a, b) => b.version - a.version);
  const isOf = (one: { release: string; namespace?: string | null | undefined }) => (other: typeof one) =>
    one.release === other.release && one.namespace === other.namespace;
  return newestFirst
    .filter((one, index) => newestFirst.findIndex(isOf(one)) === index)
    .map(({ release, ...last }) => {
      const own = newestFirst.filter(isOf({ ...last, release })).slice(1, most + 1);
      const before = own.map(({ version, status, at }) => ({ version, status, at }));
      return { name: release, ...last, versions: before.length > 0 ? before : undefined };
    });
}

function rank(status: string | undefined): number {
  return status === "deployed" ? 1 : 0;
}

const NO_HELM = "Argo CD does not create Helm releases: call list_objects with applications.argoproj.io.";
