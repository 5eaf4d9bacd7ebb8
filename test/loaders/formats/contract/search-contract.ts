/** A complete contract of the declarative format. */
export const CONTRACT = `id: filesystem.search
version: "1.0.0"
description: >
  Search files by name or content and return matching paths.
input:
  type: object
  properties:
    query:
      type: string
      description: Text to search for
    recursive:
      type: boolean
      default: true
    limit:
      type: integer
      minimum: 1
      maximum: 100
      default: 10
  required: [query]
output:
  type: object
  properties:
    matches:
      type: array
      items:
        type: object
        properties:
          path:
            type: string
          score:
            type: number
metadata:
  side_effects: false
  latency: low
  idempotent: true
`;
