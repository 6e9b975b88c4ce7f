type Later = { do?: unknown; delivered?: unknown; now?: unknown; count?: unknown; job?: unknown }

/** What became since of a dead letter that a job left, or of an event that was withdrawn. */
export function laterWord({ do: verb, delivered, now, count = 1 }: Later): string {
  if (verb === 'replay') return delivered === true ? 'delivered' : 'replayed again'
  if (verb !== 'retry' || now === 'dropped') return 'dropped'
  if (now === 'done') return 'done'
  if (now === 'dead') return count === 1 ? 'dead letter again' : 'dead letters again'
  return 'retried again'
}

/** A count of what became since, in one word. `job`: the one that did it, if it was only one. */
type Since = { word: string; count: number; job?: string }

/** What became since of what a job left: `5 done`, `2 dropped`. No word comes twice. */
export function sinceCounts(later: unknown): Since[] {
  const all: Later[] = (Array.isArray(later) ? later : []).map((each) => Object(each))
  // The singular and the plural are one word.
  const groups = Map.groupBy(all, (each) => laterWord({ ...each, count: 1 }))
  return [...groups.values()].map((group) => {
    const count = group.reduce((sum, each) => sum + Number(each.count ?? 0), 0)
    const jobs = new Set(group.map(({ job }) => job))
    const [job] = jobs
    const isOne = jobs.size === 1 && typeof job === 'string'
    return { word: laterWord({ ...group[0], count }), count, ...(isOne && { job }) }
  })
}

/** What became of them, and where: `dead letters again in job 2f8e0c11`, or `dropped since`. */
export function sinceWord({ word, job }: { word: string; job?: unknown }): string {
  return job === undefined ? `${word} since` : `${word} in job ${String(job).slice(-8)}`
}

/** How many of the dead letters that a retry left were handled since, by how they were left. */
export function handledSince(later: unknown): { failed: number; withdrawn: number } {
  const all: object[] = (Array.isArray(later) ? later : []).map((each) => Object(each))
  const counts = { failed: 0, withdrawn: 0 }
  for (const each of all) {
    const { do: verb, count, withdrawn }: Record<string, unknown> = { ...each }
    if (verb !== 'replay') counts[withdrawn === true ? 'withdrawn' : 'failed'] += Number(count ?? 0)
  }
  return counts
}
