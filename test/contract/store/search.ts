import assert from 'node:assert/strict'
import type { NewMessage } from '../../../src/core/message.ts'
import type { MessageSearch, Store } from '../../../src/core/store.ts'
import { acceptAll, MINUTE, part, type StoreFactory, saying } from './kit.ts'

/** What a query finds, page by page, until there is no more. */
async function findAll(store: Store, search: Partial<MessageSearch>): Promise<string[]> {
  const texts: string[] = []
  for (let before: string | undefined, pages = 0; pages < 100; pages++) {
    const { found, next } = await store.journal.search({ limit: 2, ...search, before })
    texts.push(...found.map(({ message }) => message.text))
    if (next === undefined) return texts
    before = next
  }
  return assert.fail('the search has no end')
}

/** Search by what is in messages, and by how they stand. */
export function searchContract(factory: StoreFactory): void {
  part(factory, 'search', {
    'messages are found by each part of a query, newest first': async ({ store, now, advance }) => {
      const say = async (text: string, more: Partial<NewMessage> = {}) => {
        advance(MINUTE)
        await store.journal.accept([{ ...saying(text), ...more }])
      }
      await say('the Invoice 4711', { gateway: 'mail', transport: 'email', subject: 'Über "alles"' })
      await say('100% of x_y', { conversation: 'c1', from: { id: 'u1', name: 'Ada Lovelace' } })
      const middle = now()
      await say('again an INVOICE', {
        data: { event: 'issues' },
        from: { id: 'u2', address: 'b@example.org' },
      })
      await say('other\ninvoice 4711', { gateway: 'mail', conversation: 'c1' })
      const cases: [Partial<MessageSearch>, string[]][] = [
        [{}, ['other\ninvoice 4711', 'again an INVOICE', '100% of x_y', 'the Invoice 4711']],
        [{ text: 'invoice' }, ['other\ninvoice 4711', 'again an INVOICE', 'the Invoice 4711']],
        [{ text: 'über "ALLES' }, ['the Invoice 4711']],
        [{ text: '% of x_y' }, ['100% of x_y']],
        [{ text: '%invoice' }, []],
        [{ text: '11' }, ['other\ninvoice 4711', 'the Invoice 4711']],
        [{ text: 'invoice', gateways: ['mail'] }, ['other\ninvoice 4711', 'the Invoice 4711']],
        [{ gateways: ['mail', 'nobody'] }, ['other\ninvoice 4711', 'the Invoice 4711']],
        [{ gateways: ['nobody'] }, []],
        [{ transport: 'email' }, ['the Invoice 4711']],
        [{ event: 'issues' }, ['again an INVOICE']],
        [{ sender: 'lovelace' }, ['100% of x_y']],
        [{ sender: 'B@EXAMPLE' }, ['again an INVOICE']],
        [{ conversation: 'c1' }, ['other\ninvoice 4711', '100% of x_y']],
        [{ since: middle + 1 }, ['other\ninvoice 4711', 'again an INVOICE']],
        [{ until: middle + 1, conversation: 'c1' }, ['100% of x_y']],
      ]
      for (const [query, texts] of cases)
        assert.deepEqual(await findAll(store, query), texts, JSON.stringify(query))
    },
    'every one of several words must be in the subject or the text': async ({ store }) => {
      const say = (text: string, subject: string) => store.journal.accept([{ ...saying(text), subject }])
      await say('the blue Book', 'An order')
      await say('the red book', 'an Order')
      assert.deepEqual(await findAll(store, { words: ['order', 'book'] }), ['the red book', 'the blue Book'])
      assert.deepEqual(await findAll(store, { words: ['order', 'BLUE'] }), ['the blue Book'])
      assert.deepEqual(await findAll(store, { words: ['red', 'blue'] }), [])
      assert.deepEqual(await findAll(store, { text: 'the', words: ['"none"'] }), [])
    },
    'messages are counted by time, gateway, conversation and outcome': async ({ store, now, advance }) => {
      const say = async (text: string, more: Partial<NewMessage> = {}) => {
        await store.journal.accept([{ ...saying(text), ...more }])
      }
      advance(MINUTE - (now() % MINUTE))
      const start = now()
      for (const text of ['a', 'b']) await say(text)
      advance(2 * MINUTE)
      await say('c', { gateway: 'mail', conversation: 'c1' })
      await say('d')
      const later = start + 2 * MINUTE
      const count = (search: Parameters<typeof store.journal.countByTime>[0], width = MINUTE) =>
        store.journal.countByTime(search, width)
      assert.deepEqual(await count({}), {
        counts: [
          { at: later, count: 2 },
          { at: start, count: 2 },
        ],
      })
      assert.deepEqual(await count({ gateways: ['mail'] }), { counts: [{ at: later, count: 1 }] })
      assert.deepEqual(await count({ gateways: ['nobody'] }), { counts: [] })
      assert.deepEqual(await count({ conversation: 'c1' }), { counts: [{ at: later, count: 1 }] })
      assert.deepEqual(await count({ since: later }), { counts: [{ at: later, count: 2 }] })
      assert.deepEqual(await count({ until: later }), { counts: [{ at: start, count: 2 }] })
      assert.deepEqual(await count({ outcomes: ['waiting'] }), await count({}))
      assert.deepEqual(await count({ outcomes: ['dead'] }), { counts: [] })
      const { counts } = await count({}, 7 * 24 * 60 * MINUTE)
      assert.equal(
        counts.reduce((sum, one) => sum + one.count, 0),
        4,
      )
    },
    'a message that is its own conversation is found by that': async ({ store }) => {
      const [id = ''] = await acceptAll(store, ['alone', 'other'])
      await acceptAll(store, ['reply'], { conversation: id })
      assert.deepEqual(await findAll(store, { conversation: id }), ['reply', 'alone'])
    },
    'a search tells how each message stands, and finds by that': async ({ store }) => {
      const names = [
        'dead',
        'dropped',
        'running',
        'retrying',
        'done',
        'approval',
        'handled',
        'unrouted',
        'unrouted',
        'again',
        'waiting',
      ]
      const ids = await acceptAll(store, names)
      const id = (name: string) => ids[names.indexOf(name)] ?? ''
      const { cursor } = await store.journal.unpumped(20)
      const jobs = names
        .slice(0, 7)
        .map((name) => ({ id: id(name), lane: name, group: name, messageId: id(name) }))
      assert.ok(await store.journal.pumped(cursor, id('again'), jobs))
      const note = (what: string) => ({ at: 1, road: 'dispatch' as const, what })
      const error = { at: 1, code: 'skill_failed', message: 'no' }
      const { items: claimed } = await store.jobs.claim('dispatch', { max: 7, lease: MINUTE })
      const claim = (name: string) => {
        const { token = '' } = claimed.find((job) => job.id === id(name)) ?? {}
        return { id: id(name), token }
      }
      await store.jobs.settle('dispatch', [
        { ...claim('dead'), outcome: 'dead', error, reason: 'attempts', notes: [note('dead')] },
        { ...claim('dropped'), outcome: 'dead', error, reason: 'attempts', notes: [note('dead')] },
        { ...claim('retrying'), outcome: 'retry', delay: MINUTE, error, notes: [note('failed')] },
        { ...claim('done'), outcome: 'done', notes: [note('done')] },
        { ...claim('approval'), outcome: 'done', notes: [note('waits for an approval')] },
        { ...claim('handled'), outcome: 'done', notes: [note('handled by a person')] },
      ])
      await store.jobs.deadLetters.drop(id('dropped'))
      await store.journal.note(id('done'), [note('model')])
      // Of a store of before; of the second the dispatch cursor tells.
      await store.journal.note(id('unrouted'), [note('unrouted')])
      await store.journal.note(id('again'), [note('unrouted'), note('done'), note('routed again')])
      // What routed it may tell so later than it ended.
      const meant: Record<string, string> = { again: 'done', handled: 'dropped' }
      const expected = names.map((name) => meant[name] ?? name)
      assert.deepEqual(await store.journal.outcomes([...ids, 'nobody', `${id('done').slice(0, -1)}x`]), [
        ...expected,
        undefined,
        undefined,
      ])
      const { found } = await store.journal.search({ limit: 20 })
      assert.deepEqual(found.map(({ outcome }) => outcome).reverse(), expected)
      assert.deepEqual(await findAll(store, { outcomes: ['dead', 'unrouted'] }), [
        'unrouted',
        'unrouted',
        'dead',
      ])
      assert.deepEqual(await findAll(store, { outcomes: ['waiting'] }), ['waiting'])
      assert.deepEqual(await findAll(store, { text: 'x'.repeat(60_000) }), [])
    },
    'what became of an answer tells how a message stands, and finds it': async ({ store }) => {
      const told: Record<string, readonly string[]> = {
        done: ['sent'],
        bounced: ['sent', 'bounced'],
        suppressed: ['suppressed'],
        'bounced, and answered again': ['sent', 'bounced', 'sent'],
        'suppressed, and sent by hand': ['suppressed', 'sent'],
        'not yet': ['send failed'],
        'sent at last': ['send failed', 'sent'],
        'given up': ['send failed', 'dead'],
        'bounced without a route': ['sent', 'bounced'],
        'still waiting': [],
      }
      const names = Object.keys(told)
      const ids = await acceptAll(store, names)
      const { cursor } = await store.journal.unpumped(20)
      const jobs = ids.slice(0, 8).map((id, at) => ({ id, lane: names[at] ?? '', group: 'g', messageId: id }))
      assert.ok(await store.journal.pumped(cursor, ids[8] ?? '', jobs))
      const { items: claimed } = await store.jobs.claim('dispatch', { max: 8, lease: MINUTE })
      for (const [at, id] of ids.entries()) {
        const notes = told[names[at] ?? ''] ?? []
        await store.journal.note(
          id,
          notes.map((what) => ({ at: 1, road: 'outbox' as const, what })),
        )
      }
      // The answer may have gone out before dispatch notes that it is done.
      const done = { outcome: 'done' as const, notes: [{ at: 2, road: 'dispatch' as const, what: 'done' }] }
      await store.jobs.settle(
        'dispatch',
        claimed.map(({ id, token }) => ({ id, token, ...done })),
      )
      const expected = [
        ...['done', 'bounced', 'suppressed', 'bounced', 'done', 'replying', 'done', 'done'],
        ...['bounced', 'waiting'],
      ]
      assert.deepEqual(await store.journal.outcomes(ids), expected)
      assert.deepEqual(await findAll(store, { outcomes: ['bounced'] }), [names[8], names[3], names[1]])
      assert.deepEqual(await findAll(store, { outcomes: ['replying'] }), ['not yet'])
      assert.deepEqual(await findAll(store, { outcomes: ['suppressed'] }), ['suppressed'])
    },
    'large messages make short pages, and none is left out': async ({ store }) => {
      const texts = Array.from({ length: 4 }, (_, index) => `${index} ${'x'.repeat(3_000_000)}`)
      for (const text of texts) await acceptAll(store, [text])
      const { found } = await store.journal.search({ limit: 10 })
      assert.equal(found.length, 2)
      assert.equal((await findAll(store, { limit: 10 })).length, 4)
    },
  })
}
