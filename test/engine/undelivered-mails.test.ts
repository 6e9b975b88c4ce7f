import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as timer } from 'node:timers/promises'
import { TriviumError } from '../../src/core/errors.ts'
import type { MessageSearch, Store } from '../../src/core/store.ts'
import { createConversations } from '../../src/engine/conversations.ts'
import { createDeadLetters } from '../../src/engine/dead-letters.ts'
import { createHistogram } from '../../src/engine/histogram.ts'
import { createLongWork } from '../../src/engine/long-work.ts'
import { createMessages } from '../../src/engine/messages.ts'
import { createSearch } from '../../src/engine/search.ts'
import { createUndeliveredMails } from '../../src/engine/undelivered-mails.ts'
import { bury, job } from '../contract/store/kit.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { openStore } from '../runtime/support/store.ts'
import { callOf, MESSAGE_DEPS, newMessage } from './kit.ts'

const SENDER = { id: 'h.olsen@example.com', address: 'h.olsen@example.com' }
const AWAY = new TriviumError('store_unavailable', { store: 'redis', reason: 'it hangs' })

async function accept(store: Store): Promise<string> {
  const [accepted] = await store.journal.accept([newMessage({ gateway: 'support', from: SENDER })])
  const id = accepted?.id ?? ''
  const { cursor } = await store.journal.unpumped(1)
  await store.journal.pumped(cursor, id, [])
  return id
}

/** A mail that was not delivered, sent some ms from now. */
function loseMail(store: Store, id: string, to: string, later = 10) {
  const at = Date.now() + later
  return bury(
    { store, now: () => at },
    'outbox',
    job(id, id, { group: 'support', data: { key: id, to, text: 'Found.' } }),
  )
}

/** The store with another journal. */
function withJournal(store: Store, journal: Partial<Store['journal']>): Store {
  return { ...store, journal: { ...store.journal, ...journal } }
}

function lettersOf(store: Store) {
  const longWork = createLongWork({ store, owner: 'test', log: createMemoryLog(), now: Date.now })
  return createDeadLetters({ store, longWork, now: Date.now })
}

/** A journal of many pages, each of which takes 50 ms and has no match. */
function largeJournal() {
  const searches: MessageSearch[] = []
  const search = async (wanted: MessageSearch) => {
    searches.push(wanted)
    await timer(50)
    return { found: [], next: `page-${searches.length}` }
  }
  return { searches, search }
}

test('mails to strangers do not hold up searches of a large journal', async (t) => {
  const store = await openStore(t)
  for (let at = 0; at < 20; at++) await loseMail(store, `mail-${at}`, `stranger-${at}@example.com`)
  const { searches, search } = largeJournal()
  const withMails = createUndeliveredMails(withJournal(store, { search }))
  await withMails({ limit: 10 }, { found: [] })
  assert.equal(searches.length, 0, 'no message of the page may be the question')

  const query = { limit: 10, outcomes: ['undelivered' as const] }
  await withMails(query, { found: [] })
  const first = searches.length
  assert.ok(first > 0 && first < 20, `${first}`)
  await withMails(query, { found: [] })
  assert.equal(searches[first]?.before, `page-${first}`, 'it continues')
})

test('dropping mails to strangers takes a limited time in a large journal', async (t) => {
  const store = await openStore(t)
  for (let at = 0; at < 30; at++) await loseMail(store, `mail-${at}`, `stranger-${at}@example.com`)
  const { searches, search } = largeJournal()
  const dropped = await lettersOf(withJournal(store, { search })).drop({ all: true, limit: 100 }, callOf())
  assert.partialDeepStrictEqual(dropped, { ok: true, count: 30 })
  assert.ok(searches.length < 30, `${searches.length}`)
})

test('a mail is dropped although the shard of its message went away', async (t) => {
  const store = await openStore(t)
  await accept(store)
  await loseMail(store, 'mail', SENDER.id)
  const away = withJournal(store, { note: () => Promise.reject(AWAY) })
  const dropped = await lettersOf(away).drop({ id: 'mail', limit: 1 }, callOf())
  assert.deepEqual(dropped, { ok: true })
})

test('messages of a shard that is away are left out, and have their outcome once it is back', async (t) => {
  const store = await openStore(t)
  const id = await accept(store)
  await loseMail(store, 'mail', SENDER.id)
  let isAway = true
  const shard: Partial<Store['journal']> = {
    search: async (wanted) => (isAway ? { found: [], away: [1] } : store.journal.search(wanted)),
    history: async (of) => (isAway ? Promise.reject(AWAY) : store.journal.history(of)),
    get: async (of) => (isAway ? Promise.reject(AWAY) : store.journal.get(of)),
  }
  const away = withJournal(store, shard)
  const { search } = createSearch(away, createUndeliveredMails(away))
  const found = async () =>
    Object(await search({ outcome: ['undelivered'], limit: 10 }, callOf())).messages.map(
      (row: { id: string }) => row.id,
    )
  assert.deepEqual(await found(), [])
  isAway = false
  assert.deepEqual(await found(), [id])
  isAway = true
  assert.deepEqual(await found(), [], 'its message is known, but not reachable')
})

test('a message with two failed answers is counted once', async (t) => {
  const store = await openStore(t)
  const id = await accept(store)
  await loseMail(store, 'mail', SENDER.id, 500)
  const { histogram } = createHistogram(store, () => Date.now() + 1_000, createUndeliveredMails(store))
  const totalOf = async (...outcome: ('undelivered' | 'unrouted')[]) =>
    Object(await histogram({ outcome, buckets: 10 }, callOf())).total
  assert.deepEqual([await totalOf('undelivered'), await totalOf('undelivered', 'unrouted')], [1, 1])
  await store.journal.note(id, [{ at: Date.now(), road: 'outbox', what: 'dead', detail: { key: 'a' } }])
  assert.equal(await totalOf('undelivered'), 1)
})

test('a later answer settles a mail that was not delivered, also after its dead letter is dropped', async (t) => {
  const store = await openStore(t)
  const id = await accept(store)
  await loseMail(store, 'mail', SENDER.id, -1)
  await loseMail(store, 'later', SENDER.id, 10)
  await store.journal.note(id, [
    { at: Date.now() + 1_000, road: 'outbox', what: 'sent', detail: { key: 'b' } },
  ])
  const messages = createMessages({ ...MESSAGE_DEPS, store })
  const outcome = async () => Object(await messages.show({ id }, callOf())).outcome
  assert.equal(await outcome(), 'unrouted')
  await lettersOf(store).drop({ all: true, limit: 100 }, callOf())
  assert.deepEqual([await outcome(), await store.journal.outcomes([id])], ['unrouted', ['unrouted']])
})

test('conversation-list combines undelivered answers with other outcomes of their messages', async (t) => {
  const store = await openStore(t)
  await accept(store)
  await loseMail(store, 'mail', SENDER.id)
  const { list } = createConversations({ ...MESSAGE_DEPS, store })
  const count = async (outcome: 'unrouted' | 'bounced') =>
    Object(await list({ undelivered: true, outcome: [outcome], limit: 10 }, callOf())).conversations.length
  assert.deepEqual([await count('unrouted'), await count('bounced')], [1, 0])
})

test('a mail that was not delivered belongs to the newest message of its recipient alone', async (t) => {
  const store = await openStore(t)
  const [older, newest] = [await accept(store), await accept(store)]
  await loseMail(store, 'mail', SENDER.id)
  const messages = createMessages({ ...MESSAGE_DEPS, store })
  const shown = async (id: string) => {
    const { outcome, history } = Object(await messages.show({ id }, callOf()))
    return [outcome, history.some(({ what }: { what: string }) => what === 'not delivered')]
  }
  assert.deepEqual(await shown(older), ['unrouted', false])
  assert.deepEqual(await shown(newest), ['undelivered', true])
})
