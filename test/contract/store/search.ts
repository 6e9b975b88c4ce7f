import assert from 'node:assert/strict'
import type { NewMessage } from '../../../src/core/message.ts'
import type { MessageSearch, Store } from '../../../src/core/store.ts'
import { acceptAll, claimJobs, failure, job, MINUTE, part, type StoreFactory, saying, WEEK } from './kit.ts'

/** The texts of all messages that a query finds, read page by page. */
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

/** Search by content and by outcome. */
export function searchContract(factory: StoreFactory): void {
  part(factory, 'search', {
    'finds messages by each part of a query, newest first': async ({ store, now, advance }) => {
      const say = async (text: string, more: Partial<NewMessage> = {}) => {
        advance(MINUTE)
        await store.journal.accept([saying(text, more)])
      }
      await say('the Invoice 4711', { gateway: 'mail', transport: 'email', subject: 'Über "alles"' })
      await say('100% of x_y', { conversation: 'c1', from: { id: 'u1', name: 'Ada Lovelace' } })
      const middle = now()
      await say('again an INVOICE', {
        data: { event: 'issues', query: { Ref: 'order-9981', page: 2 }, headers: { accept: 'teapot' } },
        from: { id: 'u2', address: 'b@example.org' },
      })
      await say('other\ninvoice 4711', { gateway: 'mail', conversation: 'c1' })
      const cases: [query: Partial<MessageSearch>, texts: string[]][] = [
        [{}, ['other\ninvoice 4711', 'again an INVOICE', '100% of x_y', 'the Invoice 4711']],
        [{ text: 'invoice' }, ['other\ninvoice 4711', 'again an INVOICE', 'the Invoice 4711']],
        [{ text: 'über "ALLES' }, ['the Invoice 4711']],
        [{ text: '% of x_y' }, ['100% of x_y']],
        [{ text: '%invoice' }, []],
        [{ text: '11' }, ['other\ninvoice 4711', 'the Invoice 4711']],
        [{ text: 'invoice', gateways: ['mail'] }, ['other\ninvoice 4711', 'the Invoice 4711']],
        [{ gateways: ['mail', 'nobody'] }, ['other\ninvoice 4711', 'the Invoice 4711']],
        [{ gateways: ['nobody'] }, []],
        [{ withoutGateways: ['mail', 'nobody'] }, ['again an INVOICE', '100% of x_y']],
        [{ transport: 'email' }, ['the Invoice 4711']],
        [{ withoutTransports: ['email'], text: 'invoice' }, ['other\ninvoice 4711', 'again an INVOICE']],
        [{ withoutEvents: ['issues'], text: 'invoice' }, ['other\ninvoice 4711', 'the Invoice 4711']],
        [{ withoutSenders: ['LOVELACE', 'b@example'] }, ['other\ninvoice 4711', 'the Invoice 4711']],
        [{ withoutConversations: ['c1'] }, ['again an INVOICE', 'the Invoice 4711']],
        [{ event: 'issues' }, ['again an INVOICE']],
        [{ sender: 'lovelace' }, ['100% of x_y']],
        [{ sender: 'B@EXAMPLE' }, ['again an INVOICE']],
        [{ text: 'ORDER-9981' }, ['again an INVOICE']],
        [{ words: ['invoice', 'ref'], numbers: ['9981'] }, ['again an INVOICE']],
        // Headers are the same in all deliveries of a sender.
        [{ text: 'teapot' }, []],
        [{ conversation: 'c1' }, ['other\ninvoice 4711', '100% of x_y']],
        [{ words: ['Lovelace', 'x_y'] }, ['100% of x_y']],
        [{ words: ['b@example'] }, ['again an INVOICE']],
        [{ numbers: ['4711'] }, ['other\ninvoice 4711', 'the Invoice 4711']],
        [{ numbers: ['471'] }, []],
        [{ numbers: ['711'], words: ['invoice'] }, []],
        [{ since: middle + 1 }, ['other\ninvoice 4711', 'again an INVOICE']],
        [{ until: middle + 1, conversation: 'c1' }, ['100% of x_y']],
      ]
      for (const [query, texts] of cases)
        assert.deepEqual(await findAll(store, query), texts, JSON.stringify(query))
    },
    'finds names and words with and without the marks of letters, in any case': async ({ store }) => {
      const say = (text: string, name: string) =>
        store.journal.accept([{ ...saying(text), from: { id: `id-${text}`, name, verified: true } }])
      await say('one', 'Leïla Koval')
      await say('two', 'LEILA Kelly')
      await say('three', 'Lei\u0308la Ömer')
      await say('four', 'Petra Nováková')
      await say('Grüße aus Bergen', 'Ada')
      const all = ['three', 'two', 'one']
      for (const sender of ['leila', 'leïla', 'LEÏLA', 'Lei\u0308la'])
        assert.deepEqual(await findAll(store, { sender }), all, sender)
      assert.deepEqual(await findAll(store, { words: ['leila', 'omer'] }), ['three'])
      assert.deepEqual(await findAll(store, { words: ['Leïla', 'kelly'] }), ['two'])
      assert.deepEqual(await findAll(store, { sender: 'novakova' }), ['four'])
      assert.deepEqual(await findAll(store, { text: 'gruße' }), ['Grüße aus Bergen'])
      assert.deepEqual(await findAll(store, { sender: 'layla' }), [])
      await say('Straße', 'Łukasz Þórsson')
      for (const sender of ['lukasz', 'Łukasz', 'thorsson', 'þórsson'])
        assert.deepEqual(await findAll(store, { sender }), ['Straße'], sender)
      assert.deepEqual(await findAll(store, { words: ['strasse', 'lukasz'] }), ['Straße'])
    },
    'finds messages by the beginning or the end of their id, and of their conversation': async ({
      store,
      advance,
    }) => {
      const threads = [{}, { conversation: 'slack:C1:17.0042' }, {}, { conversation: 'slack:C1:17.0042' }]
      for (const [index, more] of threads.entries()) {
        advance(MINUTE)
        await store.journal.accept([saying(`message ${index}`, more)])
      }
      const { found } = await store.journal.search({ limit: 10 })
      for (const { message } of found) {
        for (const id of [message.id, message.id.slice(-12), message.id.slice(0, 16)])
          assert.deepEqual(await findAll(store, { id }), [message.text], id)
        const middle = message.id.slice(2, -2)
        assert.deepEqual(await findAll(store, { id: middle }), [])
      }
      const both = ['message 3', 'message 1']
      for (const conversationPart of ['17.0042', 'SLACK:c1', 'slack:C1:17.0042'])
        assert.deepEqual(await findAll(store, { conversationPart }), both, conversationPart)
      await store.journal.accept([saying('order', { gateway: 'shop', conversation: 'shop:#5111' })])
      for (const conversationName of ['#5111', 'shop:#5111']) {
        assert.deepEqual(await findAll(store, { conversationName }), ['order'], conversationName)
        const { counts } = await store.journal.countByTime({ conversationName }, WEEK)
        assert.equal(counts[0]?.count, 1)
      }
      for (const conversationName of ['5111', '#5', 'mail:#5111'])
        assert.deepEqual(await findAll(store, { conversationName }), [], conversationName)
      const alone = found.at(-1)?.message.id
      assert.deepEqual(await findAll(store, { conversationName: alone }), ['message 0'])
      assert.ok(!(await findAll(store, { withoutConversations: ['#5111'] })).includes('order'))
      const own = found.at(-1)?.message.id.slice(-12)
      assert.deepEqual(await findAll(store, { conversationPart: own }), ['message 0'])
    },
    'finds messages that contain every one of `words` in the subject or the text': async ({ store }) => {
      const say = (text: string, subject: string) => store.journal.accept([{ ...saying(text), subject }])
      await say('the blue Book', 'An order')
      await say('the red book', 'an Order')
      assert.deepEqual(await findAll(store, { words: ['order', 'book'] }), ['the red book', 'the blue Book'])
      assert.deepEqual(await findAll(store, { words: ['order', 'BLUE'] }), ['the blue Book'])
      assert.deepEqual(await findAll(store, { words: ['red', 'blue'] }), [])
      assert.deepEqual(await findAll(store, { text: 'the', words: ['"none"'] }), [])
    },
    'finds messages by words and numbers in their event, and by a complete key or id': async ({
      store,
      advance,
    }) => {
      const data = { event: 'orders/paid' }
      for (const message of [
        saying('number 5031', { data, key: 'wh-1000050' }),
        saying('order 5031', { key: 'wh-1' }),
        saying('number 7', { data }),
      ]) {
        advance(MINUTE)
        await store.journal.accept([message])
      }
      const { found } = await store.journal.search({ words: ['number'], numbers: ['7'], limit: 10 })
      const id = found[0]?.message.id ?? ''
      const cases: [query: Partial<MessageSearch>, texts: string[]][] = [
        [{ words: ['order'], numbers: ['5031'] }, ['order 5031', 'number 5031']],
        [{ words: ['Orders/Paid'] }, ['number 7', 'number 5031']],
        [{ words: ['wh-1000050'] }, ['number 5031']],
        [{ words: ['wh-1'] }, ['order 5031']],
        [{ words: [id] }, ['number 7']],
        [{ words: [id.toUpperCase()] }, ['number 7']],
        // As lists show it.
        [{ words: [id.slice(-8)] }, ['number 7']],
        [{ words: [id.slice(-7)] }, []],
        [{ words: [id, 'elsewhere'] }, []],
      ]
      for (const [query, texts] of cases)
        assert.deepEqual(await findAll(store, query), texts, JSON.stringify(query))
    },
    'finds and counts messages by their route: of the job, the dead letter or the last attempt': async ({
      store,
      now,
    }) => {
      const [held = '', dead = '', done = ''] = await acceptAll(store, ['held', 'dead', 'done', 'unrouted'])
      const jobOf = (id: string, group: string) => job(id, `demo/${id}`, { messageId: id, group })
      const { cursor, items } = await store.journal.unpumped(10)
      const jobs = [jobOf(held, 'orders'), jobOf(dead, 'orders'), jobOf(done, 'rest')]
      await store.journal.pumped(cursor, items.at(-1)?.id ?? '', jobs)
      assert.deepEqual(await findAll(store, { route: 'orders' }), ['dead', 'held'])
      const { items: claims } = await claimJobs(store, 'dispatch')
      for (const { id, token } of claims) {
        const end = (detail: { route: string }) => [
          { at: now(), road: 'dispatch' as const, what: 'done', detail },
        ]
        if (id === held) await store.jobs.settle('dispatch', [{ id, token, outcome: 'hold' }])
        if (id === done)
          await store.jobs.settle('dispatch', [
            { id, token, outcome: 'done', notes: end({ route: 'orders' }) },
          ])
        if (id !== dead) continue
        const error = failure('no', now())
        await store.jobs.settle('dispatch', [{ id, token, outcome: 'dead', reason: 'attempts', error }])
      }
      assert.deepEqual(await findAll(store, { route: 'orders' }), ['done', 'dead', 'held'])
      assert.deepEqual(await findAll(store, { route: 'orders', outcomes: ['done'] }), ['done'])
      assert.deepEqual(await findAll(store, { route: 'rest' }), [])
      const others = await findAll(store, {})
      assert.deepEqual(
        await findAll(store, { withoutRoutes: ['orders', 'rest'] }),
        others.filter((text) => !['done', 'dead', 'held'].includes(text)),
      )
      const byRoute = await store.journal.countByTime({}, WEEK, true)
      const ofOrders = byRoute.counts.filter(({ route }) => route === 'orders')
      assert.equal(
        ofOrders.reduce((sum, { count }) => sum + count, 0),
        3,
      )
      const without = await store.journal.countByTime({ withoutRoutes: ['orders'] }, WEEK)
      assert.equal(
        without.counts.reduce((sum, { count }) => sum + count, 0),
        others.length - 3,
      )
      const { counts } = await store.journal.countByTime({ route: 'orders' }, WEEK)
      assert.equal(
        counts.reduce((sum, { count }) => sum + count, 0),
        3,
      )
    },
    'finds and counts messages by the number of their ended attempts': async ({ store, now }) => {
      const texts = ['new', 'once', 'twice', 'lost', 'cancelled']
      const ids = await acceptAll(store, texts)
      const end = (what: string, attempt: number, more: object = {}) => ({
        at: now(),
        road: 'dispatch' as const,
        what,
        detail: { attempt, ms: 3, route: 'orders', ...more },
      })
      const notes = {
        once: [end('done', 1)],
        // After a retry of its dead letter, the attempts begin again.
        twice: [end('dead', 1), end('done', 1)],
        // The daemon died during the first attempt.
        lost: [end('failed', 2)],
        cancelled: [end('failed', 1), end('dead', 2, { code: 'run_cancelled' })],
      }
      for (const [text, list] of Object.entries(notes)) {
        const id = ids[texts.indexOf(text)] ?? ''
        await store.journal.note(id, [
          ...list,
          { at: now(), road: 'outbox', what: 'sent', detail: { attempt: 9, ms: 1 } },
        ])
      }
      const cases: [attempts: { min?: number; max?: number }, found: string[]][] = [
        [{ min: 2 }, ['lost', 'twice']],
        [{ min: 1, max: 1 }, ['cancelled', 'once']],
        [{ max: 0 }, ['new']],
        [{ min: 3 }, []],
      ]
      const isOwn = (text: string) => texts.includes(text)
      for (const [attempts, found] of cases) {
        const all = await findAll(store, { attempts })
        assert.deepEqual(all.filter(isOwn), found, JSON.stringify(attempts))
        const { counts } = await store.journal.countByTime({ attempts }, WEEK)
        const counted = counts.reduce((sum, { count }) => sum + count, 0)
        assert.equal(counted, all.length, JSON.stringify(attempts))
      }
    },
    'finds and counts messages by the errors of their attempts and replies': async ({ store, now }) => {
      const texts = ['fine', 'at first', 'unsent', 'bounced mail']
      const ids = await acceptAll(store, texts)
      const noteOf = (road: 'dispatch' | 'outbox', what: string, detail: object) => ({
        ...{ at: now(), road, what },
        detail: { attempt: 1, ...detail },
      })
      const notes = {
        fine: [noteOf('dispatch', 'done', { note: 'Bad Gateway' })],
        'at first': [
          noteOf('dispatch', 'failed', { error: 'shop: 502 Bad Gateway (é)' }),
          noteOf('dispatch', 'done', {}),
        ],
        unsent: [noteOf('outbox', 'send failed', { error: 'mail: bad gateway' })],
        'bounced mail': [noteOf('outbox', 'bounced', { diagnostic: 'no such user' })],
      }
      for (const [text, list] of Object.entries(notes))
        await store.journal.note(ids[texts.indexOf(text)] ?? '', list)
      const cases: [error: string, found: string[]][] = [
        ['Bad Gateway', ['unsent', 'at first']],
        ['502 bad gateway (E)', ['at first']],
        ['no such user', ['bounced mail']],
        ['no such error', []],
      ]
      for (const [error, found] of cases) {
        assert.deepEqual(await findAll(store, { error }), found, error)
        const { counts } = await store.journal.countByTime({ error }, WEEK)
        assert.equal(
          counts.reduce((sum, { count }) => sum + count, 0),
          found.length,
          error,
        )
      }
    },
    'counts messages by time, gateway, conversation and outcome': async ({ store, now, advance }) => {
      advance(MINUTE - (now() % MINUTE))
      const start = now()
      await acceptAll(store, ['a', 'b'])
      advance(2 * MINUTE)
      await acceptAll(store, ['c'], { gateway: 'mail', conversation: 'c1' })
      await acceptAll(store, ['d'])
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
      assert.deepEqual(await count({ gateways: ['mail'], withoutGateways: ['mail'] }), { counts: [] })
      assert.deepEqual(await count({ conversation: 'c1' }), { counts: [{ at: later, count: 1 }] })
      assert.deepEqual(await count({ since: later }), { counts: [{ at: later, count: 2 }] })
      assert.deepEqual(await count({ until: later }), { counts: [{ at: start, count: 2 }] })
      assert.deepEqual(await count({ outcomes: ['waiting'] }), await count({}))
      assert.deepEqual(await count({ outcomes: ['dead'] }), { counts: [] })
      // A week that ended between the messages makes two spans.
      const { counts } = await count({}, WEEK)
      assert.equal(
        counts.reduce((sum, span) => sum + span.count, 0),
        4,
      )
    },
    'finds a message without a conversation, and its replies, by its id': async ({ store }) => {
      const [id = ''] = await acceptAll(store, ['alone', 'other'])
      await acceptAll(store, ['reply'], { conversation: id })
      assert.deepEqual(await findAll(store, { conversation: id }), ['reply', 'alone'])
    },
    'returns the outcome of each message, and finds messages by it': async ({ store }) => {
      // Only the first eight get a job, in a lane of their own.
      const routed = [
        'dead',
        'dropped',
        'running',
        'retrying',
        'done',
        'approval',
        'by a person',
        'withdrawn',
      ]
      const texts = [...routed, 'unrouted', 'unrouted without a note', 'routed later', 'waiting']
      const ids = await acceptAll(store, texts)
      const idOf = (text: string) => ids[texts.indexOf(text)] ?? ''
      const { cursor } = await store.journal.unpumped(20)
      const jobs = routed.map((text) => job(idOf(text), text, { messageId: idOf(text) }))
      assert.ok(await store.journal.pumped(cursor, idOf('routed later'), jobs))
      const { items: claimed } = await store.jobs.claim('dispatch', { max: 8, lease: MINUTE })
      const claim = (text: string) => {
        const id = idOf(text)
        return { id, token: claimed.find((each) => each.id === id)?.token ?? '' }
      }
      const notes = (...whats: string[]) => whats.map((what) => ({ at: 1, road: 'dispatch' as const, what }))
      const error = { at: 1, code: 'skill_failed', message: 'no' }
      const dead = { outcome: 'dead', error, reason: 'attempts', notes: notes('dead') } as const
      await store.jobs.settle('dispatch', [
        { ...claim('dead'), ...dead },
        { ...claim('dropped'), ...dead },
        { ...claim('retrying'), outcome: 'retry', delay: MINUTE, error, notes: notes('failed') },
        { ...claim('done'), outcome: 'done', notes: notes('done') },
        { ...claim('approval'), outcome: 'done', notes: notes('waits for an approval') },
        { ...claim('by a person'), outcome: 'done', notes: notes('handled by a person') },
      ])
      await store.jobs.deadLetters.drop(idOf('dropped'))
      await store.erasing.dropJobs([
        { state: 'unfinished', queue: 'dispatch', id: idOf('withdrawn'), content: null },
      ])
      await store.journal.note(idOf('withdrawn'), notes('dropped'))
      await store.journal.note(idOf('done'), notes('model'))
      // Stores of earlier versions have this note. Without it, the dispatch cursor is ahead and
      // there is no job.
      await store.journal.note(idOf('unrouted'), notes('unrouted'))
      // The note that a message was routed again may follow its outcome.
      await store.journal.note(idOf('routed later'), notes('unrouted', 'done', 'routed again'))
      const expected = [
        'dead',
        'dropped',
        'running',
        'retrying',
        'done',
        'approval',
        'dropped',
        'dropped',
        'unrouted',
        'unrouted',
        'done',
        'waiting',
      ]
      const unknown = `${idOf('done').slice(0, -1)}x`
      assert.deepEqual(await store.journal.outcomes([...ids, 'no id', unknown]), [
        ...expected,
        undefined,
        undefined,
      ])
      const { found } = await store.journal.search({ limit: 20 })
      assert.deepEqual(found.map(({ outcome }) => outcome).reverse(), expected)
      assert.deepEqual(await findAll(store, { outcomes: ['dead', 'unrouted'] }), [
        'unrouted without a note',
        'unrouted',
        'dead',
      ])
      assert.deepEqual(await findAll(store, { outcomes: ['waiting'] }), ['waiting'])
    },
    'the outcome of a message follows its run after the decision about an approval': async ({ store }) => {
      const texts = ['waiting', 'running', 'retrying', 'dead', 'dropped', 'done', 'asks again', 'retried']
      const ids = await acceptAll(store, texts)
      const { cursor } = await store.journal.unpumped(20)
      const jobs = ids.map((id) => job(id, id, { messageId: id }))
      assert.ok(await store.journal.pumped(cursor, ids.at(-1) ?? '', jobs))
      const noted = (what: string, approval?: string) => [
        { at: 1, road: 'dispatch' as const, what, ...(approval && { detail: { approval } }) },
      ]
      const asks = { outcome: 'done', notes: noted('waits for an approval', 'a1') } as const
      const { items: first } = await store.jobs.claim('dispatch', { max: 8, lease: MINUTE })
      await store.jobs.settle(
        'dispatch',
        first.map(({ id, token }) => ({ id, token, ...asks })),
      )
      for (const id of ids) await store.journal.note(id, noted('approved', 'a1'))
      const outcomes = () => store.journal.outcomes(ids)
      // The daemon that decided has not added the jobs yet.
      assert.deepEqual(new Set(await outcomes()), new Set(['waiting']))
      const resumed = ids.map((id) => job(`${id}:a1`, id, { messageId: id }))
      await store.jobs.add('dispatch', resumed.slice(1))
      const { items: claimed } = await store.jobs.claim('dispatch', { max: 8, lease: MINUTE })
      const claim = (text: string) => {
        const id = `${ids[texts.indexOf(text)]}:a1`
        return { id, token: claimed.find((each) => each.id === id)?.token ?? '' }
      }
      const error = failure('no', 1)
      const dead = { outcome: 'dead', error, reason: 'attempts', notes: noted('dead') } as const
      await store.jobs.settle('dispatch', [
        { ...claim('retrying'), outcome: 'retry', delay: MINUTE, error, notes: noted('failed') },
        { ...claim('dead'), ...dead },
        { ...claim('dropped'), ...dead },
        { ...claim('retried'), ...dead },
        { ...claim('done'), outcome: 'done', notes: noted('done') },
        { ...claim('asks again'), outcome: 'done', notes: noted('waits for an approval', 'a2') },
      ])
      await store.jobs.deadLetters.drop(claim('dropped').id)
      await store.jobs.deadLetters.retry(claim('retried').id)
      const expected = ['waiting', 'running', 'retrying', 'dead', 'dropped', 'done', 'approval', 'waiting']
      assert.deepEqual(await outcomes(), expected)
      assert.deepEqual(await findAll(store, { outcomes: ['dead'] }), ['dead'])
    },
    'finds nothing for a very long text': async ({ store }) => {
      await acceptAll(store, ['x'])
      assert.deepEqual(await findAll(store, { text: 'x'.repeat(60_000) }), [])
    },
    'the outcome of a message follows the sending of its reply': async ({ store }) => {
      const cases = [
        { outbox: ['sent'], outcome: 'done' },
        { outbox: ['sent', 'bounced'], outcome: 'bounced' },
        { outbox: ['suppressed'], outcome: 'suppressed' },
        { outbox: ['sent', 'bounced', 'sent'], outcome: 'bounced' },
        { outbox: ['suppressed', 'sent'], outcome: 'done' },
        { outbox: ['send failed'], outcome: 'replying' },
        { outbox: ['send failed', 'sent'], outcome: 'done' },
        { outbox: ['send failed', 'dead'], outcome: 'undelivered' },
        { outbox: ['dead', 'sent'], outcome: 'done' },
        { outbox: ['sent', 'dead'], outcome: 'undelivered' },
        { outbox: ['sent', 'not delivered'], outcome: 'undelivered' },
        { outbox: ['not delivered', 'sent'], outcome: 'done' },
        { outbox: ['not sent'], outcome: 'done' },
        { outbox: ['not sent', 'sent'], outcome: 'done' },
        { name: 'without a route', outbox: ['sent', 'bounced'], outcome: 'bounced', isRouted: false },
        { name: 'not pumped', outbox: [], outcome: 'waiting', isRouted: false },
      ]
      const texts = cases.map(({ name, outbox }) => name ?? outbox.join(', '))
      const ids = await acceptAll(store, texts)
      const { cursor } = await store.journal.unpumped(20)
      const jobs = cases.flatMap(({ isRouted = true }, index) => {
        const id = ids[index] ?? ''
        return isRouted ? [job(id, id, { messageId: id })] : []
      })
      // All but the last.
      assert.ok(await store.journal.pumped(cursor, ids.at(-2) ?? '', jobs))
      const { items: claimed } = await store.jobs.claim('dispatch', { max: jobs.length, lease: MINUTE })
      for (const [index, { outbox }] of cases.entries()) {
        const notes = outbox.map((what, at) => ({ at: at + 1, road: 'outbox' as const, what }))
        await store.journal.note(ids[index] ?? '', notes)
      }
      // The reply may have been sent before dispatch notes that it is done.
      const done = { outcome: 'done' as const, notes: [{ at: 2, road: 'dispatch' as const, what: 'done' }] }
      await store.jobs.settle(
        'dispatch',
        claimed.map(({ id, token }) => ({ id, token, ...done })),
      )
      assert.deepEqual(
        await store.journal.outcomes(ids),
        cases.map(({ outcome }) => outcome),
      )
      assert.deepEqual(await findAll(store, { outcomes: ['bounced'] }), [
        'without a route',
        'sent, bounced, sent',
        'sent, bounced',
      ])
      assert.deepEqual(await findAll(store, { outcomes: ['replying'] }), ['send failed'])
      assert.deepEqual(await findAll(store, { outcomes: ['suppressed'] }), ['suppressed'])
    },
    'returns large messages in short pages, and skips none': async ({ store }) => {
      const texts = Array.from({ length: 4 }, (_, index) => `${index} ${'x'.repeat(3_000_000)}`)
      for (const text of texts) await acceptAll(store, [text])
      const { found } = await store.journal.search({ limit: 10 })
      assert.equal(found.length, 2)
      assert.equal((await findAll(store, { limit: 10 })).length, 4)
    },
  })
}
