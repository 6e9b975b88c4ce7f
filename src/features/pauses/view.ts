import { messageOfJob } from '../../core/resumed-job.ts'
import type { HeldCalls } from './held-calls.ts'
import { createHeldTimes } from './held-times.ts'
import { HANDOVER_CLICK, NOTHING_PAUSED, type Pause, type PauseState } from './records.ts'

/** The fields of a job by which pauses hold it. `group`: its route, or the skill of a schedule. */
export type PausableJob = { id: string; lane: string; group: string }

type Route = { name: string; skill?: string | undefined }

/**
 * The pauses known to this daemon, which are checked for every claimed job. Without pauses, the
 * check costs nothing. `calls`: the jobs whose runs called a paused skill.
 */
export function createPauseView(
  routes: () => readonly Route[],
  now: () => number,
  calls: Pick<HeldCalls, 'skillOf'> = { skillOf: () => undefined },
) {
  let state = NOTHING_PAUSED
  let isEmpty = true
  /** The keys: the name of a gateway, route or skill; `gateway/conversation` of a conversation. */
  let pauses: Record<Pause['kind'], Map<string, Pause>> = byKind([])
  let heldFor = createHeldTimes([], routes)

  const isExpired = (pause: Pause) => (pause.until ?? Infinity) <= now()
  const find = (kind: Pause['kind'], name: string) => {
    const found = pauses[kind].get(name)
    return found && !isExpired(found) ? found : undefined
  }
  const findConversation = ({ id, lane }: Pick<PausableJob, 'id' | 'lane'>) => {
    // The lane of a message without an order is its conversation and its id.
    const conversation = lane.endsWith(`/${id}`) ? lane.slice(0, -id.length - 1) : lane
    return find('conversation', conversation) ?? find('conversation', lane)
  }

  const cancelOf = (messageId: string) => state.cancels.find((one) => one.messageId === messageId)
  /** The job of a message that was given up ends before it runs, so that no pause holds it. */
  const isGivenUp = ({ id }: PausableJob) => cancelOf(messageOfJob(id))?.isGivenUp === true

  const findCalled = (job: string) => {
    const skill = pauses.skill.size === 0 ? undefined : calls.skillOf(job)
    return skill === undefined ? undefined : find('skill', skill)
  }

  /**
   * The pauses for which a dispatch job waits: of its gateway, route, skill and conversation, and of
   * the skill that its run called.
   */
  const pausesOf = (job: PausableJob): Pause[] => {
    if (isEmpty) return []
    const gateway = job.lane.slice(0, job.lane.indexOf('/'))
    const found = [find('gateway', gateway), find('route', job.group)]
    if (job.group !== HANDOVER_CLICK) {
      const conversation = findConversation(job)
      const isHeld = conversation?.kind === 'conversation' && !conversation.drop
      found.push(findSkill(job), isHeld ? conversation : undefined, findCalled(messageOfJob(job.id)))
    }
    return [...new Set(found)].filter((pause) => pause !== undefined)
  }
  const findSkill = ({ group }: PausableJob) => {
    if (pauses.skill.size === 0) return undefined
    const skill = routes().find(({ name }) => name === group)?.skill
    return skill === undefined ? undefined : find('skill', skill)
  }

  return {
    use(next: PauseState): void {
      state = next
      isEmpty = next.pauses.length === 0
      pauses = byKind(next.pauses)
      heldFor = createHeldTimes(next.ended ?? [], routes)
    },
    /**
     * How long (ms) pauses that have ended held a dispatch job between two times (Unix ms), so that
     * a pause does not count as latency.
     */
    heldFor: (job: PausableJob, from: number, to: number) => heldFor(job, from, to),
    state: () => state,
    list: () => state.pauses.filter((pause) => !isExpired(pause)),
    isExpired,
    /**
     * Whether a dispatch job waits. In a conversation paused with `drop`, messages do not wait:
     * they end without a run of their skill.
     */
    holds: (job: PausableJob): boolean => !isEmpty && !isGivenUp(job) && pausesOf(job).length > 0,
    pausesOf,
    /** The pause of a skill. */
    pauseOfSkill: (skill: string) => (isEmpty ? undefined : find('skill', skill)),
    /** Whether a run of a skill without a message waits: of a schedule, or of a subscribed event. */
    holdsRun: ({ id, group: skill }: Pick<PausableJob, 'id' | 'group'>) =>
      !isEmpty && (find('skill', skill) ?? findCalled(id)) !== undefined,
    /** The pause of a conversation, if it has `drop`. */
    dropPauseOf({ gateway, conversation }: { gateway: string; conversation: string }): Pause | undefined {
      if (isEmpty) return undefined
      const pause = find('conversation', `${gateway}/${conversation}`)
      return pause?.kind === 'conversation' && pause.drop ? pause : undefined
    },
    /**
     * The pause of a conversation. `isAnswered`: its gateway began it because it noticed an answer
     * of a person. Then its author is `<gateway>:<person>`, such as `support:ada@example.com`.
     */
    holdOf({ gateway, conversation }: { gateway: string; conversation: string }) {
      const pause = isEmpty ? undefined : find('conversation', `${gateway}/${conversation}`)
      return pause && { ...pause, isAnswered: pause.by.startsWith(`${gateway}:`) }
    },
    cancelOf,
  }
}

function byKind(pauses: readonly Pause[]): Record<Pause['kind'], Map<string, Pause>> {
  const keyOf = (pause: Pause) =>
    pause.kind === 'conversation' ? `${pause.gateway}/${pause.name}` : pause.name
  const mapOf = (kind: Pause['kind']) =>
    new Map(pauses.filter((pause) => pause.kind === kind).map((pause) => [keyOf(pause), pause]))
  return {
    gateway: mapOf('gateway'),
    route: mapOf('route'),
    skill: mapOf('skill'),
    conversation: mapOf('conversation'),
  }
}
