import { TriviumError } from '../core/errors.ts'
import { LARGE_READ } from '../core/message.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { DeadLetter, Store } from '../core/store.ts'
import { headOf } from '../lib/head-of.ts'
import { summaryOf } from '../lib/summary-of.ts'
import { createDeadLetterWork } from './dead-letter-work.ts'
import type { LongWork } from './long-work.ts'
import type { deadLetters } from './operations/messages.ts'

type Service = ServiceOf<typeof deadLetters>
type Filter = Parameters<Service['groups']>[0]
type Some = Parameters<Service['retry']>[0]
type Act = (id: string, queue: string) => Promise<boolean>

/** Letters per read. */
const PAGE = 100
/** Maximum characters of a group's sample. */
const SHOWN = 200

/** Operations on the dead letters of all queues. */
export function createDeadLetters(deps: {
  store: Pick<Store, 'jobs'>
  longWork: LongWork
  now(): number
}): Service {
  const { deadLetters } = deps.store.jobs
  const orThrow = <Found>(id: string, found: Found | undefined): Found => {
    if (!found) throw new TriviumError('dead_letter_not_found', { id })
    return found
  }

  /** The dead letters that match a filter, newest first. */
  async function* matching({ queue, group, error, code, pattern, since = 0, until }: Filter, from?: Place) {
    const wanted = error?.toLowerCase() ?? ''
    let before = from ?? (until === undefined ? undefined : { at: until, id: '' })
    for (;;) {
      const page = await deadLetters.list({ queue, group, before, limit: PAGE })
      for (const letter of page.items) {
        if (letter.at < since) return
        const last = lastOf(letter)
        if (code !== undefined && last.code !== code) continue
        if (pattern !== undefined && patternOf(last.message) !== pattern) continue
        if (last.message.toLowerCase().includes(wanted)) yield letter
      }
      before = page.items.at(-1)
      if (!page.more || !before) return
    }
  }

  const some = async ({ id, all: _all, limit, ...filter }: Some, act: typeof deadLetters.retry) => {
    if (id !== undefined) return { ok: orThrow(id, await act(id, filter.queue)) }
    const found: Parameters<Act>[] = []
    for await (const letter of matching(filter)) found.push([letter.id, letter.queue])
    const oldest = found.slice(-limit).reverse()
    // Started in one turn, so that the order within a lane is kept.
    const done = await Promise.all(oldest.map((one) => act(...one)))
    return { ok: true, count: done.filter(Boolean).length, more: found.length > limit }
  }

  const bulk = createDeadLetterWork(
    {
      async oldest(filter, limit) {
        const found: Parameters<Act>[] = []
        for await (const letter of matching(filter)) found.push([letter.id, letter.queue])
        return { found: found.slice(-limit).reverse(), total: found.length }
      },
      async act(verb, found) {
        const done = await Promise.all(found.map((one) => deadLetters[verb](...one)))
        return done.filter(Boolean).length
      },
    },
    deps.longWork,
    deps.now,
  )

  return {
    bulk,
    async list({ before, limit, ...filter }) {
      const found: (DeadLetter & { summary: string })[] = []
      let size = 0
      for await (const letter of matching(filter, before === undefined ? undefined : placeOf(before))) {
        found.push({ ...letter, summary: headOf(textOf(letter), SHOWN) })
        size += letter.message?.text.length ?? 0
        if (found.length >= limit || size > LARGE_READ) break
      }
      return found
    },
    groups: (filter) => countGroups(matching(filter)),
    show: async ({ id, queue }) => orThrow(id, await deadLetters.get(id, queue)),
    retry: (args) => some(args, deadLetters.retry),
    drop: (args) => some(args, deadLetters.drop),
  }
}

/** Counts dead letters by queue, route and error; the letters come newest first. */
async function countGroups(letters: AsyncIterable<DeadLetter>): Promise<LetterGroup[]> {
  const groups = new Map<string, LetterGroup>()
  for await (const letter of letters) {
    const { queue, group, at } = letter
    const { code, message: error } = lastOf(letter)
    const pattern = patternOf(error)
    const key = JSON.stringify([queue, group, code, pattern])
    const known = groups.get(key)
    if (known) {
      const isAlike = known.alike && known.error === headOf(error, SHOWN)
      Object.assign(known, { count: known.count + 1, first: at, alike: isAlike })
    } else {
      const fresh = {
        queue,
        group,
        code,
        pattern,
        error: headOf(error, SHOWN),
        alike: true,
        count: 1,
        first: at,
        last: at,
      }
      groups.set(key, { ...fresh, newest: letter.id, sample: headOf(textOf(letter), SHOWN) })
    }
  }
  return [...groups.values()].sort((a, b) => b.count - a.count)
}

/** `error`: the newest one, which is that of all where they are `alike`. */
type LetterGroup = { alike: boolean } & Record<
  'queue' | 'group' | 'code' | 'pattern' | 'error' | 'newest' | 'sample',
  string
> &
  Record<'count' | 'first' | 'last', number>
type Place = Pick<DeadLetter, 'at' | 'id'>

/** Reads `at/id`. Throws `usage`. */
function placeOf(text: string): Place {
  const [, at, id = ''] = /^(\d+)\/(.*)$/s.exec(text) ?? []
  if (at === undefined)
    throw new TriviumError('usage', { details: '`before` is the "at/id" of a dead letter' })
  return { at: Number(at), id }
}

function lastOf({ errors, reason }: DeadLetter) {
  return errors.at(-1) ?? { code: 'internal', message: reason }
}

/** An error without ids and numbers, which differ between messages. */
function patternOf(error: string): string {
  return error.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|\b(?=[a-f]*\d)[0-9a-f]{6,}\b|\d+/gi, '#').slice(0, SHOWN)
}

/** The text of the message, or of the unsent reply. */
function textOf({ message, data }: DeadLetter): string {
  const summary = message?.subject ?? summaryOf(message?.data.body) ?? (message ? undefined : summaryOf(data))
  if (summary !== undefined) return summary
  return message?.text ?? String(Object(data).text ?? '')
}
