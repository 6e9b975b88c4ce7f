import { messageOfJob } from '../../core/resumed-job.ts'
import type { HeldCalls } from './held-calls.ts'
import { HANDOVER_CLICK, type Pause } from './records.ts'

/** The fields of a job by which pauses hold it. `group`: its route, or the skill of a schedule. */
export type PausableJob = { id: string; lane: string; group: string }

export type Route = { name: string; skill?: string | undefined }

/**
 * Finds the pauses of objects and of jobs, among those of the last `use`. `calls`: the jobs whose runs
 * called a paused skill.
 */
export function createPauseLookup(
  routes: () => readonly Route[],
  now: () => number,
  calls: Pick<HeldCalls, 'skillOf'>,
) {
  let isEmpty = true
  /** The keys: the name of a gateway, route or skill; `gateway/conversation` of a conversation. */
  let pauses: Record<Pause['kind'], Map<string, Pause>> = byKind([])

  const isExpired = (pause: Pause) => (pause.until ?? Infinity) <= now()
  const find = (kind: Pause['kind'], name: string) => {
    const found = isEmpty ? undefined : pauses[kind].get(name)
    return found && !isExpired(found) ? found : undefined
  }
  const findConversation = ({ id, lane }: Pick<PausableJob, 'id' | 'lane'>) => {
    // The lane of a message without an order is its conversation and its id.
    const conversation = lane.endsWith(`/${id}`) ? lane.slice(0, -id.length - 1) : lane
    return find('conversation', conversation) ?? find('conversation', lane)
  }
  const findSkill = ({ group }: PausableJob) => {
    if (pauses.skill.size === 0) return undefined
    const skill = routes().find(({ name }) => name === group)?.skill
    return skill === undefined ? undefined : find('skill', skill)
  }
  /** The pause of the skill that the run of a job called. */
  const findCalled = (job: string) => {
    const skill = pauses.skill.size === 0 ? undefined : calls.skillOf(job)
    return skill === undefined ? undefined : find('skill', skill)
  }

  return {
    use(next: readonly Pause[]): void {
      isEmpty = next.length === 0
      pauses = byKind(next)
    },
    isExpired,
    find,
    findCalled,
    /**
     * The pauses for which a dispatch job waits: of its gateway, route, skill and conversation, and of
     * the skill that its run called.
     */
    pausesOf(job: PausableJob): Pause[] {
      if (isEmpty) return []
      const gateway = job.lane.slice(0, job.lane.indexOf('/'))
      const found = [find('gateway', gateway), find('route', job.group)]
      if (job.group !== HANDOVER_CLICK) {
        const conversation = findConversation(job)
        const isHeld = conversation?.kind === 'conversation' && !conversation.drop
        found.push(findSkill(job), isHeld ? conversation : undefined, findCalled(messageOfJob(job.id)))
      }
      return [...new Set(found)].filter((pause) => pause !== undefined)
    },
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
