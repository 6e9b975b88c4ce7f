import type { Approval } from '../../core/approval.ts'
import type { Call } from '../../core/call.ts'
import type { JsonObject } from '../../core/json.ts'
import { isTest, type Message } from '../../core/message.ts'
import type { Outcome } from '../../core/message-query.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { DeadLetter, Store } from '../../core/store.ts'
import type { LongWork } from '../../engine/long-work.ts'
import type { conversations } from '../../engine/operations/messages.ts'
import { type MessageRow, rowOf } from '../../engine/search.ts'
import { defined } from '../../lib/defined.ts'
import { isInGroup, type OpenGroup } from '../../lib/open-groups.ts'
import { shownIn } from '../../lib/people-in.ts'
import { comparable, everywhere, partsOf, personOf } from '../../lib/person-identity.ts'
import { KIND } from './erase.ts'
import { requireOperator } from './erasure.ts'
import type { RequireGateways } from './known-gateways.ts'
import { messageOfPush, openLetter } from './open-letter.ts'
import { type NotesFor, withOpenNotes } from './open-notes.ts'
import { type PendingDeps, readPlanned, readUnsent } from './open-pending.ts'
import { joinedThings, type Thing } from './open-things.ts'
import type * as operations from './operations.ts'
import { personSchema, SUBJECT_PREFIX } from './person.ts'

/** Maximum numbers of records that are read. */
const LIMITS = { conversations: 200, held: 50, approvals: 1_000, letters: 1_000, messages: 500 }
/** Number of dead letters per read. */
const PAGE = 100
/** How long (ms) messages with these outcomes are searched. */
const SEARCH_TIME = 1_500
/** Messages that wait, and those that are tried again, which are rarer. Letters have those that failed. */
const UNFINISHED: readonly (readonly Outcome[])[] = [['retrying', 'replying'], ['waiting']]

/** A row of `conversation-list`, as far as it is read here. */
type ConversationRow = MessageRow & {
  waitingSince?: number
  undelivered?: JsonObject
  heldBy?: { by: string; since: number; reason?: string; until?: number }
}
type ConversationFilter = Parameters<ServiceOf<typeof conversations>['list']>[0]

export type OpenDeps = {
  store: Pick<Store, 'journal' | 'jobs' | 'kv' | 'erasing'>
  conversations(
    filter: ConversationFilter,
    call: Call,
  ): Promise<{ conversations: readonly ConversationRow[]; next?: string | undefined }>
  approvals(args: { status: 'pending'; limit: number }): Promise<readonly Approval[]>
  /** The conversations that people have taken over. */
  held(): readonly { gateway: string; name: string }[]
  /** The pauses that hold a message that waits. */
  pausesOf(message: Message): readonly { kind: string; name: string }[]
  notesFor: NotesFor
  work: Pick<LongWork, 'ofKind'>
  requireGateways: RequireGateways
  /** The name that an address has in other messages. */
  nameOf(identity: string, gateways: readonly string[] | undefined): Promise<string | undefined>
} & PendingDeps

/** Something that was read: what is open, with whom. `isCut`: there may be more. */
type Read = { things: Thing[]; isCut: boolean }

/**
 * `person-open`: what is open, by person, who waits longest first. Leaves out what is on
 * unreachable shards, and tests. With identities, conversations have the notes of colleagues. `total`: the number of people; `older`: not all records were searched;
 * `more`: there may be others, for one of these reasons.
 */
export function createPersonOpen(deps: OpenDeps) {
  return {
    async open({ identity: who, kind, limit }, call) {
      requireOperator(call, 'Listing what is open')
      await deps.requireGateways(who ?? [], call.signal)
      const erasures = await readErasures(deps)
      const read = await Promise.all([
        readConversations(deps, who, call),
        readApprovals(deps),
        readMessages(deps, who, call.signal),
        readLetters(deps, call.signal),
        readPlanned(deps, call),
        readUnsent(deps, call.signal),
      ])
      const wanted = who && new Set(who.map(comparable))
      const all = read.flatMap(({ things }) => things).filter((thing) => !wanted || isOf(thing, wanted))
      const people = [...Map.groupBy(all, (thing) => comparable(thing.who))]
        .map(([, things]) => personRow(withoutErased(joinedThings(things), erasures), kind))
        .filter(({ open }) => open.length > 0)
        .sort(compareOpen)
      const isCut = read.some((each) => each.isCut)
      const more = (isCut || people.length > limit) && { more: true }
      const named = people.slice(0, limit).map(async (person) => {
        const name = person.name ?? (await deps.nameOf(person.identity, call.caller.gateways))
        const open = who ? await withOpenNotes(person.open, deps.notesFor, call) : person.open
        return { ...person, ...defined({ name }), open }
      })
      return {
        people: await Promise.all(named),
        total: people.length,
        ...more,
        ...(isCut && { older: true }),
      }
    },
  } satisfies ServiceOf<typeof operations.personOpen>
}

/** Whether something is open with one of these identities: an address may be given for one gateway. */
function isOf({ who, gateway }: Thing, wanted: ReadonlySet<string>): boolean {
  const { name } = partsOf(who)
  return [who, `*:${name}`, `${gateway ?? '*'}:${name}`].some((each) => wanted.has(comparable(each)))
}

type Erasure = { job: string; startedAt: number; identities: ReadonlySet<string> }

/** The erasures that run, with whom they erase. */
async function readErasures({ store, work }: OpenDeps): Promise<Erasure[]> {
  const running = (await work.ofKind(KIND)).filter(({ state }) => state === 'running')
  const read = running.map(async ({ id, startedAt }) => {
    const stored = personSchema.safeParse((await store.kv.get(SUBJECT_PREFIX + id))?.value).data
    return { job: id, startedAt, identities: new Set(stored?.identities.map(comparable)) }
  })
  return Promise.all(read)
}

/**
 * The things without those that are being erased, in whose place is the job: for a while, a
 * conversation looks unanswered because its answers are gone already.
 */
function withoutErased(things: readonly Thing[], erasures: readonly Erasure[]): Thing[] {
  const left = new Set(things)
  const jobs: Thing[] = []
  for (const { job, startedAt, identities } of erasures) {
    const [first, ...others] = things.filter((thing) => left.has(thing) && isOf(thing, identities))
    if (!first) continue
    for (const thing of [first, ...others]) left.delete(thing)
    jobs.push({ kind: 'job', state: 'being erased', id: job, at: startedAt, who: first.who })
  }
  return [...left, ...jobs]
}

/** `kinds`: only these kinds of open items. */
function personRow(things: readonly Thing[], kinds?: readonly OpenGroup[]) {
  const [first] = things
  const identity = first?.who ?? ''
  const id = partsOf(identity).name
  const names = things.map(({ from }) => from && shownIn(from))
  const name = names.find((each) => each !== undefined && comparable(each) !== comparable(id))
  const wanted = things.filter((thing) => isOfKinds(thing, kinds))
  const open = wanted.map(({ who: _, from: __, ...thing }) => thing)
  return { identity, id, ...defined({ name }), open }
}

function isOfKinds(thing: Thing, kinds: readonly OpenGroup[] | undefined): boolean {
  return kinds === undefined || kinds.some((kind) => isInGroup(thing, kind))
}

type Row = ReturnType<typeof personRow>

/** The longest wait comes first. */
function compareOpen(one: Row, other: Row): number {
  return openSince(one) - openSince(other)
}

/** Since when something is open with a person (Unix ms). */
function openSince({ open }: Pick<Row, 'open'>): number {
  return Math.min(...open.map(({ at }) => at))
}

/** Conversations in which they wait or that somebody has taken over. */
async function readConversations(
  { conversations, held }: OpenDeps,
  who: readonly string[] | undefined,
  call: Call,
): Promise<Read> {
  const filters = (who ?? [undefined]).map((identity) => {
    const of = identity === undefined ? {} : { sender: partsOf(identity).name }
    return { ...of, unanswered: true, limit: LIMITS.conversations } as const
  })
  const holds = held()
  const taken = holds
    .slice(0, LIMITS.held)
    .map(({ gateway, name }) => ({ gateway, conversation: name, limit: 1 }))
  const read = await Promise.all([...filters, ...taken].map((args) => conversations(args, call)))
  const rows = new Map(read.flatMap((page) => page.conversations).map((row) => [row.id, row]))
  const isCut =
    holds.length > LIMITS.held || read.slice(0, filters.length).some(({ next }) => next !== undefined)
  return { things: [...rows.values()].flatMap(openConversation), isCut }
}

function openConversation(row: ConversationRow): Thing[] {
  const { waitingSince, undelivered, heldBy } = row
  const of = { kind: 'conversation', ...row, who: personOf(row) } as const
  const failedAt = undelivered && Number(undelivered.at)
  if (failedAt !== undefined) return [{ ...of, state: 'not delivered', failed: true, at: failedAt }]
  if (heldBy) return [{ ...of, state: 'taken over', at: waitingSince ?? heldBy.since }]
  return waitingSince === undefined ? [] : [{ ...of, state: 'waits', at: waitingSince }]
}

async function readApprovals({ approvals, store }: OpenDeps): Promise<Read> {
  const found = await approvals({ status: 'pending', limit: LIMITS.approvals })
  const things = found.map(async (approval): Promise<Thing> => {
    const { id, title, skill, message, requestedAt } = approval
    const place = message && { gateway: message.gateway, conversation: message.conversation }
    const about = { title, skill, ...defined({ message: message?.id }), ...place }
    const from = message && { from: { name: message.from } }
    const who = await requesterOf(approval, store)
    return { kind: 'approval', state: 'approval', id, at: requestedAt, ...about, ...from, who }
  })
  return { things: await Promise.all(things), isCut: found.length >= LIMITS.approvals }
}

/** The sender of the message of an approval. Requests of older versions only have their name. */
async function requesterOf({ by, message }: Approval, { journal }: OpenDeps['store']): Promise<string> {
  if (!message) return everywhere(by)
  if (message.sender !== undefined) return everywhere(message.sender)
  const sent = await journal.get(message.id)
  return sent ? personOf(sent) : everywhere(by)
}

/** Messages that wait or are tried again. */
async function readMessages(
  { store, pausesOf }: OpenDeps,
  who: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<Read> {
  const deadline = performance.now() + SEARCH_TIME
  const things: Thing[] = []
  let isCut = false
  for (const sender of who?.map((identity) => partsOf(identity).name) ?? [undefined]) {
    for (const outcomes of UNFINISHED) {
      let before: string | undefined
      let found = 0
      do {
        signal.throwIfAborted()
        const limit = LIMITS.messages - found
        const page = await store.journal.search({ outcomes, sender, before, limit, isPartial: true })
        found += page.found.length
        for (const { message, outcome } of page.found) {
          if (isTest(message)) continue
          const row = rowOf(message, outcome)
          const pausedBy = pausesOf(message).map(({ kind, name }) => ({ kind, name }))
          const state = pausedBy.length > 0 ? { state: 'paused', pausedBy } : { state: outcome }
          things.push({ kind: 'message', ...state, ...row, who: personOf(message) })
        }
        before = page.next
      } while (before !== undefined && found < LIMITS.messages && performance.now() < deadline)
      isCut ||= before !== undefined
    }
  }
  return { things, isCut }
}

/** Messages, replies and pushes that failed. */
async function readLetters({ store }: OpenDeps, signal: AbortSignal): Promise<Read> {
  const letters: DeadLetter[] = []
  let more = true
  while (more && letters.length < LIMITS.letters) {
    signal.throwIfAborted()
    const page = await store.jobs.deadLetters.list({ before: letters.at(-1), limit: PAGE, isPartial: true })
    letters.push(...page.items)
    more = page.more && page.items.length > 0
  }
  const things = letters.map(async (letter) => {
    const pushed = messageOfPush(letter)
    const message = letter.message ?? (pushed === undefined ? undefined : await store.journal.get(pushed))
    return openLetter(letter, message)
  })
  return { things: (await Promise.all(things)).flat(), isCut: more }
}
