import type { Call } from '../../core/call.ts'
import type { ConversationNote } from '../../core/conversation-note.ts'
import { timeOf } from '../../core/message-id.ts'
import { wordsOf } from '../../core/message-query.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { isStoreAway } from '../../core/reachable.ts'
import type { conversations } from '../../engine/operations/messages.ts'
import { foldedPattern, foldedTest } from '../../lib/fold-text.ts'
import type { createNoteRecords } from './records.ts'
import { isOfPerson } from './with-notes.ts'

type Args = Parameters<ServiceOf<typeof conversations>['list']>[0]
type Place = Pick<ConversationNote, 'gateway' | 'conversation'>
type Row = Place & { id: string; at: number; excerpt?: string }
type List<Each extends Row, Page extends { conversations: Each[] }> = (
  args: Args,
  call: Call,
) => Promise<Page>

/** Maximum number of newest notes that a search reads, and of conversations that it finds by them. */
const LIMITS = { read: 500, found: 20 }
/** Maximum characters of an excerpt, and of those before its match. */
const EXCERPT = { all: 160, before: 40 }

/**
 * Returns a function that adds to `conversation-list` the number of `notes` of each conversation,
 * and to the first page of a search for words the conversations with these words in a note.
 */
export function createNotedList(records: Pick<ReturnType<typeof createNoteRecords>, 'count' | 'newest'>) {
  return <Each extends Row, Page extends { conversations: Each[] }>(list: List<Each, Page>) =>
    async (args: Args, call: Call) => {
      const page = await list(args, call)
      if (!isOfPerson(call)) return page
      const found = await foundByNotes(list, args, call, page.conversations)
      const { conversations: all, ...rest } = joined(page, found, args.limit)
      const rows = all.map(async (row) => {
        const notes = await records.count(row).catch(orWithout(0))
        return notes === 0 ? row : { ...row, notes }
      })
      return { ...page, ...rest, conversations: await Promise.all(rows) }
    }

  async function foundByNotes<Each extends Row>(
    list: List<Each, { conversations: Each[] }>,
    args: Args,
    call: Call,
    known: readonly Row[],
  ): Promise<Each[]> {
    const words = noteWords(args)
    if (words.length === 0 || args.before !== undefined) return []
    const tests = words.map(foldedTest)
    const notes = await records.newest(LIMITS.read).catch(orWithout([]))
    const wanted = notes.filter(
      (note) => isVisible(note, args, call) && tests.every((isIn) => isIn(note.text)),
    )
    const byPlace = new Map(wanted.map((note) => [keyOf(note), note]))
    for (const row of known) byPlace.delete(keyOf(row))
    const { search: _, text: __, ...filter } = args
    const rows = [...byPlace.values()].slice(0, LIMITS.found).map(async (note) => {
      const { gateway, conversation } = note
      const found = await list({ ...filter, gateway, conversation, limit: 1 }, call)
      return found.conversations.map((row) => ({ ...row, excerpt: excerptOf(note, words) }))
    })
    return (await Promise.all(rows)).flat()
  }
}

/**
 * A page with the conversations that were found by notes, up to `limit`. These get at least half of
 * it, because later pages do not have them. `next` and `searchedTo` follow the last row of the page
 * that is left.
 */
function joined<Each extends Row>(
  { conversations: own }: { conversations: Each[] },
  byNotes: Each[],
  limit: number,
): { conversations: Each[]; next?: string; searchedTo?: number } {
  if (byNotes.length === 0) return { conversations: own }
  const found = byNotes.slice(0, Math.max(limit - own.length, Math.floor(limit / 2)))
  const kept = own.slice(0, limit - found.length)
  const last = kept.at(-1)
  const conversations = newestFirst([...kept, ...found])
  if (kept.length === own.length || !last) return { conversations }
  return { conversations, next: last.id, searchedTo: timeOf(last.id) }
}

const keyOf = ({ gateway, conversation }: Place) => JSON.stringify([gateway, conversation])
const newestFirst = <Each extends Row>(rows: Each[]) => rows.toSorted((a, b) => b.at - a.at)

/** The words of a search that asks for nothing else: notes have no sender and no outcome. */
function noteWords({ search, text }: Args): string[] {
  const { words = [], numbers = [], ...others } = search ?? {}
  if (Object.keys(others).length > 0) return []
  return [...wordsOf({ words, numbers, ...(text !== undefined && { text }) })]
}

function isVisible({ gateway, conversation, at }: ConversationNote, args: Args, { caller }: Call): boolean {
  if (caller.gateways !== undefined && !caller.gateways.includes(gateway)) return false
  if (at < (args.since ?? 0) || at >= (args.until ?? Infinity)) return false
  return gateway === (args.gateway ?? gateway) && conversation === (args.conversation ?? conversation)
}

/** The part of a note with the first word. */
function excerptOf({ text }: ConversationNote, [word = '']: readonly string[]): string {
  const at = text.search(new RegExp(foldedPattern(word.slice(0, EXCERPT.all)), 'iu'))
  const start = Math.max(0, at - EXCERPT.before)
  const part = text.slice(start, start + EXCERPT.all).replace(/\s+/g, ' ')
  return `Note: ${start > 0 ? '… ' : ''}${part}`
}

/** Conversations can be listed without the notes of a shard that cannot be reached. */
function orWithout<T>(nothing: T) {
  return (error: unknown): T => {
    if (isStoreAway(error)) return nothing
    throw error
  }
}
