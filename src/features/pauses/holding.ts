import type { Message } from '../../core/message.ts'
import type { Note } from '../../core/store.ts'
import { WAITS_FOR_SKILL } from '../../engine/dispatch-outcomes.ts'
import type { Dispatched } from '../../engine/messages.ts'
import { defined } from '../../lib/defined.ts'
import { calledIn, heldPeriods } from './held-periods.ts'
import type { EndedPause, Pause } from './records.ts'
import type { createPauseView } from './view.ts'

/** The fields of a message by which pauses hold it. */
type Place = Pick<Message, 'id' | 'gateway' | 'conversation'>

export type Holding = ReturnType<typeof createHolding>

/** Finds the pauses of messages. */
export function createHolding(deps: {
  view: Pick<ReturnType<typeof createPauseView>, 'pausesOf' | 'state' | 'list'>
  routes(): readonly { name: string; skill?: string | undefined }[]
  now(): number
}) {
  const { view, routes, now } = deps
  const skillOf = (route?: string) => routes().find(({ name }) => name === route)?.skill
  return {
    /** The skill of a route, if it has one. */
    skillOf,
    /** The pauses that hold a message now, or will hold it once its approval is decided. */
    pausesOf: ({ id, gateway, conversation }: Place, route = ''): Pause[] =>
      view.pausesOf({ id, lane: `${gateway}/${conversation}`, group: route }),
    /** History entries `held`: the times in which pauses held a message, with their author. */
    notesOf(message: Place & Pick<Message, 'receivedAt'>, dispatched: Dispatched, route?: string): Note[] {
      const skill = skillOf(route)
      const called = dispatched.history.flatMap(({ what, detail }) =>
        what === WAITS_FOR_SKILL ? (calledIn(detail) ?? []) : [],
      )
      const holds = (pause: Pause) =>
        isHeldBy(pause, message, route, skill) || (pause.kind === 'skill' && called.includes(pause.name))
      const known: (Pause | EndedPause)[] = [...(view.state().ended ?? []), ...view.list()]
      const periods = heldPeriods(message, dispatched, known.filter(holds), now(), skill)
      return periods.map(({ pause, from, to }) => ({
        at: from,
        road: 'dispatch',
        what: 'held',
        detail: {
          pause: `${pause.kind} ${pause.name}`,
          ...{ by: pause.by, ...defined({ reason: pause.reason }) },
          ...(to !== undefined && { ms: to - from }),
          ...(to !== undefined && 'endedAt' in pause && defined({ resumedBy: pause.endedBy })),
        },
      }))
    },
  }
}

/** Whether a pause holds a message. A pause with `drop` does not: its messages do not wait. */
function isHeldBy(
  pause: Pause,
  { id, gateway, conversation }: Place,
  route?: string,
  skill?: string,
): boolean {
  if (pause.kind !== 'conversation') return pause.name === { gateway, route, skill }[pause.kind]
  const isOwn = pause.name === conversation || pause.name === `${conversation}/${id}`
  return pause.gateway === gateway && isOwn && !pause.drop
}
