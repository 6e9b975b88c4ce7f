import { TriviumError, toTriviumError } from '../core/errors.ts'
import type { Accepted, NewMessage } from '../core/message.ts'
import type { Journal } from '../core/store.ts'
import type { Refused } from '../core/transport.ts'
import { createBatcher } from '../lib/batch.ts'

/** Maximum number of messages per store call, so that no call blocks the store for long. */
const MAX_BATCH = 256
/** Maximum number of characters of texts in memory; a single larger text is allowed. */
const MAX_HELD = 64 * 1024 * 1024

/** Accepted messages, and the deliveries that had them: one each, or one for several with `split`. */
type AcceptedCount = { fresh: number; duplicates: number; deliveries: number }

/**
 * The entry point for every message of every transport. Calls in one turn of the event loop share
 * one store call. `maxPending` limits the messages in memory, `maxBacklog` those that wait in the
 * store for dispatch.
 */
export function createAccept(options: {
  journal: Pick<Journal, 'accept'>
  /** Called for the messages of a batch, by gateway. */
  accepted(gateway: string, count: AcceptedCount): void
  refused(gateway: string, reason: string, what: Refused): void
  maxPending: number
  maxBacklog: number
}) {
  const { journal } = options
  const load = createLoad(options)
  const { report, reportDelivery, reportRefusal } = createReports(options)

  const store = async (messages: readonly NewMessage[], isAtomic = false) => {
    try {
      const answers = await (isAtomic ? journal.accept(messages, true) : journal.accept(messages))
      if (isAtomic) reportDelivery(messages, answers)
      else report(messages, answers)
      return answers
    } catch (error) {
      const refused = isAtomic ? messages.slice(0, 1) : messages
      for (const message of refused) reportRefusal(message, toTriviumError(error))
      throw error
    } finally {
      load.leave(messages.length, lengthOf(messages))
    }
  }
  const batcher = createBatcher<NewMessage, Accepted>({
    max: MAX_BATCH,
    run: store,
    failed: ({ error }) => error,
  })

  return {
    /**
     * Resolves when the message is durable and on all three roads. Throws `overloaded` or
     * `store_unavailable`: upstream must retry.
     */
    accept(message: NewMessage): Promise<Accepted> {
      const { length } = message.text
      const error = load.overload(length)
      if (error) {
        reportRefusal(message, error)
        return Promise.reject(error)
      }
      load.enter(1, length)
      return batcher.add(message)
    },
    /**
     * Accepts the messages of one delivery, in one step per shard. If one of several shards is
     * unreachable, the messages on other shards stay; a redelivery is deduplicated by the keys.
     */
    async acceptAll(messages: readonly NewMessage[]): Promise<Accepted[]> {
      const [first] = messages
      if (!first) return []
      const length = lengthOf(messages)
      const refusal = load.overload(length)
      if (refusal) {
        reportRefusal(first, refusal)
        throw refusal
      }
      load.enter(messages.length, length)
      const answers = await store(messages, true)
      for (const { error } of answers) if (error) throw error
      return answers
    },
    /**
     * Sets how many accepted messages wait for dispatch. From `maxBacklog` on, new messages are
     * refused.
     */
    setBacklog: load.setBacklog,
    idle: batcher.idle,
  }
}

/** Reports the outcomes of messages. */
function createReports(options: Pick<Parameters<typeof createAccept>[0], 'accepted' | 'refused'>) {
  const reportRefusal = ({ gateway, from, text: body }: NewMessage, { code, message: why }: TriviumError) =>
    options.refused(gateway, code, { from: from.address ?? from.id, why, body })
  return {
    reportRefusal,
    /**
     * Counts consecutive messages of one gateway in one call: a call per message would cost as much
     * as matching it.
     */
    report(messages: readonly NewMessage[], answers: readonly Accepted[]): void {
      let gateway = messages[0]?.gateway ?? ''
      let count = { fresh: 0, duplicates: 0, deliveries: 0 }
      for (const [index, message] of messages.entries()) {
        const { error, duplicate = false } = answers[index] ?? {}
        if (message.gateway !== gateway) {
          options.accepted(gateway, count)
          gateway = message.gateway
          count = { fresh: 0, duplicates: 0, deliveries: 0 }
        }
        if (error) reportRefusal(message, toTriviumError(error))
        else if (duplicate) count.duplicates++
        else count.fresh++
        if (!error) count.deliveries++
      }
      options.accepted(gateway, count)
    },
    /** Counts the messages of one delivery. It is refused as a whole if one of them is. */
    reportDelivery(messages: readonly NewMessage[], answers: readonly Accepted[]): void {
      const [first] = messages
      if (!first) return
      const refused = answers.findIndex(({ error }) => error)
      const count = { fresh: 0, duplicates: 0, deliveries: refused < 0 ? 1 : 0 }
      for (const { error, duplicate } of answers) {
        if (!error && duplicate) count.duplicates++
        else if (!error) count.fresh++
      }
      const message = messages[refused]
      if (message) reportRefusal(message, toTriviumError(answers[refused]?.error))
      options.accepted(first.gateway, count)
    },
  }
}

/** Counts the messages being stored and those that wait for dispatch, against their limits. */
function createLoad({ maxPending, maxBacklog }: { maxPending: number; maxBacklog: number }) {
  let backlog = 0
  let pending = 0
  /** Characters of the pending texts. */
  let held = 0
  return {
    /** Why there is no room for texts of this length; undefined if there is. */
    overload(length: number): TriviumError | undefined {
      if (pending >= maxPending) return overloaded('The accept queue', maxPending)
      if (backlog >= maxBacklog) return overloaded('The backlog of messages to dispatch', maxBacklog)
      if (held > 0 && held + length > MAX_HELD) return overloaded('The accept queue', '64 MB')
      return undefined
    },
    enter(count: number, length: number): void {
      pending += count
      held += length
    },
    leave(count: number, length: number): void {
      pending -= count
      held -= length
    },
    setBacklog(count: number): void {
      backlog = count
    },
  }
}

function overloaded(what: string, limit: number | string): TriviumError {
  return new TriviumError('overloaded', { what, limit, seconds: 1 })
}

function lengthOf(messages: readonly NewMessage[]): number {
  let length = 0
  for (const { text } of messages) length += text.length
  return length
}
