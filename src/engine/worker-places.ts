import type { WorkerOptions } from './worker-options.ts'

export type Places = ReturnType<typeof createPlaces>

/** Counts how many jobs may be claimed. `claimed`: those whose outcome is not stored yet. */
export function createPlaces(
  { concurrency, limits }: Pick<WorkerOptions, 'concurrency' | 'limits'>,
  claimed: { size(): number },
) {
  const perGroup = new Map<string, number>()
  /**
   * Number of running jobs that take a slot. The other jobs in `claimed` only wait until their
   * outcome is stored.
   */
  let active = 0
  /**
   * Number of running jobs that take no slot, because their work is done elsewhere or mostly waits.
   */
  let elsewhere = 0

  return {
    /**
     * Number of jobs that may begin. Up to `concurrency` ended jobs whose outcomes are being stored
     * take no slot; further ones do, so that they do not pile up with a slow store.
     */
    free: () => concurrency - Math.max(active, claimed.size() - elsewhere - concurrency),

    /**
     * How many jobs of each group may be claimed. If all slots are taken (`isFull`): only jobs that
     * take no slot.
     */
    room(isFull: boolean, withoutSlot: ReadonlySet<string> | undefined): Record<string, number> {
      const left: Record<string, number> = isFull ? { '': 0 } : {}
      for (const [group, limit] of limits?.() ?? [])
        left[group] = isFull && !withoutSlot?.has(group) ? 0 : Math.max(0, limit - (perGroup.get(group) ?? 0))
      return left
    },

    occupy(group: string, isElsewhere: boolean, change: 1 | -1): void {
      if (isElsewhere) elsewhere += change
      else active += change
      perGroup.set(group, (perGroup.get(group) ?? 0) + change)
    },
  }
}
