import { defined } from '../../lib/defined.ts'
import { HANDOVER_CLICK, NOTHING_PAUSED, type Pause, type PauseState } from './records.ts'

/** The fields of a dispatch job that matter here. */
export type Held = { id: string; lane: string; group: string }

/** The fields of a route that matter here. */
type Route = { name: string; skill?: string | undefined }

/** The pauses known to this daemon; checked for every claimed job. Without pauses the check is immediate. */
export function createPauseView(routes: () => readonly Route[], now: () => number) {
  let state = NOTHING_PAUSED
  let isEmpty = true
  /** Gateways, routes and skills by name; conversations as `gateway/conversation`. */
  let names: Record<Pause['kind'], Map<string, Pause>> = byKind([])

  const isOver = (pause: Pause) => pause.kind === 'conversation' && (pause.until ?? Infinity) <= now()
  const find = (kind: Pause['kind'], name: string) => {
    const found = names[kind].get(name)
    return found && !isOver(found) ? found : undefined
  }
  const conversationOf = ({ id, lane }: Pick<Held, 'id' | 'lane'>) => {
    // A message without an order has its own lane.
    return find('conversation', lane.endsWith(`/${id}`) ? lane.slice(0, -id.length - 1) : lane)
  }

  return {
    use(next: PauseState): void {
      state = next
      isEmpty = next.pauses.length === 0
      names = byKind(next.pauses)
    },
    state: () => state,
    list: () => state.pauses.filter((pause) => !isOver(pause)),
    isOver,
    /** Whether a dispatch job waits. Messages that a person handles (`drop`) do not wait; they end without their skill. */
    holds(job: Held): boolean {
      if (isEmpty) return false
      const gateway = job.lane.slice(0, job.lane.indexOf('/'))
      if (find('gateway', gateway) || find('route', job.group)) return true
      if (job.group === HANDOVER_CLICK) return false
      const conversation = conversationOf(job) ?? find('conversation', job.lane)
      if (conversation?.kind === 'conversation' && !conversation.drop) return true
      if (names.skill.size === 0) return false
      const { skill } = defined({ skill: routes().find(({ name }) => name === job.group)?.skill })
      return skill !== undefined && find('skill', skill) !== undefined
    },
    /** Whether a run of a schedule waits. */
    holdsSkill: (skill: string) => !isEmpty && find('skill', skill) !== undefined,
    /** The pause of a conversation that a person handles. */
    handledIn({ gateway, conversation }: { gateway: string; conversation: string }): Pause | undefined {
      if (isEmpty) return undefined
      const found = find('conversation', `${gateway}/${conversation}`)
      return found?.kind === 'conversation' && found.drop ? found : undefined
    },
    cancelOf: (messageId: string) => state.cancels.find((one) => one.messageId === messageId),
  }
}

function byKind(pauses: readonly Pause[]): Record<Pause['kind'], Map<string, Pause>> {
  const of = (kind: Pause['kind']) =>
    new Map(
      pauses
        .filter((pause) => pause.kind === kind)
        .map((pause) => [
          pause.kind === 'conversation' ? `${pause.gateway}/${pause.name}` : pause.name,
          pause,
        ]),
    )
  return { gateway: of('gateway'), route: of('route'), skill: of('skill'), conversation: of('conversation') }
}
