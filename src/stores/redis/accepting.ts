import { encodeMessage, type NewMessage } from '../../core/message.ts'
import { randomTail } from '../../core/message-id.ts'
import type { FreshMessages } from '../shared/fresh-messages.ts'
import { append } from './codec.ts'
import { digest } from './roots.ts'
import type { Args, Server } from './scripts.ts'

/**
 * Appends messages to the journal of one shard, and keeps them in memory for the pump. `begun`:
 * whether the journal has or had messages.
 */
export function createAccepting(
  { run, roots: { main }, places, owner, now }: Pick<Server, 'run' | 'roots' | 'places' | 'owner' | 'now'>,
  fresh: FreshMessages,
  begun: boolean,
) {
  let hasBegun = begun
  let server = owner()
  /** The last unfinished call of `accept`: its signal may arrive before its reply. */
  let underWay: Promise<unknown> | undefined

  /**
   * ARGV[3] and ARGV[4] of lua/append.lua: no topic; then `1` if the journal has messages, and
   * `s<number>` if this is one of several shards.
   */
  const head = () => ['', `${hasBegun ? 1 : ''}${places.of > 1 ? `s${places.shard}` : ''}`]

  /**
   * A new master may lack the last writes and reuse their positions, so cached messages are
   * outdated.
   */
  const forgetMoved = () => {
    if (owner() !== server) fresh.clear()
    server = owner()
  }

  async function accept(messages: readonly NewMessage[], together?: boolean) {
    const at = now()
    const payloads = messages.map(encodeMessage)
    const items = messages.map((message, index) => argsOf(message, payloads[index] ?? '', at))
    const accepted = await append(run, main, places.idAt, head(), items, together)
    // Duplicates on another shard say nothing about this journal.
    hasBegun ||= accepted.some(({ shard }) => shard === undefined)
    forgetMoved()
    messages.forEach((message, index) => {
      const { id = '', place } = accepted[index] ?? {}
      const size = payloads[index]?.length ?? 0
      if (place !== undefined) fresh.accepted(id, place, message, message.receivedAt ?? at, size)
    })
    return accepted
  }

  return {
    head,
    forgetMoved,
    underWay: () => underWay,
    accept(messages: readonly NewMessage[], together?: boolean) {
      const accepted = accept(messages, together)
      const ended = () => {
        if (underWay === settled) underWay = undefined
      }
      const settled = accepted.then(ended, ended)
      underWay = settled
      return accepted
    },
  }
}

/** The six values of an entry, as lua/append.lua takes them. */
function argsOf(message: NewMessage, payload: string, now: number): Args {
  return [
    randomTail(),
    message.receivedAt ?? now,
    message.key === undefined ? '' : digest(message.gateway, message.key),
    payload,
    message.gateway,
    message.conversation === undefined ? '' : digest(message.conversation),
  ]
}
