import { defineSkill } from "skillflow";
import { probeWith, secret, setting, variables } from "skillflow/internal";
import * as z from "zod";
import { eventTools } from "./events.ts";
import { text } from "./fields.ts";
import { helmTools } from "./helm.ts";
import { kindTools } from "./kinds.ts";
import { logTools } from "./logs.ts";
import { lackingCluster } from "./place.ts";
import { podTools } from "./pods.ts";
import { listOf, pathOf, withKubernetes } from "./service.ts";
import { nodeTools, usageTools } from "./usage.ts";
import { workloadTools } from "./workloads.ts";

export default defineSkill({
  id: "kubernetes",
  name: "Kubernetes",
  description:
    "Reads a Kubernetes cluster: pods, events, logs, workloads, rollouts, nodes, resource usage, objects of any kind, Helm releases. It changes nothing.",
  category: "observability",
  config: variables({
    KUBECONFIG: setting(
      "file",
      "Path of a kubeconfig file whose user has a token or a certificate. Programs that supply tokens are not run. An http or https `proxy-url` of its cluster is used. Without it, a pod uses its service account.",
    ),
    KUBERNETES_CONTEXT: setting("text", "Context of the kubeconfig file. Default: the current one."),
    KUBERNETES_URL: setting(
      "base_url",
      "Address of the API server, instead of a kubeconfig file: https://k8s.example.com:6443.",
    ),
    KUBERNETES_TOKEN: secret(
      "token",
      "A token of a service account with the cluster role view, and get and list on nodes. Only list_helm_releases needs list on secrets. Replaces the kubeconfig user's token if both are set.",
    ),
    KUBERNETES_CA: setting(
      "text",
      "With KUBERNETES_URL: the cluster's certificate authority, as PEM or the path of a PEM file.",
    ),
  }),
  // Checks that pods can be listed, which most tools need.
  probe: probeWith(withKubernetes, async ({ ask, own: { namespace } }) => {
    const needs = `permission to list pods in ${namespace}`;
    const answer = listOf(z.object({ metadata: z.object({ name: text }) }));
    await ask({ path: pathOf("v1", namespace, "pods"), query: { limit: 1 }, needs, answer });
    return `can list pods in the namespace ${namespace}`;
  }),
  lacks: async (run) => lackingCluster(run),
  tools: [
    ...podTools,
    ...logTools,
    ...eventTools,
    ...workloadTools,
    ...nodeTools,
    ...usageTools,
    ...kindTools,
    ...helmTools,
  ],
});
