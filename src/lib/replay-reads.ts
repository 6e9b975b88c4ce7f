/** Counts of the events of a replay to a group that is pulled: `ReplayReads`. */
type Reads = { read?: unknown; waiting?: unknown }

/**
 * How many events of a replay its group has read: `300 of 1,043 read`, `all 1,043 read`. Undefined for
 * the outcomes of other jobs.
 */
export function readsText({ read, waiting = 0 }: Reads, isToGroup: boolean): string | undefined {
  if (!isToGroup) return undefined
  if (read === undefined) return `at least ${shown(waiting)} not read yet`
  const all = Number(read) + Number(waiting)
  if (Number(waiting) > 0) return `${shown(read)} of ${shown(all)} read`
  return all === 1 ? '1 read' : `all ${shown(all)} read`
}

/** Whether a job is a replay to a group that is pulled, whose outcomes are `ReplayReads`. */
export function isGroupReplay({ kind, target }: { kind?: unknown; target?: unknown }): boolean {
  return kind === 'replay' && Object(target).subscription === undefined
}

function shown(count: unknown): string {
  return Number(count).toLocaleString('en')
}
