import { defineSkill } from "skillflow";
import { describeAccess } from "./access.ts";
import { eventTools } from "./events.ts";
import { helmTools } from "./helm.ts";
import { kindTools } from "./kinds.ts";
import { logTools } from "./logs.ts";
import { nodeTools } from "./nodes.ts";
import { lackingCluster } from "./place.ts";
import { podTools } from "./pods.ts";
import { usageTools } from "./usage.ts";
import { workloadTools } from "./workloads.ts";

export default defineSkill({
  id: "kubernetes",
  name: "Kubernetes",
  description:
    "Reads a Kubernetes cluster: pods, events, logs, workloads, rollouts, nodes, resource usage, objects of any kind, Helm releases. It changes nothing.",
  category: "observability",
  config: {
    KUBECONFIG: {
      description:
        "Path of a kubeconfig file whose user has a token or a certificate. Programs that supply tokens are not run. Without it, a pod uses its service account.",
      env: "KUBECONFIG",
      format: "file",
      secret: false,
    },
    KUBERNETES_CONTEXT: {
      description: "Context of the kubeconfig file. Default: the current one.",
      env: "KUBERNETES_CONTEXT",
      format: "text",
      secret: false,
    },
    KUBERNETES_URL: {
      description: "Address of the API server, instead of a kubeconfig file: https://k8s.example.com:6443.",
      env: "KUBERNETES_URL",
      format: "base_url",
      secret: false,
    },
    KUBERNETES_TOKEN: {
      description:
        "A token of a service account with the cluster role view, and get and list on nodes. Only list_helm_releases needs list on secrets. Replaces the kubeconfig user's token if both are set.",
      env: "KUBERNETES_TOKEN",
      format: "token",
    },
    KUBERNETES_CA: {
      description: "With KUBERNETES_URL: the cluster's certificate authority, as PEM or the path of a PEM file.",
      env: "KUBERNETES_CA",
      format: "text",
      secret: false,
    },
  },
  probe: describeAccess,
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
