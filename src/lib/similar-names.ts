/**
 * Names of options and arguments with a similar meaning. A command has at most a few of them; if it
 * is given another one, the error suggests the first that it has.
 */
export const SIMILAR: readonly (readonly string[])[] = [
  ['outcome', 'state', 'status'],
  ['for', 'until', 'duration', 'expires', 'ttl'],
  ['until', 'to', 'end', 'before'],
  ['since', 'from', 'after', 'start', 'newer-than'],
  ['before', 'page', 'cursor', 'offset', 'older-than'],
  ['search', 'text', 'error', 'what', 'grep', 'query', 'filter', 'match', 'contains'],
  ['limit', 'n', 'count', 'max', 'tail', 'lines', 'top', 'last', 'first', 'size'],
  ['no-approve', 'deny', 'reject', 'decline', 'refuse'],
  ['route', 'group', 'queue', 'skill'],
  ['gateway', 'channel', 'source', 'transport'],
  ['by', 'user', 'who', 'author', 'actor'],
  ['sender', 'from', 'user', 'who', 'search'],
  ['reason', 'comment', 'note', 'message', 'm'],
  ['follow', 'f', 'watch', 'w'],
  ['yes', 'confirm', 'force', 'y'],
  ['json', 'output', 'o', 'format'],
]

/** The first known name with a similar meaning; undefined without one. */
export function similarName(given: string, known: readonly string[]): string | undefined {
  return SIMILAR.filter((names) => names.includes(given))
    .flat()
    .find((name) => name !== given && known.includes(name))
}
