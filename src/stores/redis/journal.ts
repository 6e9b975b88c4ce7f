import { encodeMessage, type Message, type NewMessage } from '../../core/message.ts'
import { positionOf, randomTail } from '../../core/message-id.ts'
import type { Journal, MessageFilter } from '../../core/store.ts'
import type { FreshMessages } from '../shared/fresh-messages.ts'
import { decodeNote, encodeNotes, entryOf, idParts, idsFrom, messageOf } from './codec.ts'
import { jobArgs } from './jobs.ts'
import { digest } from './keys.ts'
import { isNothing, listOf, numberOf, textOf } from './reply.ts'
import { type Args, inBatches, type Server } from './scripts.ts'

/** How many entries one call looks at while it searches the journal for a filter. */
const SLICE = 500

export function createJournal({ run, call, roots: { main }, now }: Server, fresh: FreshMessages): Journal {
  async function get(id: string): Promise<Message | undefined> {
    const place = `${positionOf(id) ?? 0}-0`
    const [found] = listOf(await call('XRANGE', `${main}journal`, place, place))
    const message = found === undefined ? undefined : messageOf(entryOf(found))
    return message?.id === id ? message : undefined
  }

  async function search(filter: MessageFilter): Promise<Message[]> {
    const { gateway = '', conversation, before, limit } = filter
    const wanted = conversation === undefined ? '' : digest(conversation)
    const own = conversation === undefined ? '' : (positionOf(conversation) ?? '')
    const found: Message[] = []
    let from: number | '+' = before === undefined ? '+' : (positionOf(before) ?? 0) - 1
    while (found.length < limit && from !== 0 && from !== -1) {
      const missing = Math.min(limit - found.length, SLICE)
      const [next, ...entries] = listOf(
        await run('journal-list', main, from, gateway, wanted, own, missing, SLICE),
      )
      found.push(...entries.map((entry) => messageOf(entryOf(entry))))
      from = numberOf(next)
    }
    return found
  }

  return {
    accept: async (messages) => {
      const at = now()
      const items = messages.map((message) => argsOf(message, at))
      const accepted = await inBatches(items, async (batch) =>
        idsFrom(await run('append', main, '', ...batch.flat()), batch),
      )
      messages.forEach((message, index) => {
        const { id, duplicate } = accepted[index] ?? { id: '', duplicate: true }
        if (!duplicate) fresh.accepted(id, message, at, String(items[index]?.[3]).length)
      })
      return accepted
    },

    get,

    list: search,

    note: async (id, notes) => {
      const parts = idParts(id)
      if (parts && notes.length > 0) await run('journal-note', main, ...parts, encodeNotes(notes))
    },

    history: async (id) => {
      const position = positionOf(id) ?? 0
      const mark = `${position} `
      const [message, lines] = await Promise.all([
        get(id),
        call('LRANGE', `${main}notes:${Math.floor(position / 32)}`, 0, -1),
      ])
      const own = listOf(lines)
        .map(textOf)
        .filter((line) => message && line.startsWith(mark))
      return own.map((line) => decodeNote(line.slice(mark.length)))
    },

    unpumped: (max) =>
      fresh.unpumped(max, async () => {
        const [cursor, entries] = listOf(await run('journal-unpumped', main, max))
        return {
          cursor: numberOf(cursor),
          messages: listOf(entries).map((entry) => messageOf(entryOf(entry))),
        }
      }),

    pumped: async (cursor, last, jobs) => {
      const to = idParts(last) ?? [0, 0, 0]
      const args = jobs.flatMap((job) => jobArgs(job, ''))
      const isMoved = !isNothing(await run('jobs-add', main, 'dispatch', cursor, ...to, ...args))
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
