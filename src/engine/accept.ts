import { TriviumError, toTriviumError } from '../core/errors.ts'
import type { Accepted, NewMessage } from '../core/message.ts'
import type { Journal } from '../core/store.ts'
import type { Refused } from '../core/transport.ts'
import { createBatcher } from '../lib/batch.ts'

/** Messages in one store call at most, so that no call stalls the store for long. */
const MAX_BATCH = 256
/** So many characters of texts may be in memory, or one text that is larger. */
const MAX_HELD = 64 * 1024 * 1024

/**
 * The one door: every transport brings every message through here. Calls of one turn of the event loop become one store
 * call. `maxPending` bounds the messages in memory, `maxBacklog` those that wait in the store for dispatch.
 */
export function createAccept(options: {
  journal: Pick<Journal, 'accept'>
  accepted(gateway: string, duplicate: boolean): void
  refused(gateway: string, reason: string, what: Refused): void
  maxPending: number
  maxBacklog: number
}) {
  const { journal, maxPending, maxBacklog } = options
  let backlog = 0
  let held = 0
  /** Messages of `acceptAll` that are on their way into the store. */
  let together = 0

  const store = async (messages: readonly NewMessage[], isWhole = false) => {
    try {
      const answers = await (isWhole ? journal.accept(messages, true) : journal.accept(messages))
      messages.forEach((message, index) => {
        const { error, duplicate = false } = answers[index] ?? {}
        if (error) tell(message, toTriviumError(error))
        else options.accepted(message.gateway, duplicate)
      })
      return answers
    } catch (error) {
      for (const message of messages) tell(message, toTriviumError(error))
      throw error
    } finally {
      held -= lengthOf(messages)
    }
  }
  const batcher = createBatcher<NewMessage, Accepted>({
    max: MAX_BATCH,
    run: store,
    failed: ({ error }) => error,
  })

  const refuse = (message: NewMessage, what: string, limit: number | string) => {
    const error = new TriviumError('overloaded', { what, limit, seconds: 1 })
    tell(message, error)
    return Promise.reject(error)
  }
  const tell = ({ gateway, from, text: body }: NewMessage, { code, message: why }: TriviumError) =>
    options.refused(gateway, code, { from: from.address ?? from.id, why, body })

  return {
    /** Resolves when the message is durable and on all three roads. Throws `overloaded`, `store_unavailable`: upstream must try again. */
    accept(message: NewMessage): Promise<Accepted> {
      if (batcher.pending() + together >= maxPending) return refuse(message, 'The accept queue', maxPending)
      if (backlog >= maxBacklog) return refuse(message, 'The backlog of messages to dispatch', maxBacklog)
      const { length } = message.text
      if (held > 0 && held + length > MAX_HELD) return refuse(message, 'The accept queue', '64 MB')
      held += length
      return batcher.add(message)
    },
    /**
     * The same for messages that came as one: all of them are taken in one atomic step, or none. Over shards, where one of them is away,
     * those on others stay: the same again is recognised by the keys.
     */
    async acceptAll(messages: readonly NewMessage[]): Promise<Accepted[]> {
      const [first] = messages
      if (!first) return []
      const length = lengthOf(messages)
      if (batcher.pending() + together >= maxPending) return refuse(first, 'The accept queue', maxPending)
      if (backlog >= maxBacklog) return refuse(first, 'The backlog of messages to dispatch', maxBacklog)
      if (held > 0 && held + length > MAX_HELD) return refuse(first, 'The accept queue', '64 MB')
      held += length
      together += messages.length
      try {
        const answers = await store(messages, true)
        for (const { error } of answers) if (error) throw error
        return answers
      } finally {
        together -= messages.length
      }
    },
    /** Tells how many accepted messages wait for dispatch; over the bound, new ones are refused. */
    setBacklog(count: number): void {
      backlog = count
    },
    idle: batcher.idle,
  }
}

function lengthOf(messages: readonly NewMessage[]): number {
  let length = 0
  for (const { text } of messages) length += text.length
  return length
}
