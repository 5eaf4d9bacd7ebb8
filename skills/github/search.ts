/** Returns a search query limited to the repository, unless the query names a scope itself. */
export function searchQuery(query: string, repository: string | undefined, extra: readonly string[] = []): string {
  const isPlaced = /(^|\s)(repo|org|user):/.test(query);
  return [query, ...extra, ...(repository && !isPlaced ? [`repo:${repository}`] : [])].join(" ");
}
