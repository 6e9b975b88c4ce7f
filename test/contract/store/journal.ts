import assert from 'node:assert/strict'
import { MESSAGE_TOPIC } from '../../../src/core/event.ts'
import type { Message } from '../../../src/core/message.ts'
import { isId, positionOf } from '../../../src/core/message-id.ts'
import { acceptAll, MINUTE, newest, part, type StoreFactory, saying, until, WEEK } from './kit.ts'

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

/** Accept, dedupe, look-ups, history and the pump. */
export function journalContract(factory: StoreFactory): void {
  part(factory, 'journal', {
    'many messages that came as one are accepted in one step, in order, each once by its key': async ({
      store,
    }) => {
      const all = Array.from({ length: 1_500 }, (_, n) =>
        saying(`${n} ${'x'.repeat(1_500)}`, {
          key: `k${n}`,
          ...(n % 3 > 0 ? { conversation: `c${n % 7}` } : {}),
        }),
      )
      const [first, again] = [
        await store.journal.accept(all, true),
        await store.journal.accept([...all.slice(700), saying('new', { key: 'new' })], true),
      ]
      assert.ok(first.every(({ duplicate, error }) => !duplicate && !error))
      assert.equal(new Set(first.map(({ id }) => id)).size, all.length)
      assert.deepEqual(
        again.map(({ id, duplicate }) => [id, duplicate]).slice(0, -1),
        first.slice(700).map(({ id }) => [id, true]),
      )
      assert.equal(again.at(-1)?.duplicate, false)
      const back = await store.journal.get(first[1_234]?.id ?? '')
      assert.equal(back?.text, all[1_234]?.text)
    },

    'an accepted message is read back whole, with what the store fills in': async ({ store, now }) => {
      const full = saying('héllo 💥', {
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
      const [answer] = await store.journal.accept([full])
      assert.ok(answer)
      assert.equal(answer.duplicate, false)
      assert.ok(isId(answer.id))
      assert.deepEqual(await store.journal.get(answer.id), { ...full, id: answer.id })
    },
    'a message without conversation, trace and time gets its own': async ({ store, now }) => {
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
    'ids keep sorting when the clock steps back': async ({ store, advance }) => {
      const first = await acceptAll(store, ['a'])
      advance(-MINUTE)
      const ids = [...first, ...(await acceptAll(store, ['b']))]
      assert.deepEqual(ids, [...ids].sort())
    },
    'an unknown id and a text that is no id are not found': async ({ store }) => {
      const [id = ''] = await acceptAll(store, ['a'])
      assert.equal(await store.journal.get(`${id.slice(0, -4)}0000`), undefined)
      assert.equal(await store.journal.get('nonsense'), undefined)
    },
    'a duplicate within one call gets the id of the first, in its place': async ({ store }) => {
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
    'odd keys, gateways and conversations are plain text': async ({ store }) => {
      const messages = ODD_KEYS.map((key) =>
        saying(key, { key, gateway: `g${key}`, conversation: `c${key}` }),
      )
      const first = await store.journal.accept(messages)
      const again = await store.journal.accept(messages)
      assert.deepEqual(
        again,
        first.map(({ id }) => ({ id, duplicate: true })),
      )
      for (const key of ODD_KEYS) {
        const [found, ...more] = await newest(store, 10, { conversation: `c${key}` })
        assert.equal(found?.text, key)
        assert.deepEqual(more, [])
      }
    },
    'odd content comes back as it went in: own __proto__, lone surrogates, NUL, 1 MB': async ({ store }) => {
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
    'notes make the history, oldest first, and survive a restart': async (bench) => {
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
    'notes of an unknown message are dropped': async ({ store }) => {
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
    'it moves the cursor and adds the jobs in one step, once': async (bench) => {
      const ids = await acceptAll(bench.store, ['a', 'b', 'c'])
      const { cursor, items: messages } = await bench.store.journal.unpumped(2)
      const last = messages.at(-1)?.id ?? ''
      const jobs = messages.map(({ id, conversation: lane }) => ({ id, lane, group: 'rest', messageId: id }))
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
    'many large messages come a few at a time, on every road, and none is left out': async ({ store }) => {
      for (const group of ['a', 'b', 'late']) await store.topics.subscribe(MESSAGE_TOPIC, group, 'now')
      const texts = Array.from({ length: 40 }, (_, index) => `${index} `.padEnd(300_000, 'x'))
      const ids = await acceptAll(store, texts)
      const few = <Item>(read: Item[]) => {
        assert.ok(read.length >= 1 && read.length < 25, `${read.length} at once`)
        return read
      }
      assert.equal((await store.topics.tail(MESSAGE_TOPIC, 0, 100)).items.length < 40, true)
      for (let read = 0; read < 40; ) {
        const { cursor, items: messages } = await store.journal.unpumped(100)
        read += few(messages).length
        const jobs = messages.map(({ id }) => ({ id, lane: id, group: 'g', messageId: id }))
        await store.journal.pumped(cursor, messages.at(-1)?.id ?? '', jobs)
      }
      const claimed: string[] = []
      while (claimed.length < 40) {
        const { items: jobs } = await store.jobs.claim('dispatch', { max: 100, lease: MINUTE })
        claimed.push(...few(jobs).map(({ id }) => id))
        const error = { at: 0, code: 'skill_failed', message: 'x' }
        const dead = { outcome: 'dead' as const, reason: 'attempts' as const, error }
        await store.jobs.settle(
          'dispatch',
          jobs.map(({ id, token }) => ({ id, token, ...dead })),
        )
      }
      assert.deepEqual(claimed, ids)
      const { items: letters } = await store.jobs.deadLetters.list({ limit: 100 })
      assert.deepEqual(few(letters)[0]?.message?.text, texts.at(-1))
      assert.deepEqual((await store.jobs.deadLetters.ids()).toSorted(), ids)

      const drain = async (mode: 'consume' | 'lease', ...groups: string[]) => {
        const got = groups.map((): string[] => [])
        while (got.some((list) => list.length < 40)) {
          const requests = groups.map((group) => ({ group, max: 100, mode, lease: MINUTE }))
          const batches = await store.topics.read(MESSAGE_TOPIC, requests)
          batches.forEach((batch, index) => {
            assert.deepEqual([batch?.missed, (batch?.items.length ?? 99) < 25], [0, true])
            got[index]?.push(...(batch?.items.map(({ id }) => id) ?? []))
          })
        }
        for (const list of got) assert.deepEqual(list, ids)
      }
      await drain('consume', 'a', 'b')
      await drain('lease', 'late')
      await store.topics.nack(MESSAGE_TOPIC, 'late', ids, 0)
      await drain('consume', 'late')
    },
    'what was accepted here comes to the pump and to the claim as the journal has it': async ({ store }) => {
      const file = { name: 'a.txt', type: 'text/plain', size: 1, sha256: 'x', path: 'y' }
      const shapes = [
        saying('{"a":[1]}', { key: 'k1', data: { format: 'json', body: { a: [1] } }, trace: 'f'.repeat(32) }),
        saying('alone', { receivedAt: 5, subject: 's', attachments: [file] }),
        saying('large'.repeat(20_000), { conversation: 'c' }),
        saying('behind it', { conversation: 'c' }),
      ]
      // What is there at the first look is read; what is accepted after it need not be.
      for (const messages of [shapes, shapes.map((one) => ({ ...one, key: one.text.slice(0, 9) }))]) {
        const accepted: Message[] = []
        for (const one of messages) {
          const [{ id } = { id: '' }] = await store.journal.accept([one])
          accepted.push((await store.journal.get(id)) ?? assert.fail('it is there'))
          const { cursor, items: unpumped } = await store.journal.unpumped(10)
          assert.deepEqual(unpumped, accepted.slice(-1))
          const job = { id, lane: id, group: 'rest', messageId: id }
          assert.equal(await store.journal.pumped(cursor, id, [job]), true)
        }
        const { items: jobs } = await store.jobs.claim('dispatch', { max: 10, lease: MINUTE })
        assert.deepEqual(
          jobs.map((job) => job.message),
          accepted,
        )
        const released = jobs.map(({ id, token }) => ({ id, token, outcome: 'release' as const }))
        await store.jobs.settle('dispatch', released)
        const again = await store.jobs.claim('dispatch', { max: 10, lease: MINUTE })
        assert.deepEqual(
          again.items.map((job) => job.message),
          accepted,
        )
      }
    },
    'it does not move to a message that the journal lost': async ({ store }) => {
      const [id = ''] = await acceptAll(store, ['a'])
      const { cursor } = await store.journal.unpumped(10)
      const lost = `${id.slice(0, -4)}${id.endsWith('0000') ? '0001' : '0000'}`
      assert.equal(await store.journal.pumped(cursor, lost, [{ id: 'j', lane: 'l', group: 'g' }]), false)
      assert.deepEqual((await store.journal.unpumped(10)).cursor, cursor)
      assert.deepEqual((await store.stats()).jobs, [])
    },
    'accepting signals the journal, the receive queue and the topic, when it is durable': async ({
      store,
    }) => {
      const seen = new Set<string>()
      const ends = (['journal', 'receive', 'topic:gateway-message'] as const).map((name) =>
        store.onSignal(name, () => seen.add(name)),
      )
      await acceptAll(store, ['a'])
      await until(() => seen.size === 3, 'three signals')
      for (const end of ends) end()
    },
  })
}
