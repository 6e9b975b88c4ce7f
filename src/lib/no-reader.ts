/** The warning that nobody reads a group: since when, and who read last, if that is known. */
export type NoReader = { since?: string | undefined; by?: string | undefined }

/** `No reader since 2026-11-30 00:06 UTC (8 h). The last one was ada@desk.` */
export function noReaderText({ since, by }: NoReader): string {
  if (since === undefined) return 'No reader since the daemon started.'
  return `No reader since ${since}.${by === undefined ? '' : ` The last one was ${by}.`}`
}

/** `a reader of audit: none since 2026-11-30 10:16 UTC. The last one was ada@desk.` */
export function waitsForReader(group: unknown, { since, by }: NoReader): string {
  const start = since === undefined ? 'the daemon started' : since
  return `a reader of ${group}: none since ${start}.${by === undefined ? '' : ` The last one was ${by}.`}`
}
