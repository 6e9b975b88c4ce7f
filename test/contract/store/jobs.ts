import assert from 'node:assert/strict'
import type { Message, NewMessage } from '../../../src/core/message.ts'
import type { DeadLetter } from '../../../src/core/store.ts'
import {
  acceptAll,
  type Bench,
  bury,
  claimIds,
  claimJobs,
  claimOne,
  failure,
  job,
  MINUTE,
  part,
  SECOND,
  type StoreFactory,
  until,
  WEEK,
  whileMore,
} from './kit.ts'

/** Jobs in lanes, and dead letters. */
export function jobsContract(factory: StoreFactory): void {
  part(factory, 'lanes', {
    'lanes run in parallel, the longest ready first': async ({ store, advance }) => {
      for (const id of ['a', 'b', 'c']) {
        await store.jobs.add('q', [job(id, `lane ${id}`)])
        advance(1)
      }
      assert.deepEqual(await claimIds(store, 'q', { max: 2 }), ['a', 'b'])
      assert.deepEqual(await claimIds(store, 'q'), ['c'])
    },
    'a claim carries the whole job and its message': async ({ store }) => {
      const [messageId = ''] = await acceptAll(store, ['hi'])
      const whole = { ...job('a', 'l'), messageId, data: { x: [1] }, group: 'rest' }
      await store.jobs.add('q', [whole, { id: 'b', lane: 'm', group: 'rest' }])
      const { items: jobs } = await claimJobs(store, 'q')
      const [first, second] = jobs
      const message = await store.journal.get(messageId)
      const claimed = { ...whole, message, token: first?.token, failures: 0, lost: 0, errors: [] }
      assert.deepEqual(first, claimed)
      assert.deepEqual([second?.message, second?.data], [undefined, undefined])
    },
    'a held job and those behind it wait until `unhold`, also over a restart, in order and unchanged': async (
      bench,
    ) => {
      const { store, advance } = bench
      await store.jobs.add('q', [job('a', 'x/l'), job('b', 'x/l'), job('c', 'x/m'), job('d', 'x/n')])
      const { items: jobs } = await claimJobs(store, 'q')
      const hold = jobs
        .filter(({ id }) => id !== 'd')
        .map(({ id, token }) => ({ id, token, outcome: 'hold' as const }))
      assert.deepEqual(await store.jobs.settle('q', hold), [true, true])
      assert.deepEqual(await store.jobs.settle('q', hold), [false, false], 'the claim is over')
      advance(WEEK)
      const again = (await bench.reopen()).jobs
      const free = async () => (await claimIds(bench.store, 'q')).filter((id) => id !== 'd')
      assert.deepEqual(await free(), [])
      const held = (after = '', limit = 10) => again.held('q', after, limit)
      const {
        items: [first, second],
      } = await held()
      assert.deepEqual(first, { id: 'a', lane: 'x/l', group: 'g' })
      assert.equal(second?.id, 'c')
      assert.deepEqual(
        [(await held('', 1)).items.length, (await held('a')).items.length, (await held('c')).items.length],
        [1, 1, 0],
      )
      assert.deepEqual(await again.unhold('q', ['a', 'b', 'd', 'nobody']), 1)
      assert.deepEqual(await again.unhold('q', ['a']), 0)
      const back = await claimOne(bench.store, 'q')
      assert.deepEqual([back.id, back.failures, back.lost], ['a', 0, 0])
      assert.deepEqual(await free(), [], 'b waits for a, c is held')
      await again.settle('q', [{ id: 'a', token: back.token, outcome: 'done' }])
      await until(async () => (await free()).join() === 'b', 'b')
      assert.deepEqual(await again.unhold('q', ['c']), 1)
      assert.deepEqual(await free(), ['c'])
      assert.deepEqual(await held(), { items: [], more: false })
    },
    'an id is added once within seven days, also when it has ended': async (bench) => {
      const { store, advance } = bench
      assert.deepEqual(await store.jobs.add('q', [job('a', 'l'), job('a', 'l')]), [
        { added: true },
        { added: false },
      ])
      const claimed = await claimOne(store, 'q')
      assert.deepEqual(await store.jobs.add('q', [job('a', 'other')]), [{ added: false }])
      await store.jobs.settle('q', [{ id: 'a', token: claimed.token, outcome: 'done' }])
      assert.deepEqual(await (await bench.reopen()).jobs.add('q', [job('a', 'l')]), [{ added: false }])
      advance(WEEK + MINUTE)
      assert.deepEqual(await bench.store.jobs.add('q', [job('a', 'l')]), [{ added: true }])
    },
    'odd ids, lanes and groups are plain text': async ({ store }) => {
      const names = ['__proto__', '💥', 'a:b', '', ' ', '{x}', 'a|b', 'a\tb']
      await store.jobs.add(
        'q',
        names.map((name) => job(`id${name}`, name, { group: `g${name}` })),
      )
      const { items: jobs } = await claimJobs(store, 'q')
      assert.deepEqual(jobs.map((each) => each.lane).sort(), [...names].sort())
      const outcomes = jobs.map(({ id, token }) => ({ id, token, outcome: 'done' }) as const)
      assert.deepEqual(
        await store.jobs.settle('q', outcomes),
        names.map(() => true),
      )
    },
    'limits cap each group they name, and no other': async ({ store }) => {
      const ids = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']
      await store.jobs.add(
        'q',
        ids.map((id) => job(id, id, { group: id.slice(0, 1) })),
      )
      assert.deepEqual((await claimIds(store, 'q', { limits: { a: 1, b: 0 } })).sort(), ['a1', 'c1'])
      assert.deepEqual((await claimIds(store, 'q', { limits: { a: 5 }, max: 3 })).length, 3)
      assert.equal((await claimIds(store, 'q')).length, 1)
    },
    'adding and settling signal the queue': async ({ store }) => {
      let heard = 0
      store.onSignal('jobs:q', () => heard++)
      await store.jobs.add('q', [job('a', 'l'), job('b', 'l')])
      await until(() => heard > 0, 'the signal of add')
      const claimed = await claimOne(store, 'q')
      const before = heard
      await store.jobs.settle('q', [{ id: 'a', token: claimed.token, outcome: 'done' }])
      await until(() => heard > before, 'the signal of settle')
    },
  })

  const busyLane = async ({ store }: Bench, texts: readonly string[], rest: Partial<NewMessage> = {}) => {
    const ids = await acceptAll(store, texts, rest)
    const jobs = ids.map((messageId) => job(messageId, 'l', { messageId, notify: true }))
    await store.jobs.add('q', jobs)
    return ids
  }
  const merging = (merge: 'collected' | 'superseded', settle?: number) => ({
    busy: { g: { merge, ...(settle && { settle }) } },
  })
  const textsOf = (messages: readonly Message[] = []) => messages.map(({ text }) => text)

  part(factory, 'busy lanes', {
    'what waits goes into the newest at its first claim, which carries it over retries, a dead letter and a restart':
      async (bench) => {
        const [a = '', b = '', c = ''] = await busyLane(bench, ['a', 'b\n"ü', 'c'])
        const asked = merging('collected')
        const first = await claimJobs(bench.store, 'q', asked)
        assert.deepEqual(
          first.items.map(({ id, message, collected }) => [id, message?.text, textsOf(collected)]),
          [[c, 'c', ['a', 'b\n"ü']]],
        )
        assert.deepEqual(first.items[0]?.collected?.[0], await bench.store.journal.get(a))
        const told = async (id: string) =>
          (await bench.store.journal.history(id)).map(({ road, what, detail }) => [road, what, detail])
        assert.deepEqual(await told(a), [['dispatch', 'collected', { into: c }]])
        assert.deepEqual(await told(c), [['dispatch', 'collects', { messages: [a, b] }]])
        assert.deepEqual(await bench.store.journal.outcomes([a]), ['merged'])
        assert.deepEqual(await bench.store.jobs.end('q', a), {
          state: 'done',
          result: { outcome: 'done', replies: 0 },
        })
        const [d = ''] = await busyLane(bench, ['d'])
        const fail = { error: failure('x', bench.now()), id: c }
        await bench.store.jobs.settle('q', [
          { ...fail, token: first.items[0]?.token ?? '', outcome: 'retry', delay: 0 },
        ])
        await bench.reopen()
        const {
          items: [again],
        } = await claimJobs(bench.store, 'q', asked)
        assert.deepEqual(
          [again?.id, again?.failures, textsOf(again?.collected)],
          [c, 1, ['a', 'b\n"ü']],
          'and nothing more',
        )
        await bench.store.jobs.settle('q', [
          { ...fail, token: again?.token ?? '', outcome: 'dead', reason: 'attempts' },
        ])
        const {
          items: [letter],
        } = await bench.store.jobs.deadLetters.list({ limit: 9 })
        assert.deepEqual([letter?.id, textsOf(letter?.collected)], [c, ['a', 'b\n"ü']])
        await bench.store.jobs.deadLetters.retry(c)
        const next = await claimJobs(bench.store, 'q', asked)
        await bench.store.jobs.settle('q', [{ id: d, token: next.items[0]?.token ?? '', outcome: 'done' }])
        const last = await claimJobs(bench.store, 'q', asked)
        assert.deepEqual(
          [...next.items, ...last.items].map(({ id, collected }) => [id, textsOf(collected)]),
          [
            [d, []],
            [c, ['a', 'b\n"ü']],
          ],
        )
        await bench.store.jobs.settle('q', [{ id: c, token: last.items[0]?.token ?? '', outcome: 'done' }])
        assert.deepEqual(
          (await bench.store.stats()).jobs.map(({ waiting, running }) => [waiting, running]),
          [[0, 0]],
        )
      },
    'only untouched messages of one group and one sender go into another, others keep their order': async (
      bench,
    ) => {
      const { store } = bench
      const ada = { from: { id: 'ada', verified: true } }
      const [a = ''] = await busyLane(bench, ['a'], ada)
      // A lone surrogate is not valid UTF-8, and must be kept.
      const [half = ''] = await busyLane(bench, ['half'], { from: { id: 'eve' }, subject: 'no \ud800 text' })
      const [b = ''] = await busyLane(bench, ['b'], { from: { id: 'bob', verified: true } })
      // Unverified senders count as one.
      const [c = ''] = await busyLane(bench, ['c'])
      const [d = ''] = await busyLane(bench, ['d'], { from: { id: 'eve' } })
      const [other = ''] = await acceptAll(store, ['other'])
      await store.jobs.add('q', [
        job(other, 'l', { messageId: other, group: 'h' }),
        job(`${other}:resumed`, 'l', { messageId: other }),
      ])
      const order: string[][] = []
      for (;;) {
        const {
          items: [one],
        } = await claimJobs(store, 'q', merging('superseded'))
        if (!one) break
        order.push([one.id, ...textsOf(one.collected)])
        await store.jobs.settle('q', [{ id: one.id, token: one.token, outcome: 'done' }])
      }
      assert.deepEqual(order, [[a], [half], [b], [d, 'c'], [other], [`${other}:resumed`]])
      assert.deepEqual(
        (await store.journal.history(c)).map(({ what }) => what),
        ['superseded'],
      )
    },
    'a lane settles before it is claimed, ten times as long at most, and holds up no other': async (
      bench,
    ) => {
      const { store, advance } = bench
      const asked = { max: 1, ...merging('collected', SECOND) }
      await busyLane(bench, ['a'])
      await store.jobs.add('q', [job('x', 'other', { group: 'h' })])
      const first = await claimJobs(store, 'q', asked)
      assert.deepEqual(
        first.items.map(({ id }) => id),
        ['x'],
      )
      assert.equal(first.nextDue, bench.now() + SECOND)
      for (let more = 0; more < 12; more++) {
        advance(900)
        await busyLane(bench, [String(more)])
        const {
          items: [one],
          nextDue,
        } = await claimJobs(store, 'q', asked)
        if (one) return assert.deepEqual([one.collected?.length, more], [12, 11])
        assert.ok(nextDue !== undefined && nextDue <= bench.now() + SECOND)
      }
      assert.fail('it never began')
    },
    'a claimed job takes what waits behind it, and a lost claim takes nothing': async (bench) => {
      const { store } = bench
      const [a = '', b = ''] = await busyLane(bench, ['a', 'b'])
      const claimed = await claimOne(store, 'q')
      const by = { id: a, token: claimed.token, group: 'g' }
      assert.deepEqual(textsOf(await store.jobs.follow('q', by)), ['b'])
      assert.deepEqual(await store.jobs.follow('q', by), [])
      await busyLane(bench, ['c'])
      assert.equal(await store.jobs.follow('q', { ...by, token: 'stale' }), undefined)
      assert.deepEqual(textsOf(await store.jobs.follow('q', by)), ['c'])
      await store.jobs.settle('q', [{ id: a, token: claimed.token, outcome: 'release' }])
      const again = await claimOne(store, 'q')
      assert.deepEqual([again.id, ...textsOf(again.collected)], [a, 'b', 'c'])
      assert.deepEqual(
        (await store.journal.history(b)).map(({ what, detail }) => [what, detail]),
        [['steered', { into: a }]],
      )
      assert.deepEqual(
        (await store.journal.history(a)).map(({ what }) => what),
        ['is steered', 'is steered'],
      )
    },
  })

  part(factory, 'outcomes', {
    'notes of an outcome are in the history of its message': async ({ store, now }) => {
      const [messageId = ''] = await acceptAll(store, ['hi'])
      await store.jobs.add('q', [job('a', 'l', { messageId })])
      const { token } = await claimOne(store, 'q')
      const note = { at: now(), road: 'dispatch', what: 'done', detail: { ms: 3 } } as const
      await store.jobs.settle('q', [
        { id: 'a', token: 'stale', outcome: 'done', notes: [{ ...note, what: 'no' }] },
      ])
      await store.jobs.settle('q', [{ id: 'a', token, outcome: 'done', notes: [note] }])
      assert.deepEqual(await store.journal.history(messageId), [note])
    },
    'a job with notify remembers its result for seven days and signals its end': async (bench) => {
      const { store, advance } = bench
      await store.jobs.add('q', [job('a', 'l', { notify: true }), job('b', 'm', { notify: true })])
      const signal = new Promise<void>((resolve) => store.onSignal('job:a', () => resolve()))
      const { items: jobs } = await claimJobs(store, 'q')
      const tokens = new Map(jobs.map(({ id, token }) => [id, token]))
      await store.jobs.settle('q', [
        { id: 'a', token: tokens.get('a') ?? '', outcome: 'done', result: { ok: [1] } },
        { id: 'b', token: tokens.get('b') ?? '', outcome: 'done' },
      ])
      await signal
      await bench.reopen()
      assert.deepEqual(await bench.store.jobs.end('q', 'a'), { state: 'done', result: { ok: [1] } })
      assert.deepEqual(await bench.store.jobs.end('q', 'b'), { state: 'done' })
      advance(WEEK + MINUTE)
      assert.equal(await bench.store.jobs.end('q', 'a'), undefined)
    },
    'a job that waits or runs has no end, and the figures count it, with the age of the oldest': async ({
      store,
      now,
      advance,
    }) => {
      const oldestAt = now()
      const [first = ''] = await acceptAll(store, ['one'])
      advance(MINUTE)
      const [second = ''] = await acceptAll(store, ['two'])
      await store.jobs.add('outbox', [
        job(`outbox:${first}:rest:0`, 'l'),
        job(`outbox:${second}:rest:0`, 'l'),
      ])
      const figures = { queue: 'outbox', waiting: 2, running: 0, dead: 0, oldestAt }
      assert.deepEqual((await store.stats()).jobs, [figures])
      const { id, token } = await claimOne(store, 'outbox')
      assert.deepEqual((await store.stats()).jobs, [{ ...figures, waiting: 1, running: 1 }])
      await store.jobs.settle('outbox', [{ id, token, outcome: 'done' }])
      assert.equal((await store.stats()).jobs[0]?.oldestAt, oldestAt + MINUTE)
      await store.jobs.add('q', [job('a', 'l'), job('b', 'l')])
      await claimOne(store, 'q')
      for (const id of ['a', 'b', 'none']) assert.equal(await store.jobs.end('q', id), undefined)
      const { jobs } = await store.stats()
      const found = jobs.find(({ queue }) => queue === 'q')
      assert.deepEqual(found, { queue: 'q', waiting: 1, running: 1, dead: 0 })
    },
  })

  part(factory, 'what has waited longest', {
    'is told for each road and gateway, as long as nobody works on it': async ({ store, now, advance }) => {
      const waiting = async () =>
        Object.fromEntries(
          (await store.oldestWaiting()).map(({ road, gateway, oldestAt }) => [
            `${road} ${gateway}`.trim(),
            now() - oldestAt,
          ]),
        )
      assert.deepEqual(await waiting(), {})
      const ids: string[] = []
      for (const gateway of ['demo', 'mail', 'demo', 'mail']) {
        ids.push(...(await acceptAll(store, ['hello'], { gateway })))
        advance(MINUTE)
      }
      const all = { 'receive demo': 4 * MINUTE, 'receive mail': 3 * MINUTE }
      assert.deepEqual(await waiting(), { ...all, 'dispatch demo': 4 * MINUTE, 'dispatch mail': 3 * MINUTE })

      const { cursor, items: messages } = await store.journal.unpumped(2)
      const jobs = messages.map(({ id, gateway: lane }) =>
        job(id, `${lane}/${id}`, { messageId: id, group: 'rest' }),
      )
      await store.journal.pumped(cursor, messages.at(-1)?.id ?? '', jobs)
      await store.jobs.add('outbox', [
        job(`outbox:${ids[1]}:rest:0`, 'mail/x'),
        job('outbox:no-id', 'demo/x'),
      ])
      await store.jobs.add('push/crm', [job(`push/crm/${ids[2]}`, 'demo/x')])
      const others = { 'outbox mail': 3 * MINUTE, 'push/crm': 2 * MINUTE }
      assert.deepEqual(await waiting(), {
        ...all,
        ...others,
        'dispatch demo': 4 * MINUTE,
        'dispatch mail': 3 * MINUTE,
      })

      await claimOne(store, 'dispatch')
      await store.receive.take({ gateway: 'mail' })
      assert.deepEqual(await waiting(), {
        'receive demo': 4 * MINUTE,
        'receive mail': MINUTE,
        ...others,
        'dispatch demo': 2 * MINUTE,
        'dispatch mail': 3 * MINUTE,
      })
    },
    'tells what waits for its next attempt apart, with the time of that': async ({ store, now, advance }) => {
      const oldestAt = now()
      const [first = '', second = ''] = await acceptAll(store, ['one', 'two'])
      const { cursor } = await store.journal.unpumped(2)
      const jobs = [first, second].map((id) => job(id, 'demo/a', { messageId: id }))
      await store.journal.pumped(cursor, second, jobs)
      const { token } = await claimOne(store, 'dispatch')
      const error = failure('busy', now())
      await store.jobs.settle('dispatch', [{ id: first, token, outcome: 'retry', delay: 5 * MINUTE, error }])
      const nextAt = now() + 5 * MINUTE
      advance(MINUTE)
      const ofDispatch = async () =>
        (await store.oldestWaiting())
          .filter(({ road }) => road === 'dispatch')
          .map(({ road: _, ...rest }) => rest)
          .sort((a, b) => a.state.localeCompare(b.state))
      const [retrying, waiting] = await ofDispatch()
      assert.ok(retrying?.state === 'retrying' && waiting?.state === 'waiting')
      assert.deepEqual([retrying.count, retrying.gateway], [1, 'demo'])
      // The clock of a Redis goes on meanwhile.
      const isClose = (a: number, b: number) => Math.abs(a - b) < 10_000
      assert.ok(isClose(retrying.nextAt, nextAt) && isClose(retrying.oldestAt, oldestAt))
    },
    'counts from when a dead letter was put back': async ({ store, now, advance }) => {
      const [id = ''] = await acceptAll(store, ['one'])
      const { cursor } = await store.journal.unpumped(1)
      await store.journal.pumped(cursor, id, [job(id, 'demo/a', { messageId: id })])
      const { token } = await claimOne(store, 'dispatch')
      const error = failure('gone', now())
      await store.jobs.settle('dispatch', [{ id, token, outcome: 'dead', error, reason: 'permanent' }])
      advance(60 * MINUTE)
      await store.jobs.deadLetters.retry(id)
      advance(MINUTE)
      const found = (await store.oldestWaiting()).find(
        ({ road, state }) => road === 'dispatch' && state === 'waiting',
      )
      assert.ok(now() - (found?.oldestAt ?? 0) < 2 * MINUTE)
    },
  })

  part(factory, 'dead letters', {
    'a dead letter is kept whole, with every error, and frees its lane': async (bench) => {
      const { now } = bench
      let { store } = bench
      const [messageId = ''] = await acceptAll(store, ['poison'])
      const message = await store.journal.get(messageId)
      await store.jobs.add('q', [job('a', 'l', { messageId, data: { x: 1 }, group: 'rest' }), job('b', 'l')])
      const first = await claimOne(store, 'q')
      const errors = [failure('one', now()), failure('two', now() + 1)] as const
      await store.jobs.settle('q', [
        { id: 'a', token: first.token, outcome: 'retry', delay: 0, error: errors[0] },
      ])
      store = await bench.reopen()
      const second = await claimOne(store, 'q')
      assert.deepEqual([second.failures, second.lost, second.errors], [1, 0, [errors[0]]])
      await store.jobs.settle('q', [
        { id: 'a', token: second.token, outcome: 'dead', error: errors[1], reason: 'attempts' },
      ])
      store = await bench.reopen()
      const {
        items: [letter, ...more],
      } = await store.jobs.deadLetters.list({ limit: 10 })
      assert.ok(letter)
      assert.deepEqual(more, [])
      const { id, ...rest } = letter
      assert.deepEqual(rest, {
        queue: 'q',
        at: now(),
        lane: 'l',
        group: 'rest',
        reason: 'attempts',
        data: { x: 1 },
        errors,
        message,
      })
      assert.deepEqual(await store.jobs.deadLetters.get(id), letter)
      assert.deepEqual(await store.jobs.end('q', 'a'), { state: 'dead', error: errors[1] })
      assert.deepEqual(await claimIds(store, 'q'), ['b'])
      assert.equal((await store.stats()).jobs.find(({ queue }) => queue === 'q')?.dead, 1)
    },
    'they are listed newest first, by queue and by group': async (bench) => {
      const { store, advance } = bench
      for (const [queue = '', id = '', group = ''] of [
        ['q', 'a', 'g'],
        ['r', 'b', 'g'],
        ['q', 'c', 'h'],
      ]) {
        await bury(bench, queue, job(id, id, { group }))
        advance(1)
      }
      const words = async (filter: Parameters<typeof store.jobs.deadLetters.list>[0]) =>
        (await store.jobs.deadLetters.list(filter)).items.map(({ errors }) => errors[0]?.message)
      assert.deepEqual(await words({ limit: 10 }), ['c', 'b', 'a'])
      assert.deepEqual(await words({ limit: 2 }), ['c', 'b'])
      assert.deepEqual(await words({ limit: 10, queue: 'q' }), ['c', 'a'])
      assert.deepEqual(await words({ limit: 10, group: 'g' }), ['b', 'a'])
      assert.deepEqual(await words({ limit: 10, queue: 'q', group: 'g' }), ['a'])
      // With equal times, and with an id that also exists in another queue.
      for (const id of ['x', 'z', 'y']) await bury(bench, 'q', job(id, id))
      await bury(bench, 'r', job('a', 'a', { group: 'h' }))
      const { deadLetters } = store.jobs
      for (const only of [{}, { queue: 'q' }, { group: 'g' }]) {
        const { items: all } = await deadLetters.list({ ...only, limit: 20 })
        const paged = await whileMore<DeadLetter>((last) =>
          deadLetters.list({ ...only, before: last, limit: 2 }),
        )
        assert.deepEqual(paged, all)
      }
      assert.deepEqual((await words({ limit: 9, queue: 'q' })).slice(0, 3), ['z', 'y', 'x'])
      const at = Math.max(...(await deadLetters.list({ limit: 9 })).items.map((letter) => letter.at))
      assert.deepEqual(await words({ limit: 9, before: { at, id: '' } }), ['c', 'b', 'a'])
      assert.equal(await deadLetters.drop('a', 'q'), true)
      assert.deepEqual(
        [(await deadLetters.get('a'))?.queue, await deadLetters.get('a', 'q')],
        ['r', undefined],
      )
      assert.deepEqual([await deadLetters.retry('a', 'q'), await deadLetters.retry('a', 'r')], [false, true])
    },
    'a retry puts it at the end of its lane with fresh attempts': async (bench) => {
      const { store } = bench
      const [messageId = ''] = await acceptAll(store, ['again'])
      await bury(bench, 'q', job('a', 'l', { messageId, data: 7 }))
      await store.jobs.add('q', [job('b', 'l')])
      const {
        items: [letter],
      } = await store.jobs.deadLetters.list({ limit: 1 })
      assert.equal(await store.jobs.deadLetters.retry(letter?.id ?? ''), true)
      assert.equal(await store.jobs.deadLetters.retry(letter?.id ?? ''), false)
      assert.deepEqual(await store.jobs.deadLetters.list({ limit: 1 }), { items: [], more: false })
      const b = await claimOne(store, 'q')
      assert.equal(b.id, 'b')
      assert.deepEqual(await claimIds(store, 'q'), [])
      await store.jobs.settle('q', [{ id: 'b', token: b.token, outcome: 'done' }])
      const a = await claimOne(store, 'q')
      assert.deepEqual([a.id, a.failures, a.lost, a.errors, a.data], ['a', 0, 0, [], 7])
      assert.equal(a.message?.text, 'again')
      assert.deepEqual([a.requeued, b.requeued ?? false], [true, false])
    },
    'the death of a job with notify signals its end, and dropping removes it': async (bench) => {
      const { store } = bench
      const signal = new Promise<void>((resolve) => store.onSignal('job:a', () => resolve()))
      await bury(bench, 'q', job('a', 'l', { notify: true }), 'ambiguous')
      await signal
      const {
        items: [letter],
      } = await store.jobs.deadLetters.list({ limit: 1 })
      assert.equal(letter?.reason, 'ambiguous')
      assert.equal(await store.jobs.deadLetters.drop(letter?.id ?? ''), true)
      assert.equal(await store.jobs.deadLetters.drop(letter?.id ?? ''), false)
      assert.equal(await store.jobs.deadLetters.get(letter?.id ?? ''), undefined)
      assert.equal(await store.jobs.deadLetters.retry('__proto__'), false)
      assert.deepEqual(await store.jobs.deadLetters.list({ limit: 1 }), { items: [], more: false })
      assert.equal(await store.jobs.end('q', 'a'), undefined)
    },
  })
}
