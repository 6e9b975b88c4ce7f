import assert from 'node:assert/strict'
import { MESSAGE_TOPIC } from '../../../src/core/event.ts'
import type { Message } from '../../../src/core/message.ts'
import { isId, positionOf } from '../../../src/core/message-id.ts'
import {
  acceptAll,
  claimJobs,
  failure,
  job,
  MINUTE,
  newest,
  part,
  pumpAll,
  type StoreFactory,
  saying,
  until,
  WEEK,
} from './kit.ts'

const ODD_KEYS = [
  '__proto__',
  'constructor',
  '',
  ' ',
  'a:b:c',
  '{tag}',
  '💥',
  'ключ',
  'a\nb',
  '*?[]',
  '\'"\\;--',
]

/** Together 12 MB, more than one read returns. */
const LARGE_TEXTS = Array.from({ length: 40 }, (_, index) => `${index} `.padEnd(300_000, 'x'))
const MAX_SHORT = 25

function assertShort(page: readonly unknown[]): void {
  assert.ok(page.length > 0 && page.length < MAX_SHORT, `${page.length} items in one page`)
}

/** Accepting, deduplication, look-ups, history and the pump. */
export function journalContract(factory: StoreFactory): void {
  part(factory, 'journal', {
    'accepts many messages in one step, in order, and each key once': async ({ store }) => {
      const messages = Array.from({ length: 1_500 }, (_, n) => {
        const message = saying(`${n} ${'x'.repeat(1_500)}`, { key: `k${n}` })
        return n % 3 === 0 ? message : { ...message, conversation: `c${n % 7}` }
      })
      const together = true
      const first = await store.journal.accept(messages, together)
      assert.ok(first.every(({ duplicate, error }) => !duplicate && !error))
      assert.equal(new Set(first.map(({ id }) => id)).size, messages.length)
      const ids = first.map(({ id }) => id)

      const repeated = [...messages.slice(700), saying('new', { key: 'new' })]
      const second = await store.journal.accept(repeated, together)
      assert.deepEqual(
        second.slice(0, -1),
        ids.slice(700).map((id) => ({ id, duplicate: true })),
      )
      assert.equal(second.at(-1)?.duplicate, false)
      const stored = await store.journal.get(ids[1_234] ?? '')
      assert.equal(stored?.text, messages[1_234]?.text)
    },

    'returns an accepted message unchanged, with its id': async ({ store, now }) => {
      const message = saying('héllo 💥', {
        conversation: 'c1',
        key: 'k1',
        receivedAt: now() - 5,
        from: { id: 'u', name: 'U', address: 'u@example.com' },
        to: 'bot',
        subject: 's',
        html: '<p>',
        data: { a: [1, null, { b: true }] },
        attachments: [{ name: 'f', type: 'text/plain', size: 1, sha256: 'ab', path: 'artifacts/ab' }],
        trace: 'f'.repeat(32),
      })
      const [accepted] = await store.journal.accept([message])
      assert.ok(accepted)
      assert.equal(accepted.duplicate, false)
      assert.ok(isId(accepted.id))
      assert.deepEqual(await store.journal.get(accepted.id), { ...message, id: accepted.id })
    },
    'fills in a missing conversation, trace and time': async ({ store, now }) => {
      const [id = ''] = await acceptAll(store, ['hi'])
      const message = await store.journal.get(id)
      const filled = {
        id,
        conversation: id,
        trace: id.replaceAll('-', ''),
        receivedAt: now(),
        attachments: [],
      }
      assert.deepEqual(message, { ...saying('hi'), ...filled })
    },
    'ids stay in order when the clock steps back': async ({ store, advance }) => {
      const first = await acceptAll(store, ['a'])
      advance(-MINUTE)
      const ids = [...first, ...(await acceptAll(store, ['b']))]
      assert.deepEqual(ids, [...ids].sort())
    },
    'finds nothing for an unknown or an invalid id': async ({ store }) => {
      const [id = ''] = await acceptAll(store, ['a'])
      assert.equal(await store.journal.get(`${id.slice(0, -4)}0000`), undefined)
      assert.equal(await store.journal.get('nonsense'), undefined)
    },
    'a duplicate within one call gets the id of the first message, at its own place in the answers': async ({
      store,
    }) => {
      const answers = await store.journal.accept([
        saying('1', { key: 'a' }),
        saying('2', { key: 'b' }),
        saying('3', { key: 'a' }),
        saying('4'),
        saying('5'),
      ])
      assert.deepEqual(
        answers.map((answer) => answer.duplicate),
        [false, false, true, false, false],
      )
      assert.equal(answers[2]?.id, answers[0]?.id)
      assert.equal(new Set(answers.map((answer) => answer.id)).size, 4)
    },
    'duplicates in concurrent calls make one message': async ({ store }) => {
      const calls = Array.from({ length: 20 }, () => store.journal.accept([saying('x', { key: 'same' })]))
      const answers = (await Promise.all(calls)).flat()
      assert.equal(new Set(answers.map((answer) => answer.id)).size, 1)
      assert.equal(answers.filter((answer) => !answer.duplicate).length, 1)
    },
    'a key is remembered for seven days, also across a restart, and then free again': async (bench) => {
      const [first] = await bench.store.journal.accept([saying('1', { key: 'k' })])
      const { advance } = bench
      const store = await bench.reopen()
      advance(WEEK - MINUTE)
      const [within] = await store.journal.accept([saying('2', { key: 'k' })])
      assert.deepEqual(within, { id: first?.id, duplicate: true })
      advance(2 * MINUTE)
      const [after] = await store.journal.accept([saying('3', { key: 'k' })])
      assert.equal(after?.duplicate, false)
      assert.notEqual(after?.id, first?.id)
    },
    'accepts any text as key, gateway and conversation': async ({ store }) => {
      const messages = ODD_KEYS.map((key) =>
        saying(key, { key, gateway: `g${key}`, conversation: `c${key}` }),
      )
      const first = await store.journal.accept(messages)
      assert.deepEqual(
        await store.journal.accept(messages),
        first.map(({ id }) => ({ id, duplicate: true })),
      )
      for (const key of ODD_KEYS) {
        const [found, ...more] = await newest(store, 10, { conversation: `c${key}` })
        assert.equal(found?.text, key)
        assert.deepEqual(more, [])
      }
    },
    'keeps odd content unchanged: own __proto__, lone surrogates, NUL, 1 MB': async ({ store }) => {
      const data = JSON.parse('{"__proto__":{"x":1},"constructor":"c","n":1e21}')
      const texts = ['\ud800 lone \udc00', 'nul\u0000inside', '💥'.repeat(262_144), '']
      const answers = await store.journal.accept(texts.map((text) => saying(text, { data })))
      for (const [index, { id }] of answers.entries()) {
        const message = await store.journal.get(id)
        assert.ok(message)
        assert.equal(message.text, texts[index])
        assert.equal(JSON.stringify(message.data), JSON.stringify(data))
      }
    },
    'the history contains the notes, oldest first, and survives a restart': async (bench) => {
      const [id = '', other = ''] = await acceptAll(bench.store, ['a', 'b'])
      const notes = [
        { at: 1, road: 'dispatch', what: 'matched', detail: { route: 'rest' } },
        { at: 2, road: 'outbox', what: 'sent' },
      ] as const
      await bench.store.journal.note(id, notes.slice(0, 1))
      await bench.store.journal.note(id, notes.slice(1))
      await bench.store.journal.note(id, [])
      assert.deepEqual(await (await bench.reopen()).journal.history(id), notes)
      assert.deepEqual(await bench.store.journal.history(other), [])
    },
    'drops notes on unknown messages': async ({ store }) => {
      const [id = ''] = await acceptAll(store, ['a'])
      const unknown = `${id.slice(0, -4)}0000`
      await store.journal.note(unknown, [{ at: 1, road: 'dispatch', what: 'x' }])
      await store.journal.note('nonsense', [{ at: 1, road: 'dispatch', what: 'x' }])
      assert.deepEqual(await store.journal.history(unknown), [])
      assert.deepEqual(await store.journal.history('nonsense'), [])
      assert.deepEqual(await store.journal.history(id), [])
    },
  })

  part(factory, 'pump', {
    'moves the cursor and adds the jobs in one step, once': async (bench) => {
      const ids = await acceptAll(bench.store, ['a', 'b', 'c'])
      const { cursor, items: messages } = await bench.store.journal.unpumped(2)
      const last = messages.at(-1)?.id ?? ''
      const jobs = messages.map(({ id, conversation: lane }) => ({ id, lane, group: 'g', messageId: id }))
      assert.equal(await bench.store.journal.pumped(cursor, last, jobs), true)
      assert.equal(await bench.store.journal.pumped(cursor, last, jobs), false)
      const store = await bench.reopen()
      const claimed = await store.jobs.claim('dispatch', { max: 10, lease: MINUTE })
      assert.deepEqual(
        claimed.items.map((each) => each.message?.text),
        ['a', 'b'],
      )
      const rest = await store.journal.unpumped(10)
      assert.equal(rest.cursor, positionOf(last))
      assert.deepEqual(
        rest.items.map((each) => each.id),
        ids.slice(2),
      )
    },
    'the pump, claims and dead letters read large messages in short pages, and skip none': async ({
      store,
    }) => {
      const ids = await acceptAll(store, LARGE_TEXTS)
      assert.ok((await store.topics.tail(MESSAGE_TOPIC, 0, 100)).items.length < ids.length)
      for (let pumped = 0; pumped < ids.length; ) {
        const { cursor, items: messages } = await store.journal.unpumped(100)
        assertShort(messages)
        pumped += messages.length
        const jobs = messages.map(({ id }) => job(id, id, { messageId: id }))
        await store.journal.pumped(cursor, messages.at(-1)?.id ?? '', jobs)
      }
      const claimed: string[] = []
      while (claimed.length < ids.length) {
        const { items: jobs } = await claimJobs(store, 'dispatch')
        assertShort(jobs)
        claimed.push(...jobs.map(({ id }) => id))
        const dead = { outcome: 'dead', reason: 'attempts', error: failure('x', 0) } as const
        await store.jobs.settle(
          'dispatch',
          jobs.map(({ id, token }) => ({ id, token, ...dead })),
        )
      }
      assert.deepEqual(claimed, ids)
      const { items: letters } = await store.jobs.deadLetters.list({ limit: 100 })
      assertShort(letters)
      assert.equal(letters[0]?.message?.text, LARGE_TEXTS.at(-1))
      assert.deepEqual((await store.jobs.deadLetters.ids()).toSorted(), ids)
    },
    'groups read large messages in short pages, and skip none': async ({ store }) => {
      const groups = ['a', 'b', 'leases']
      for (const group of groups) await store.topics.subscribe(MESSAGE_TOPIC, group, 'now')
      const ids = await acceptAll(store, LARGE_TEXTS)
      await pumpAll(store)
      const readAll = async (mode: 'consume' | 'lease', ...groups: string[]) => {
        const readers = groups.map((group) => ({ group, ids: [] as string[] }))
        while (readers.some((reader) => reader.ids.length < ids.length)) {
          const requests = groups.map((group) => ({ group, max: 100, mode, lease: MINUTE }))
          const batches = await store.topics.read(MESSAGE_TOPIC, requests)
          for (const [index, batch] of batches.entries()) {
            assert.ok(batch && batch.items.length < MAX_SHORT)
            assert.equal(batch.missed, 0)
            readers[index]?.ids.push(...batch.items.map(({ id }) => id))
          }
        }
        for (const reader of readers) assert.deepEqual(reader.ids, ids, reader.group)
      }
      await readAll('consume', 'a', 'b')
      await readAll('lease', 'leases')
      await store.topics.nack(MESSAGE_TOPIC, 'leases', ids, 0)
      await readAll('consume', 'leases')
    },
    'the pump and the claim see just accepted messages exactly as the journal stores them': async ({
      store,
    }) => {
      const file = { name: 'a.txt', type: 'text/plain', size: 1, sha256: 'x', path: 'y' }
      const shapes = [
        saying('{"a":[1]}', { key: 'k1', data: { format: 'json', body: { a: [1] } }, trace: 'f'.repeat(32) }),
        saying('alone', { receivedAt: 5, subject: 's', attachments: [file] }),
        saying('large'.repeat(20_000), { conversation: 'c' }),
        saying('behind it', { conversation: 'c' }),
      ]
      // The pump reads the first ones from the journal, and may have the later ones in memory.
      for (const round of ['first', 'second']) {
        const accepted: Message[] = []
        for (const [index, shape] of shapes.entries()) {
          const [{ id } = { id: '' }] = await store.journal.accept([{ ...shape, key: `${round} ${index}` }])
          const message = await store.journal.get(id)
          assert.ok(message)
          accepted.push(message)
          const { cursor, items: unpumped } = await store.journal.unpumped(10)
          assert.deepEqual(unpumped, [message])
          assert.equal(await store.journal.pumped(cursor, id, [job(id, id, { messageId: id })]), true)
        }
        const claimed = await claimJobs(store, 'dispatch')
        assert.deepEqual(
          claimed.items.map(({ message }) => message),
          accepted,
        )
        const released = claimed.items.map(({ id, token }) => ({ id, token, outcome: 'release' as const }))
        await store.jobs.settle('dispatch', released)
        const reclaimed = await claimJobs(store, 'dispatch')
        assert.deepEqual(
          reclaimed.items.map(({ message }) => message),
          accepted,
        )
      }
    },
    'does not move the cursor to a message that the journal lost': async ({ store }) => {
      const [id = ''] = await acceptAll(store, ['a'])
      const { cursor } = await store.journal.unpumped(10)
      const lost = `${id.slice(0, -4)}${id.endsWith('0000') ? '0001' : '0000'}`
      assert.equal(await store.journal.pumped(cursor, lost, [job('j', 'l')]), false)
      assert.deepEqual((await store.journal.unpumped(10)).cursor, cursor)
      assert.deepEqual((await store.stats()).jobs, [])
    },
    'accepting signals the journal, the receive road and the topic': async ({ store }) => {
      const seen = new Set<string>()
      for (const name of ['journal', 'receive', 'topic:gateway-message'] as const)
        store.onSignal(name, () => seen.add(name))
      await acceptAll(store, ['a'])
      await until(() => seen.size === 3, 'three signals')
    },
  })
}
