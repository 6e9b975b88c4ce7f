/** A run of a skill that has not ended. */
export type RunningRun = {
  /** Its start (Unix ms). */
  since: number
  /** Who started it, as in `Run`. */
  by: string
  messageId?: string
}

/** Maximum number of runs in the result for one skill. */
const MAX_LISTED = 30

export type RunningRuns = ReturnType<typeof createRunningRuns>

/** The runs of skills under way in this daemon. It does not know those of other daemons. */
export function createRunningRuns() {
  const bySkill = new Map<string, Set<RunningRun>>()
  return {
    /** Adds a run. Returns the function that removes it. */
    begin(skill: string, run: RunningRun): () => void {
      const runs = bySkill.get(skill) ?? new Set()
      bySkill.set(skill, runs)
      runs.add(run)
      return () => {
        runs.delete(run)
        if (runs.size === 0 && bySkill.get(skill) === runs) bySkill.delete(skill)
      }
    },
    skills: () => [...bySkill.keys()],
    /** The number of runs of a skill, and the oldest ones, oldest first. */
    of(skill: string): { count: number; oldest: RunningRun[] } {
      const runs = bySkill.get(skill) ?? new Set()
      return { count: runs.size, oldest: [...runs].slice(0, MAX_LISTED) }
    },
  }
}
