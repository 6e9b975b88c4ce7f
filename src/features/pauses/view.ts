import { messageOfJob } from '../../core/resumed-job.ts'
import type { HeldCalls } from './held-calls.ts'
import { createHeldTimes } from './held-times.ts'
import { createPauseLookup, type PausableJob, type Route } from './lookup.ts'
import { type EndedPause, NOTHING_PAUSED, type Pause, type PauseState } from './records.ts'

/**
 * The pauses known to this daemon, which are checked for every claimed job. Without pauses, the
 * check costs nothing. `calls`: the jobs whose runs called a paused skill. `runQueues`: the queues of
 * runs without a message.
 */
export function createPauseView(
  routes: () => readonly Route[],
  now: () => number,
  calls: Pick<HeldCalls, 'skillOf'> = { skillOf: () => undefined },
  runQueues: readonly string[] = [],
) {
  let state = NOTHING_PAUSED
  let heldFor = createHeldTimes([], routes)
  const { find, findCalled, pausesOf, isExpired, use } = createPauseLookup(routes, now, calls)

  const cancelOf = (messageId: string) => state.cancels.find((one) => one.messageId === messageId)
  /** The job of a message that was given up ends before it runs, so that no pause holds it. */
  const isGivenUp = ({ id }: PausableJob) => cancelOf(messageOfJob(id))?.isGivenUp === true

  /** The pause for which a run of a skill without a message waits: of a schedule, or of an event. */
  const pauseOfRun = ({ id, group: skill }: Pick<PausableJob, 'id' | 'group'>) =>
    find('skill', skill) ?? findCalled(id)

  return {
    runQueues,
    use(next: PauseState): void {
      state = next
      use(next.pauses)
      heldFor = createHeldTimes(next.ended ?? [], routes)
    },
    /**
     * How long (ms) pauses that have ended held a dispatch job between two times (Unix ms), so that
     * a pause does not count as latency.
     */
    heldFor: (job: PausableJob, from: number, to: number) => heldFor(job, from, to),
    state: () => state,
    list: () => state.pauses.filter((pause) => !isExpired(pause)),
    /** The pauses that have ended since a time (Unix ms), oldest first. */
    endedSince(at: number): EndedPause[] {
      const justOver = state.pauses
        .filter(isExpired)
        .map((pause) => ({ ...pause, endedAt: pause.until ?? now() }))
      return [...(state.ended ?? []), ...justOver].filter(({ endedAt }) => endedAt >= at)
    },
    isExpired,
    /**
     * Whether a dispatch job waits. In a conversation paused with `drop`, messages do not wait:
     * they end without a run of their skill.
     */
    holds: (job: PausableJob): boolean => pausesOf(job).length > 0 && !isGivenUp(job),
    pausesOf,
    /** The pause of a skill. */
    pauseOfSkill: (skill: string) => find('skill', skill),
    pauseOfRun,
    /** Whether such a run waits. */
    holdsRun: (job: Pick<PausableJob, 'id' | 'group'>) => pauseOfRun(job) !== undefined,
    /** The pause of a conversation, if it has `drop`. */
    dropPauseOf({ gateway, conversation }: { gateway: string; conversation: string }): Pause | undefined {
      const pause = find('conversation', `${gateway}/${conversation}`)
      return pause?.kind === 'conversation' && pause.drop ? pause : undefined
    },
    /**
     * The pause of a conversation. `isAnswered`: its gateway began it because it noticed an answer
     * of a person. Then its author is `<gateway>:<person>`, such as `support:ada@example.com`.
     */
    holdOf({ gateway, conversation }: { gateway: string; conversation: string }) {
      const pause = find('conversation', `${gateway}/${conversation}`)
      return pause && { ...pause, isAnswered: pause.by.startsWith(`${gateway}:`) }
    },
    cancelOf,
  }
}
