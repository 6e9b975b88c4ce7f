import { isDeepStrictEqual } from 'node:util'
import { AUDIT_TOPIC } from '../../core/audit.ts'
import { NOTIFIER } from '../../core/author.ts'
import { readParts, type StoredJob } from '../../core/erasing.ts'
import { type Event, isForOperators, LOG_TOPIC, REPLY_TOPICS } from '../../core/event.ts'
import { isJsonObject, type Json, toJson } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import type { DeadLetter, Note, Store } from '../../core/store.ts'
import type { WaitingPushes } from '../../core/waiting-push.ts'
import { DISPATCH_QUEUE } from '../../engine/dispatch-queue.ts'
import { defined } from '../../lib/defined.ts'
import { ERASED } from '../../lib/erased.ts'
import { droppedNote } from './end-work.ts'
import { createHistoriesPlace } from './histories-place.ts'
import { kindOfJob, openInJob, openInLetter, partsOfJob } from './job-kinds.ts'
import { createLaterFilter, type LaterFilter } from './later-messages.ts'
import { isActivityOf, isLineOf } from './log-lines.ts'
import { isNamedIn } from './naming.ts'
import type { Person } from './person.ts'
import { definePlace, type Place, type Subject, type Tally } from './place.ts'

type Stores = Pick<Store, 'journal' | 'jobs' | 'topics' | 'erasing'>

const PAGE_SIZE = 200
/** Number of messages whose outcomes are read together. */
const COUNTED_AT_ONCE = 500
const MESSAGE_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Outcomes of messages that are not handled yet. Those that wait for an approval have one. */
const IS_OPEN = /^(waiting|retrying|running)$/

/** The places in the store other than the journal and keys and values. */
export function createStorePlaces(store: Stores): Place[] {
  const withoutLater = createLaterFilter(store.journal)
  return [
    jobsPlace(store, withoutLater),
    deadLettersPlace(store, withoutLater),
    createHistoriesPlace(store, withoutLater),
    topicsPlace(store, withoutLater),
  ]
}

/**
 * The messages with their histories. Erased last, because other data is found by their ids. Their events
 * go with them: a push that has not read them does not send them.
 */
export function createJournalPlace({ journal, erasing }: Stores, waitingPushes: WaitingPushes): Place {
  type Found = { message: Message; history: Note[] }
  return definePlace<Found>({
    name: 'messages',
    where: 'store',
    async *find({ person }) {
      const ids = [...person.messages]
      for (let at = 0; at < ids.length; at += PAGE_SIZE) {
        const found = ids.slice(at, at + PAGE_SIZE).map(async (id): Promise<Found[]> => {
          const message = await journal.get(id)
          return message ? [{ message, history: await journal.history(id) }] : []
        })
        yield (await Promise.all(found)).flat()
      }
    },
    record: (found) => toJson(found),
    async tally({ person }, signal) {
      const ids = [...person.messages]
      const sum: Tally = { count: 0, kinds: {}, open: [] }
      for (let at = 0; at < ids.length; at += COUNTED_AT_ONCE) {
        signal.throwIfAborted()
        const page = ids.slice(at, at + COUNTED_AT_ONCE)
        for (const [index, outcome] of (await journal.outcomes(page)).entries()) {
          if (outcome === undefined) continue
          sum.count++
          if (IS_OPEN.test(outcome))
            sum.open.push({ kind: 'messages', id: page[index] ?? '', title: outcome })
        }
      }
      const { pushes } = await waitingPushes(person.messages)
      for (const { name: title, unread } of pushes) {
        sum.open.push(...Array.from({ length: unread.fresh }, () => ({ kind: 'pushes', title }) as const))
        const again = { kind: 'pushes again', title } as const
        sum.open.push(...Array.from({ length: unread.replayed }, () => again))
      }
      return sum
    },
    erase: (found) => erasing.dropMessages(found.map(({ message }) => message.id)),
  })
}

/**
 * Unfinished jobs (messages that wait for dispatch or run, replies in the outbox, pushes) and
 * stored results.
 */
function jobsPlace({ erasing }: Stores, withoutLater: LaterFilter): Place {
  return definePlace<StoredJob>({
    name: 'jobs',
    where: 'store',
    async *find(subject) {
      const { about, person } = subject
      for await (const jobs of readParts(erasing.jobs)) {
        const theirs = jobs.filter(
          (job) =>
            !isLater(job, person) &&
            (about.mentions(job.id) || about.refersTo(job.content) || notifies(job.content, about)),
        )
        yield await withoutLater(theirs, toJson, subject)
      }
    },
    record: (job) => toJson(job),
    kindOf: kindOfJob,
    openIn: openInJob,
    erase: (jobs) => erasing.dropJobs(jobs),
  })
}

/** Whether a job sends a notification that names the person. */
function notifies(content: Json, about: Subject['about']): boolean {
  return partsOfJob(content).some((part) => part.by === NOTIFIER && isNamedIn(part, about))
}

/** Whether a job dispatches a message that arrived during the erasure. */
function isLater({ state, queue, id }: StoredJob, { messages }: Person): boolean {
  return state === 'unfinished' && queue === 'dispatch' && MESSAGE_ID.test(id) && !messages.has(id)
}

function deadLettersPlace({ journal, jobs: { deadLetters } }: Stores, withoutLater: LaterFilter): Place {
  return definePlace<DeadLetter>({
    name: 'dead letters',
    where: 'store',
    async *find(subject) {
      let before: DeadLetter | undefined
      for (;;) {
        const { items } = await deadLetters.list({ before, limit: PAGE_SIZE })
        if (items.length === 0) return
        before = items.at(-1)
        const theirs = items.filter((letter) => isLetterAbout(letter, subject))
        yield await withoutLater(theirs, toJson, subject)
      }
    },
    record: (letter) => toJson(letter),
    openIn: (letter) => [openInLetter(letter)],
    async erase(letters, { erasedBy }) {
      for (const { id, queue, message } of letters) {
        await deadLetters.drop(id, queue)
        // The message is erased later, or stays if the erasure is cancelled.
        if (erasedBy && message && queue === DISPATCH_QUEUE)
          await journal.note(message.id, [droppedNote(erasedBy, 'its dead letter was erased')])
      }
    },
  })
}

/** A dead letter belongs to the sender of its message. Messages of others may mention anybody. */
function isLetterAbout(
  { message, id, lane, data, errors, firstErrors = [], collected = [] }: DeadLetter,
  { about }: Subject,
): boolean {
  if ([...collected, ...(message ? [message] : [])].some(about.isSender)) return true
  const content = toJson({ data: data ?? null, errors, firstErrors })
  return (
    about.mentions(id) ||
    about.mentions(lane) ||
    about.refersTo(content, message?.gateway) ||
    notifies({ data: data ?? null }, about)
  )
}

/** `isWholeTopic`: whether all events of the topic are the person's. */
type FoundEvent = { topic: string; event: Event; isWholeTopic: boolean }

/** Replies that programs fetch, the audit log, copies of logs, and published events. */
function topicsPlace({ topics, erasing }: Stores, withoutLater: LaterFilter): Place {
  const isOwnReplyTopic = (topic: string, { person }: Subject) =>
    topic.startsWith(REPLY_TOPICS) && person.conversations.has(topic.slice(REPLY_TOPICS.length))

  async function* find(subject: Subject): AsyncGenerator<FoundEvent[]> {
    for (const topic of await erasing.topics()) {
      const isWholeTopic = isOwnReplyTopic(topic, subject)
      // Excludes events published meanwhile, such as rewritten audit entries.
      const end = await topics.end(topic)
      let after = 0
      while (after < end) {
        const { items } = await topics.tail(topic, after, PAGE_SIZE)
        const last = items.at(-1)
        if (!last) break
        after = last.position
        const theirs = items
          .filter(({ position }) => position <= end)
          .map(({ event }) => ({ topic, event, isWholeTopic }))
          .filter(({ event }) => isWholeTopic || isEventAbout(topic, event, subject))
        yield await withoutLater(theirs, ({ event }) => toJson(event), subject)
      }
    }
  }

  return definePlace<FoundEvent>({
    name: 'events',
    where: 'store',
    find,
    record: ({ event }) => toJson(event),
    async erase(found, subject) {
      for (const [topic, ofTopic] of Map.groupBy(found, (one) => one.topic)) {
        if (topic === AUDIT_TOPIC) await republishAnonymous(ofTopic, subject)
        const ids = ofTopic.map(({ event }) => event.id)
        await erasing.dropEvents(topic, ids)
        if (ofTopic[0]?.isWholeTopic && (await topics.tail(topic, 0, 1)).items.length === 0)
          await erasing.dropTopic(topic)
      }
    },
  })

  /** Publishes audit entries again, without the person. The key prevents duplicates. */
  async function republishAnonymous(found: readonly FoundEvent[], subject: Subject): Promise<void> {
    const { about } = subject
    const entries = found.map(({ event: { id, type, data, timestamp } }) => {
      const { by, from: _, target, result, ...others } = isJsonObject(data) ? data : {}
      const entry = Object.fromEntries(Object.entries(others).filter(([, value]) => !isNamedIn(value, about)))
      const author = typeof by === 'string' && !about.mentions(by) ? by : ERASED
      const rest = defined({
        ...entry,
        by: author,
        target: target && partWithout(target, subject),
        result: result && partWithout(result, subject),
      })
      return { type, source: author, data: rest, timestamp, key: `erased:${id}` }
    })
    await topics.publish(AUDIT_TOPIC, entries)
  }
}

/** The target or result of an audit entry without the person, and without their conversation. */
function partWithout(part: Json, { about, person }: Subject): Json | undefined {
  if (!isJsonObject(part)) return about.without(part)
  if (Object.keys(part).length === 0) return part
  const isTheirs = person.conversations.has(`${part.gateway}/${part.conversation}`)
  const isNamed = (value: Json | undefined) => typeof value === 'string' && about.isInKey(value)
  const left = Object.entries(part).filter(
    ([name, value]) => !(isTheirs && name === 'conversation') && !isNamed(value),
  )
  return left.length === 0 ? undefined : about.without(Object.fromEntries(left))
}

/**
 * An event about a message belongs to its sender; other messages may mention the person. Trivium
 * itself writes operational problems, so none may name them, such as in the error of a mailbox. The
 * copies of log lines, which are still to be written by other daemons, are like those in the files.
 */
function isEventAbout(topic: string, event: Event, subject: Subject): boolean {
  const { type, source, data, rootContextId = '' } = event
  const { about, person } = subject
  if (topic === AUDIT_TOPIC) return isAuditAbout(data, subject)
  if (topic === LOG_TOPIC && isJsonObject(data))
    return type === 'message' ? isLineOf(data, subject) : isActivityOf(data, subject)
  if (person.messages.has(rootContextId) || about.mentions(source)) return true
  return isForOperators(topic) ? isNamedIn(data, about) : about.refersTo(data)
}

function isAuditAbout(entry: Json, subject: Subject): boolean {
  const { about } = subject
  const { action, by = null, target = null, result = null } = Object(entry)
  const { reason = null, error = null, changes = null } = Object(entry)
  if (isNamedIn(by, about)) return true
  // The ids of erased messages stay, because only this entry proves the erasure.
  if (action === 'message-erase') return false
  const isInPart = (part: Json) => !isDeepStrictEqual(partWithout(part, subject), part)
  return [reason, error, changes].some((value) => isNamedIn(value, about)) || [target, result].some(isInPart)
}
