import type { JsonObject } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import { timeOf } from '../../core/message-id.ts'
import type { Outcome } from '../../core/message-query.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { Note, Store } from '../../core/store.ts'
import type { SubscriptionInfo } from '../../core/subscription-info.ts'
import type { WaitingPush, WaitingPushes } from '../../core/waiting-push.ts'
import { repliesIn } from '../../engine/conversation-replies.ts'
import { type Sends, sendsToAll } from '../../engine/conversation-rows.ts'
import { rowOf } from '../../engine/search.ts'
import { settledIn } from '../../engine/settle.ts'
import { createUndelivered } from '../../engine/undelivered.ts'
import { defined } from '../../lib/defined.ts'
import { addCount } from '../../lib/name-counts.ts'
import { shownIn } from '../../lib/people-in.ts'
import { ANY, everywhere, isFrom, partsOf } from '../../lib/person-identity.ts'
import { requireOperator } from './erasure.ts'
import { isEvent } from './event.ts'
import type { RequireGateways } from './known-gateways.ts'
import type { MentionedPerson, Mentions } from './mentions.ts'
import type * as operations from './operations.ts'

/** Number of messages per read of the journal. */
const PAGE = 500
/** Maximum number of messages that are read, and approximate duration (ms) of that. */
const LIMITS = { messages: 10_000, time: 4_000 }
/** Maximum characters of the text of a message. */
const MAX_TEXT = 1_000

type Found = { message: Message; outcome: Outcome }
type PushState = Pick<SubscriptionInfo, 'name' | 'state' | 'detail' | 'failingSince'>
type Deps = {
  store: Pick<Store, 'journal' | 'jobs'>
  waitingOf: WaitingPushes
  /** The push subscriptions, with their states. */
  subscriptions(): Promise<readonly PushState[]>
  /** Why the last failed attempt of a push failed. */
  lastReasonOf(name: string): Promise<string>
  requireGateways: RequireGateways
  mentionsOf(person: MentionedPerson, signal: AbortSignal): Promise<Mentions>
}

/**
 * `person-show`: how much a person wrote on which gateway, and what, with the answers. Events of
 * machines about them, such as orders, are counted apart. Leaves out unreachable shards.
 */
export function createPersonShow({
  store,
  waitingOf,
  subscriptions,
  lastReasonOf,
  requireGateways,
  mentionsOf,
}: Deps): ServiceOf<typeof operations.personShow> {
  const { journal, jobs } = store
  return {
    async show({ identity, limit, events, mentions }, call) {
      requireOperator(call, 'Showing a person')
      await requireGateways(identity, call.signal)
      const sum = newSum(identity, { limit, events })
      for (const one of identity) {
        const end = await readMessages(journal, one, call.caller.gateways, sum, call.signal)
        sum.searchedTo = Math.max(sum.searchedTo, end)
      }
      const sendsTo = await sendsToAll(createUndelivered(jobs.deadLetters), sum.wrote)
      const wrote = await Promise.all(sum.wrote.map((found) => withAnswers(journal, found, sendsTo)))
      const messages = new Set(sum.ends.map(({ id }) => id))
      const waiting = await waitingOf(messages)
      const states = waiting.pushes.length === 0 ? [] : await subscriptions()
      const pushes = await Promise.all(
        waiting.pushes.map(async (push) => {
          const why = await whyIt(
            states.find(({ name }) => name === push.name),
            lastReasonOf,
          )
          return { ...pushRow(push, waiting.more), ...why }
        }),
      )
      const found = mentions && {
        mentions: await mentionsOf({ identities: identity, messages }, call.signal),
      }
      return { ...resultOf(sum, withLaterAnswers(wrote)), pushes, ...found }
    },
  }
}

type Sum = ReturnType<typeof newSum>

function newSum(identities: readonly string[], { limit, events }: { limit: number; events: number }) {
  return {
    identities,
    limit,
    maxEvents: events,
    /** A name may only be in the messages of another gateway. */
    wide: identities.map(everywhere),
    seen: new Set<string>(),
    names: new Set<string>(),
    gateways: {} as Record<string, number>,
    conversations: new Set<string>(),
    ends: [] as { id: string; at: number; gateway: string }[],
    texts: 0,
    wrote: [] as Found[],
    events: { count: 0, gateways: {} as Record<string, number>, newest: [] as Found[] },
    searchedTo: 0,
  }
}

/**
 * Adds the messages of an identity. Resolves with the time (Unix ms) up to which all were read; 0
 * for all.
 */
async function readMessages(
  journal: Pick<Store['journal'], 'search'>,
  identity: string,
  allowed: readonly string[] | undefined,
  sum: Sum,
  signal: AbortSignal,
): Promise<number> {
  const { gateway, name, isExternal } = partsOf(identity)
  const isAddress = name.includes('@') && !isExternal
  const gateways = gateway === ANY || isAddress ? allowed : [gateway]
  const deadline = performance.now() + LIMITS.time
  let before: string | undefined
  let read = 0
  do {
    signal.throwIfAborted()
    const page = await journal.search({ gateways, sender: name, before, limit: PAGE, isPartial: true })
    for (const found of page.found) addMessage(sum, found)
    read += page.found.length
    before = page.next
    if (before !== undefined && (read >= LIMITS.messages || performance.now() > deadline))
      return timeOf(before)
  } while (before !== undefined)
  return 0
}

function addMessage(sum: Sum, found: Found): void {
  const { message } = found
  const { id, gateway, from, conversation } = message
  if (sum.seen.has(id) || !isFrom(message, sum.wide)) return
  sum.seen.add(id)
  const name = shownIn(from)
  if (name !== undefined) sum.names.add(name)
  if (!isFrom(message, sum.identities)) return
  addCount(sum.gateways, gateway)
  sum.conversations.add(`${gateway} ${conversation}`)
  sum.ends.push({ id, at: timeOf(id), gateway })
  if (isEvent(message)) {
    sum.events.count++
    addCount(sum.events.gateways, gateway)
    insert(sum.events.newest, found, sum.maxEvents)
    return
  }
  sum.texts++
  insert(sum.wrote, found, sum.limit)
}

/** Adds to a list that is newest first, and keeps its first `most`. */
function insert(list: Found[], found: Found, most: number): void {
  const at = list.findLastIndex((each) => each.message.id > found.message.id) + 1
  list.splice(at, 0, found)
  if (list.length > most) list.pop()
}

type Answer = JsonObject & { at: number }

async function withAnswers({ history }: Pick<Store['journal'], 'history'>, found: Found, sendsTo: Sends) {
  const { message, outcome } = found
  const notes: Note[] = [...(await history(message.id)), ...(sendsTo.get(message.id) ?? [])]
  const answers = repliesIn(message.id, notes)
    // A request for an approval does not answer the person.
    .filter(({ approval }) => approval === undefined)
    .toSorted((a, b) => a.at - b.at)
    .map(({ role: _, inReplyTo: __, ...answer }): Answer => answer)
  const row = rowOf(message, outcome, MAX_TEXT)
  const characters = row.text === message.text ? undefined : message.text.length
  return { ...row, answers, ...defined({ characters, settled: settledIn(notes) }) }
}

type Wrote = Awaited<ReturnType<typeof withAnswers>>

/**
 * Adds `answeredWith` to a message without an answer: the id of the next one of its conversation
 * that has one.
 */
function withLaterAnswers(wrote: readonly Wrote[]): (Wrote & { answeredWith?: string })[] {
  const answered = new Map<string, string>()
  return wrote.map((one) => {
    const place = `${one.gateway} ${one.conversation}`
    const answeredWith = answered.get(place)
    if (one.answers.some(({ state }) => state === 'sent')) answered.set(place, one.id)
    return { ...one, ...(one.answers.length === 0 && defined({ answeredWith })) }
  })
}

function resultOf(sum: Sum, wrote: readonly (Wrote & { answeredWith?: string })[]) {
  const { identities, names, gateways, conversations, texts, events, searchedTo } = sum
  const ends = sum.ends.toSorted((a, b) => a.at - b.at)
  const isCut = searchedTo > 0
  return {
    identities: [...identities],
    names: [...names],
    messages: ends.length,
    gateways,
    conversations: conversations.size,
    ...defined({ first: isCut ? undefined : ends[0], newest: ends.at(-1) }),
    texts,
    wrote: [...wrote],
    events: { ...events, newest: events.newest.map(({ message, outcome }) => rowOf(message, outcome)) },
    ...(isCut && { searchedTo }),
  }
}

function pushRow({ name, count, replayed, since }: WaitingPush, more?: boolean) {
  return { name, count, since, ...(replayed > 0 && { replayed }), ...(more && { more }) }
}

/** Why a push does not send, if it fails or is paused. */
async function whyIt(push: PushState | undefined, lastReasonOf: Deps['lastReasonOf']) {
  if (!push || (push.state === 'active' && push.failingSince === undefined)) return {}
  const { name, state, detail, failingSince } = push
  const isStopped = state === 'paused' || state === 'disabled'
  const reason = (isStopped ? detail : await lastReasonOf(name)) || undefined
  return { state, ...defined({ failingSince: isStopped ? undefined : failingSince, reason }) }
}
