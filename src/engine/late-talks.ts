import type { Message } from '../core/message.ts'
import { timeOf } from '../core/message-id.ts'
import type { MessageSearch, Store } from '../core/store.ts'
import type { KnownMessages } from './conversation-index.ts'
import {
  createNextFound,
  type Found,
  idOf,
  isNarrow,
  openTalk,
  type Talk,
  talkKey,
} from './conversation-talks.ts'
import type { LateAnswer } from './late-answers.ts'

/** A page of conversations. Those with `answeredAt` are placed by an answer, not by a message. */
export type TalkPage = {
  talks: readonly Talk[]
  next: string | undefined
  answeredAt: ReadonlyMap<Talk, number>
}

type Deps = {
  journal: Pick<Store['journal'], 'get' | 'outcomesIfReachable'>
  late(span: { since: number; until: number }): Promise<LateAnswer[]>
  /** What is known of the messages up to an id. */
  readIndex(upTo: string): Promise<KnownMessages>
  isLeftOut(message: Message): boolean
}

/** Maximum number of late answers that are read for each conversation of a page. */
const PER_CONVERSATION = 4
/** Number of messages per read. */
const PER_READ = 50

/**
 * Adds conversations whose answers belong to the time range of a page, but whose messages are on
 * later pages. Orders all by their newest message or late answer. `talks`: the conversations of the
 * page, by their newest message; `next`: where the page ends. The last conversation of a page is
 * placed by a message, where the next page begins. A content search is ordered by its matches.
 */
export async function withLateTalks(
  { journal, late, readIndex, isLeftOut }: Deps,
  { before, gateways, conversation, ...search }: MessageSearch,
  { talks, next }: Pick<TalkPage, 'talks' | 'next'>,
  limit: number,
): Promise<TalkPage> {
  const unchanged = { talks, next, answeredAt: new Map() }
  if (conversation !== undefined || isNarrow(search)) return unchanged
  const span = {
    since: next === undefined ? 0 : timeOf(next),
    until: before === undefined ? Number.POSITIVE_INFINITY : timeOf(before),
  }
  const answers = (await late(span)).filter(({ gateway }) => gateways?.includes(gateway) ?? true)
  if (answers.length === 0) return unchanged
  const onPage = new Map(talks.map((talk) => [talkKey(talk.messages[0].message), talk]))
  const answeredAt = new Map<Talk, number>()
  const place = (talk: Talk, at: number) => {
    if (at > (answeredAt.get(talk) ?? timeOf(idOf(talk)))) answeredAt.set(talk, at)
  }
  const added: Talk[] = []
  for await (const { found, at } of readLate(journal, timesOf(answers, limit), talks)) {
    if (isLeftOut(found.message)) continue
    const key = talkKey(found.message)
    const talk = onPage.get(key) ?? openTalk(found)
    if (!onPage.has(key)) added.push(talk)
    onPage.set(key, talk)
    place(talk, at)
    if (added.length >= limit) break
  }
  if (next !== undefined) await replaceByNewest(journal, await readIndex(next), added, next)
  return pageOf([...talks, ...added], { next, answeredAt }, limit)
}

/** When messages were last answered (Unix ms), by id, last answered first. */
function timesOf(answers: readonly LateAnswer[], limit: number): Map<string, number> {
  const times = new Map<string, number>()
  for (const { messageId, at } of answers) {
    if (times.size >= limit * PER_CONVERSATION) break
    if (!times.has(messageId)) times.set(messageId, at)
  }
  return times
}

/** The messages of late answers, newest answer first; those that were removed are left out. */
async function* readLate(
  journal: Deps['journal'],
  times: ReadonlyMap<string, number>,
  talks: readonly Talk[],
): AsyncGenerator<{ found: Found; at: number }> {
  const onPage = talks.flatMap(({ messages }) => messages).filter(({ message }) => times.has(message.id))
  const isOnPage = new Set(onPage.map(({ message }) => message.id))
  const readNext = createNextFound(
    journal,
    [...times.keys()].filter((id) => !isOnPage.has(id)),
  )
  for (let some = onPage; some.length > 0 || some === onPage; some = await readNext(PER_READ))
    for (const found of some) yield { found, at: times.get(found.message.id) ?? 0 }
}

/** Replaces the answered message of conversations with their newest one, if known. */
async function replaceByNewest(
  journal: Deps['journal'],
  { older }: KnownMessages,
  talks: readonly Talk[],
  before: string,
): Promise<void> {
  await Promise.all(
    talks.map(async (talk) => {
      const [{ message }] = talk.messages
      const [newest] = older(message, before).ids
      if (newest === undefined || newest <= message.id) return
      const [found] = await createNextFound(journal, [newest])(1)
      if (found) talk.messages = [found]
    }),
  )
}

/** Up to `limit` conversations in their order. */
function pageOf(
  talks: readonly Talk[],
  { next, answeredAt }: Pick<TalkPage, 'next' | 'answeredAt'>,
  limit: number,
): TalkPage {
  const placeOf = (talk: Talk) => answeredAt.get(talk) ?? timeOf(idOf(talk))
  const isByMessage = (talk: Talk) => !answeredAt.has(talk)
  const ordered = talks.toSorted((a, b) => placeOf(b) - placeOf(a))
  if (ordered.length <= limit) return { talks: ordered, next, answeredAt }
  const end = ordered.slice(0, limit).findLastIndex(isByMessage) + 1
  const kept = end > 0 ? ordered.slice(0, end) : ordered.slice(0, Math.max(1, limit - 1))
  // A page of answers only has no position at which the next page could begin.
  const forced = end > 0 ? undefined : ordered.find(isByMessage)
  const page = forced ? [...kept.slice(0, limit - 1), forced] : kept
  const last = page.findLast(isByMessage)
  return { talks: page, next: last ? idOf(last) : next, answeredAt }
}
