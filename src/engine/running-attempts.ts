import type { Dispatch } from './dispatch-options.ts'

/** An attempt that runs now. */
export type RunningAttempt = {
  /** Its start (Unix ms). */
  since: number
  /** When the timeout of its route ends it (Unix ms). */
  timeoutAt: number
  route: string
  attempt: number
  skill?: string
}

export type RunningAttempts = ReturnType<typeof createRunningAttempts>

/** The attempts that run in this daemon, by message. Other daemons of a store know only theirs. */
export function createRunningAttempts(now: () => number) {
  const running = new Map<string, RunningAttempt>()
  return {
    of: (messageId: string) => running.get(messageId),
    /** Keeps the attempt listed until `work` ends. */
    async during<Result>(
      { message, route, attempt }: Dispatch,
      work: () => Promise<Result>,
    ): Promise<Result> {
      const skill = route.skill === undefined ? {} : { skill: route.skill }
      const since = now()
      const mine = { since, timeoutAt: since + route.timeout, route: route.name, attempt, ...skill }
      running.set(message.id, mine)
      try {
        return await work()
      } finally {
        if (running.get(message.id) === mine) running.delete(message.id)
      }
    },
  }
}
