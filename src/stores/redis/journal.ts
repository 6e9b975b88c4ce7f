import { encodeMessage, type Message, type NewMessage } from '../../core/message.ts'
import { idParts, positionOf, randomTail } from '../../core/message-id.ts'
import type { Outcome } from '../../core/message-query.ts'
import type { Journal, Store } from '../../core/store.ts'
import type { FreshMessages } from '../shared/fresh-messages.ts'
import { append, decodeNote, type Entry, encodeNotes, messageOf } from './codec.ts'
import { jobArgs } from './jobs.ts'
import { type Args, digest, inBatches, type Server } from './scripts.ts'
import { createSearch } from './search.ts'

/** `begun`: whether the journal has messages, or had. `ping` is that of the store. */
export function createJournal(
  { run, call, roots: { main }, now }: Server,
  fresh: FreshMessages,
  begun: boolean,
): Journal & Pick<Store, 'ping'> {
  const head = () => ['', begun ? 1 : '']

  async function get(id: string): Promise<Message | undefined> {
    const place = `${positionOf(id) ?? 0}-0`
    const [found] = await call<Entry[]>('XRANGE', `${main}journal`, place, place)
    const message = found && messageOf(found)
    return message?.id === id ? message : undefined
  }

  const outcomes = async (ids: readonly string[]) => {
    const answers = await inBatches(
      ids.map((id) => idParts(id) ?? [0, 0, 0]).map((parts, index) => [ids[index] ?? '', ...parts]),
      (batch) => run<(Outcome | '')[]>('outcomes', main, ...batch.flat()),
    )
    return answers.map((answer) => answer || undefined)
  }

  return {
    accept: async (messages) => {
      const at = now()
      const items = messages.map((message) => argsOf(message, at))
      const accepted = await append(run, main, head(), items)
      begun ||= messages.length > 0
      messages.forEach((message, index) => {
        const { id, duplicate } = accepted[index] ?? { id: '', duplicate: true }
        if (!duplicate) fresh.accepted(id, message, at, String(items[index]?.[3]).length)
      })
      return accepted
    },

    ping: async () => {
      await run('append', main, ...head())
    },

    get,

    search: createSearch(call, main, outcomes),

    outcomes,

    note: async (id, notes) => {
      const parts = idParts(id)
      if (parts && notes.length > 0) await run('journal', main, 'note', ...parts, encodeNotes(notes))
    },

    history: async (id) => {
      const position = positionOf(id) ?? 0
      const mark = `${position} `
      const [message, lines] = await Promise.all([
        get(id),
        call<string[]>('LRANGE', `${main}notes:${Math.floor(position / 32)}`, 0, -1),
      ])
      const own = lines.filter((line) => message && line.startsWith(mark))
      return own.map((line) => decodeNote(line.slice(mark.length)))
    },

    unpumped: (max) =>
      fresh.unpumped(max, async () => {
        const [cursor, entries] = await run<[number, Entry[]]>('journal', main, 'unpumped', max)
        return { cursor, messages: entries.map(messageOf) }
      }),

    pumped: async (cursor, last, jobs) => {
      const to = idParts(last) ?? [0, 0, 0]
      const args = jobs.flatMap((job) => jobArgs(job, ''))
      const isMoved = (await run('jobs-add', main, 'dispatch', cursor, ...to, ...args)) !== null
      fresh.pumpedTo(isMoved ? last : undefined)
      return isMoved
    },
  }
}

function argsOf(message: NewMessage, now: number): Args {
  return [
    randomTail(),
    message.receivedAt ?? now,
    message.key === undefined ? '' : digest(message.gateway, message.key),
    encodeMessage(message),
    message.gateway,
    message.conversation === undefined ? '' : digest(message.conversation),
  ]
}
