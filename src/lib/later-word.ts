/** What was done since with a message that failed again, or an event that was withdrawn. */
export function laterWord({ do: verb, delivered }: { do?: unknown; delivered?: unknown }): string {
  if (verb === 'replay') return delivered === true ? 'delivered' : 'replayed again'
  return verb === 'retry' ? 'retried again' : 'dropped'
}
