import { fieldOf, type LineRecord } from "../line/record.ts";

/** Service, host or the like of a record: kind and name. */
export type Group = readonly [by: string, name: string];

const FIELDS = [
  ...["service", "service.name", "service_name", "serviceName", "app", "application", "component"],
  ...["container", "container_name", "kubernetes.container_name", "pod", "pod_name", "kubernetes.pod_name"],
  ...["host", "hostname", "host.name", "instance", "node", "server", "region", "zone"],
];
const SYSLOG =
  /^(?:<\d{1,3}>)?(?:[A-Z][a-z]{2} [ \d]\d [\d:]{8}|\d{4}-\d\d-\d\dT[\d:.]{8,18}(?:Z|[+-][\d:]{4,6})?) ([\w.-]{1,64}) ([\w./-]{1,64})(?:\[\d{1,9}\])?: /;
const LOOKED_AT = 500;
const LONGEST_NAME = 100;

/** Returns a function for the groups of one file's records. Only names that its first records have are looked up. */
export function groupsOf() {
  const found = new Set<string>();
  let seen = 0;
  return {
    of({ format, fields }: LineRecord, text: string): readonly Group[] {
      if (format === "text") {
        const [, host, program] = SYSLOG.exec(text) ?? [];
        return host === undefined || program === undefined
          ? []
          : [
              ["host", host],
              ["program", program],
            ];
      }
      const isNew = seen++ < LOOKED_AT;
      const groups: Group[] = [];
      for (const field of isNew ? FIELDS : found) {
        const value = fieldOf(fields, field);
        if (typeof value !== "string" || value === "" || value.length > LONGEST_NAME) continue;
        found.add(field);
        groups.push([field, value]);
      }
      return groups;
    },
  };
}
