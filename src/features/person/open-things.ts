import type { Message } from '../../core/message.ts'

/**
 * Something that is open with a person, `who`. `state`: in a word. `failed`: it does not go on by
 * itself. `at`: since when (Unix ms). The other fields are those of its kind.
 */
export type Thing = {
  kind: 'approval' | 'conversation' | 'message' | 'letter' | 'send' | 'mail' | 'job'
  state: string
  failed?: true
  at: number
  id: string
  who: string
  from?: Partial<Message['from']>
  gateway?: string
  conversation?: string
  title?: string
  error?: string
  /** A conversation: the state of its newest message, if that did not run yet. */
  newest?: { state: string; failed?: true; at: number; error?: string }
  [field: string]: unknown
}

/** States of messages that only wait for their turn, or for the end of a pause. */
const WAITS = new Set(['waiting', 'paused'])

/**
 * The open things of one person, each once, what failed first, and then the oldest. The newest
 * message of a conversation is a part of it, and so are its reply that was not delivered and the
 * request for its approval.
 */
export function joinedThings(things: readonly Thing[]): Thing[] {
  const talks = new Map(
    things.filter(({ kind }) => kind === 'conversation').map((talk) => [placeOf(talk), talk]),
  )
  const asked = new Set(things.filter(({ kind }) => kind === 'approval').map(placeOf))
  const joined = new Map<Thing, Thing>()
  const left = things.filter((thing) => {
    const talk = talks.get(placeOf(thing))
    if (!talk || talk === thing) return true
    if (thing.kind === 'letter' && thing.state === 'not delivered') return talk.undelivered === undefined
    if (thing.kind !== 'message') return true
    if (thing.id === talk.id) joined.set(talk, withMessage(talk, thing))
    // An older one waits for its turn in the same conversation.
    return thing.id !== talk.id && !WAITS.has(thing.state)
  })
  return left
    .filter(
      (thing) => !(thing.kind === 'conversation' && thing.state === 'waits' && asked.has(placeOf(thing))),
    )
    .map((thing) => joined.get(thing) ?? thing)
    .sort((a, b) => Number(b.failed ?? false) - Number(a.failed ?? false) || a.at - b.at)
}

/** A conversation with the state of its newest message, which says more than that somebody waits. */
function withMessage(talk: Thing, { state, failed, at, error }: Thing): Thing {
  const newest = { state, at, ...(failed && { failed }), ...(error !== undefined && { error }) }
  if (talk.failed || (talk.state === 'taken over' && !failed) || WAITS.has(state)) return { ...talk, newest }
  return { ...talk, ...newest, newest }
}

function placeOf({ gateway, conversation }: Thing): string {
  return `${gateway} ${conversation}`
}
