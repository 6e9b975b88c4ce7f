import assert from 'node:assert/strict'
import type { Message, NewMessage } from '../../../src/core/message.ts'
import type { DeadLetter, LetterFilter, NewJob } from '../../../src/core/store.ts'
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
  readAll,
  SECOND,
  type StoreFactory,
  until,
  WEEK,
} from './kit.ts'

/** Jobs in lanes, and dead letters. */
export function jobsContract(factory: StoreFactory): void {
  part(factory, 'lanes', {
    'claims jobs of different lanes in parallel, the longest ready first': async ({ store, advance }) => {
      for (const id of ['a', 'b', 'c']) {
        await store.jobs.add('q', [job(id, `lane ${id}`)])
        advance(1)
      }
      assert.deepEqual(await claimIds(store, 'q', { max: 2 }), ['a', 'b'])
      assert.deepEqual(await claimIds(store, 'q'), ['c'])
    },
    'a claim returns the complete job and its message': async ({ store }) => {
      const [messageId = ''] = await acceptAll(store, ['hi'])
      const added = job('a', 'l', { messageId, data: { x: [1] } })
      await store.jobs.add('q', [added, job('b', 'm')])
      const { items: jobs } = await claimJobs(store, 'q')
      const [first, second] = jobs
      const message = await store.journal.get(messageId)
      assert.deepEqual(first, { ...added, message, token: first?.token, failures: 0, lost: 0, errors: [] })
      assert.deepEqual([second?.message, second?.data], [undefined, undefined])
    },
    'held jobs, and the jobs behind them, wait until `unhold`, also over a restart': async (bench) => {
      const { store, advance } = bench
      await store.jobs.add('q', [job('a', 'l'), job('b', 'l'), job('c', 'm')])
      const { items: claimed } = await claimJobs(store, 'q')
      const hold = claimed.map(({ id, token }) => ({ id, token, outcome: 'hold' as const }))
      assert.deepEqual(await store.jobs.settle('q', hold), [true, true])
      assert.deepEqual(await store.jobs.settle('q', hold), [false, false], 'the claims have ended')
      advance(WEEK)
      const { jobs } = await bench.reopen()
      assert.deepEqual(await claimIds(bench.store, 'q'), [])
      assert.equal(await jobs.unhold('q', ['a', 'b', 'unknown']), 1, 'b was not held')
      assert.equal(await jobs.unhold('q', ['a']), 0)
      const a = await claimOne(bench.store, 'q')
      assert.deepEqual([a.id, a.failures, a.lost], ['a', 0, 0])
      assert.deepEqual(await claimIds(bench.store, 'q'), [], 'b waits for a, and c is held')
      await jobs.settle('q', [{ id: 'a', token: a.token, outcome: 'done' }])
      await until(async () => (await claimIds(bench.store, 'q')).join() === 'b', 'the claim of b')
      assert.equal(await jobs.unhold('q', ['c']), 1)
      assert.deepEqual(await claimIds(bench.store, 'q'), ['c'])
    },
    'jobs that wait for another attempt can be made claimable at once': async (bench) => {
      const { store, now } = bench
      await store.jobs.add('q', [job('a', 'l'), job('b', 'l'), job('c', 'm'), job('d', 'n')])
      await store.jobs.add('other', [job('e', 'l')])
      assert.equal(await store.jobs.nextDue('empty'), undefined)
      const claims = (await claimJobs(store, 'q')).items
      const [e] = (await claimJobs(store, 'other')).items
      const again = (claim: { id: string; token: string }, delay: number) => ({
        id: claim.id,
        token: claim.token,
        outcome: 'retry' as const,
        delay,
        error: failure('no', now()),
      })
      const [a, c, d] = claims.toSorted((one, other) => (one.id < other.id ? -1 : 1))
      assert.ok(a && c && d && e)
      await store.jobs.settle('q', [
        again(a, 3 * MINUTE),
        again(c, MINUTE),
        { id: d.id, token: d.token, outcome: 'hold' },
      ])
      await store.jobs.settle('other', [again(e, MINUTE)])
      assert.equal(await store.jobs.nextDue('q'), now() + MINUTE)
      assert.deepEqual(await claimIds(store, 'q'), [])
      assert.equal(await store.jobs.hasten('q'), 2)
      assert.equal(await store.jobs.hasten('q'), 0)
      assert.equal(await store.jobs.hasten('q', ['a']), 0, 'it is due already')
      const claimed = (await claimJobs(store, 'q')).items
      const found = claimed.map(({ id, failures }) => `${id} ${failures}`).toSorted()
      assert.deepEqual(found, ['a 1', 'c 1'], 'b waits for a, and d is held')
      assert.deepEqual(await claimIds(store, 'other'), [])
    },
    'some jobs that wait for another attempt can be made claimable at once': async ({ store, now }) => {
      await store.jobs.add('q', [job('a', 'l'), job('b', 'm'), job('c', 'n'), job('d', 'l')])
      const { items: claims } = await claimJobs(store, 'q')
      const retry = { outcome: 'retry' as const, delay: MINUTE, error: failure('no', now()) }
      await store.jobs.settle(
        'q',
        claims.map(({ id, token }) => ({ id, token, ...retry })),
      )
      assert.equal(await store.jobs.hasten('q', []), 0)
      assert.equal(await store.jobs.hasten('other', ['a']), 0)
      assert.equal(await store.jobs.hasten('q', ['a', 'c', 'd', 'unknown']), 2)
      assert.deepEqual((await claimIds(store, 'q')).toSorted(), ['a', 'c'], 'd waits for a')
      assert.equal(await store.jobs.nextDue('q'), now() + MINUTE)
    },
    'a job that nobody has claimed becomes a dead letter, at any place of its lane': async (bench) => {
      const { store, now } = bench
      const messages = await acceptAll(store, ['one', 'two', 'three', 'four'])
      const [one = '', two = '', three = '', four = ''] = messages
      await store.jobs.add('dispatch', [
        ...[one, two, three].map((id) => job(id, 'l', { messageId: id })),
        job(four, 'm', { messageId: four, notify: true }),
      ])
      const { items } = await claimJobs(store, 'dispatch')
      const held = items.find(({ id }) => id === one)
      const claimed = items.find(({ id }) => id === four)
      assert.ok(held && claimed)
      await store.jobs.settle('dispatch', [{ id: one, token: held.token, outcome: 'hold' }])
      const end = (what: string) => ({
        error: failure('no longer needed', now()),
        reason: 'permanent' as const,
        notes: [{ at: now(), road: 'dispatch' as const, what, detail: { attempt: 1 } }],
      })
      assert.equal(await store.jobs.bury('dispatch', four, end('dead')), false, 'it is claimed')
      await store.jobs.settle('dispatch', [{ id: four, token: claimed.token, outcome: 'done' }])
      assert.equal(await store.jobs.bury('dispatch', 'unknown', end('dead')), false)
      assert.equal(await store.jobs.bury('other', one, end('dead')), false)
      // Behind the head, which stays held.
      assert.equal(await store.jobs.bury('dispatch', two, end('dead')), true)
      assert.equal(await store.jobs.bury('dispatch', two, end('dead')), false)
      assert.deepEqual(await claimIds(store, 'dispatch'), [])
      assert.deepEqual(
        (await store.jobs.held('dispatch', '', 10)).items.map(({ id }) => id),
        [one],
      )
      assert.deepEqual(await store.journal.outcomes([one, two, three]), ['waiting', 'dead', 'waiting'])
      assert.equal((await store.journal.history(two)).at(-1)?.what, 'dead')
      const letter = await store.jobs.deadLetters.get(two, 'dispatch')
      assert.deepEqual(
        [letter?.lane, letter?.reason, letter?.message?.text, letter?.errors.map(({ message }) => message)],
        ['l', 'permanent', 'two', ['no longer needed']],
      )
      // The head: the next job of its lane takes its place.
      assert.equal(await store.jobs.bury('dispatch', one, end('dead')), true)
      assert.deepEqual((await store.jobs.held('dispatch', '', 10)).items, [])
      assert.deepEqual(await claimIds(await bench.reopen(), 'dispatch'), [three])
      assert.equal(await bench.store.jobs.deadLetters.retry(two, 'dispatch'), true)
      assert.equal(await bench.store.jobs.deadLetters.drop(one, 'dispatch'), true)
      assert.deepEqual(await bench.store.journal.outcomes([one, two]), ['dropped', 'waiting'])
    },
    'a job without a message is unfinished until its end, which is known after a retry': async (bench) => {
      const { store, now, advance } = bench
      await bury(bench, 'q', job('a', 'l'))
      assert.equal(await store.jobs.unfinished('q', 'a'), undefined, 'it is dead')
      assert.partialDeepStrictEqual(await store.jobs.end('q', 'a'), { state: 'dead', at: now() })
      await store.jobs.deadLetters.retry('a')
      assert.deepEqual(await store.jobs.unfinished('q', 'a'), { group: 'g', state: 'waiting' })
      assert.equal(await store.jobs.end('q', 'a'), undefined)
      const { token } = await claimOne(store, 'q')
      assert.deepEqual(await store.jobs.unfinished('q', 'a'), { group: 'g', state: 'running' })
      const error = failure('locked', now())
      await store.jobs.settle('q', [{ id: 'a', token, outcome: 'retry', delay: MINUTE, error }])
      const retrying = { group: 'g', state: 'retrying', error, nextAt: now() + MINUTE }
      assert.deepEqual(await (await bench.reopen()).jobs.unfinished('q', 'a'), retrying)
      advance(MINUTE)
      const again = await claimOne(bench.store, 'q')
      await bench.store.jobs.settle('q', [{ id: 'a', token: again.token, outcome: 'done' }])
      assert.equal(await bench.store.jobs.unfinished('q', 'a'), undefined)
      assert.deepEqual(await bench.store.jobs.end('q', 'a'), { state: 'done', at: now() })
      assert.equal(await bench.store.jobs.unfinished('other', 'a'), undefined)
    },
    'lists held jobs in the order of their ids': async ({ store }) => {
      await store.jobs.add('q', [job('a', 'l'), job('b', 'm'), job('claimed', 'n')])
      const { items: claimed } = await claimJobs(store, 'q')
      const hold = claimed
        .filter(({ id }) => id !== 'claimed')
        .map(({ id, token }) => ({ id, token, outcome: 'hold' as const }))
      await store.jobs.settle('q', hold)
      const [a, b] = [job('a', 'l'), job('b', 'm')]
      assert.deepEqual(await store.jobs.held('q', '', 10), { items: [a, b], more: false })
      assert.deepEqual((await store.jobs.held('q', '', 1)).items, [a])
      assert.deepEqual((await store.jobs.held('q', 'a', 10)).items, [b])
      assert.deepEqual((await store.jobs.held('q', 'b', 10)).items, [])
      await store.jobs.unhold('q', ['a', 'b'])
      assert.deepEqual(await store.jobs.held('q', '', 10), { items: [], more: false })
    },
    'an id is added once within seven days, also when it has ended': async (bench) => {
      const { store, advance } = bench
      assert.deepEqual(await store.jobs.add('q', [job('a', 'l'), job('a', 'l')]), [
        { added: true },
        { added: false },
      ])
      const { token } = await claimOne(store, 'q')
      assert.deepEqual(await store.jobs.add('q', [job('a', 'other')]), [{ added: false }])
      await store.jobs.settle('q', [{ id: 'a', token, outcome: 'done' }])
      assert.deepEqual(await (await bench.reopen()).jobs.add('q', [job('a', 'l')]), [{ added: false }])
      advance(WEEK + MINUTE)
      assert.deepEqual(await bench.store.jobs.add('q', [job('a', 'l')]), [{ added: true }])
    },
    'accepts any text as id, lane and group': async ({ store }) => {
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
    '`limits` cap the groups that they name, and no other': async ({ store }) => {
      const ids = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']
      await store.jobs.add(
        'q',
        ids.map((id) => job(id, id, { group: id.slice(0, 1) })),
      )
      assert.deepEqual((await claimIds(store, 'q', { limits: { a: 1, b: 0 } })).sort(), ['a1', 'c1'])
      const second = await claimIds(store, 'q', { limits: { a: 5 }, max: 3 })
      assert.equal(second.length, 3)
      const third = await claimIds(store, 'q')
      assert.deepEqual([...second, ...third].sort(), ['a2', 'a3', 'b1', 'b2'])
    },
    'adding and settling jobs signal the queue': async ({ store }) => {
      let signals = 0
      store.onSignal('jobs:q', () => signals++)
      await store.jobs.add('q', [job('a', 'l'), job('b', 'l')])
      await until(() => signals > 0, 'the signal of add')
      const { token } = await claimOne(store, 'q')
      const before = signals
      await store.jobs.settle('q', [{ id: 'a', token, outcome: 'done' }])
      await until(() => signals > before, 'the signal of settle')
    },
  })

  /** Accepts messages with these texts, and adds a job for each to one lane. Returns their ids. */
  const addToLane = async ({ store }: Bench, texts: readonly string[], rest: Partial<NewMessage> = {}) => {
    const ids = await acceptAll(store, texts, rest)
    const jobs = ids.map((messageId) => job(messageId, 'l', { messageId, notify: true }))
    await store.jobs.add('q', jobs)
    return ids
  }
  const merging = (merge: 'collected' | 'superseded', settle?: number) => ({
    busy: { g: { merge, ...(settle && { settle }) } },
  })
  const textsOf = (messages: readonly Message[] = []) => messages.map(({ text }) => text)
  const shortNotes = async ({ store }: Bench, id: string) =>
    (await store.journal.history(id)).map(({ road, what, detail }) => [road, what, detail])

  part(factory, 'busy lanes', {
    'the first claim merges the waiting messages of a lane into the newest': async (bench) => {
      const [a = '', b = '', c = ''] = await addToLane(bench, ['a', 'b\n"ü', 'c'])
      const {
        items: [claimed, ...more],
      } = await claimJobs(bench.store, 'q', merging('collected'))
      assert.deepEqual([claimed?.id, claimed?.message?.text, more], [c, 'c', []])
      assert.deepEqual(textsOf(claimed?.collected), ['a', 'b\n"ü'])
      assert.deepEqual(claimed?.collected?.[0], await bench.store.journal.get(a))
      assert.deepEqual(await shortNotes(bench, a), [['dispatch', 'collected', { into: c }]])
      assert.deepEqual(await shortNotes(bench, c), [['dispatch', 'collects', { messages: [a, b] }]])
      assert.deepEqual(await bench.store.journal.outcomes([a]), ['merged'])
      assert.partialDeepStrictEqual(await bench.store.jobs.end('q', a), {
        state: 'done',
        result: { outcome: 'done', replies: 0 },
      })
      await bench.store.jobs.settle('q', [{ id: c, token: claimed?.token ?? '', outcome: 'done' }])
      const [jobs] = (await bench.store.stats()).jobs
      assert.deepEqual([jobs?.waiting, jobs?.running], [0, 0])
    },
    'a job keeps its merged messages through a retry, a restart and a dead letter, and merges no others':
      async (bench) => {
        const [, , c = ''] = await addToLane(bench, ['a', 'b', 'c'])
        const claim = async () => {
          const {
            items: [claimed, ...more],
          } = await claimJobs(bench.store, 'q', merging('collected'))
          assert.ok(claimed && more.length === 0)
          return claimed
        }
        const { token } = await claim()
        const [d = ''] = await addToLane(bench, ['d'])
        const failed = { id: c, error: failure('x', bench.now()) }
        await bench.store.jobs.settle('q', [{ ...failed, token, outcome: 'retry', delay: 0 }])
        await bench.reopen()
        const second = await claim()
        assert.deepEqual([second.id, second.failures, textsOf(second.collected)], [c, 1, ['a', 'b']])
        await bench.store.jobs.settle('q', [
          { ...failed, token: second.token, outcome: 'dead', reason: 'attempts' },
        ])
        const {
          items: [letter],
        } = await bench.store.jobs.deadLetters.list({ limit: 9 })
        assert.deepEqual([letter?.id, textsOf(letter?.collected)], [c, ['a', 'b']])
        await bench.store.jobs.deadLetters.retry(c)
        const next = await claim()
        assert.deepEqual([next.id, textsOf(next.collected)], [d, []])
        await bench.store.jobs.settle('q', [{ id: d, token: next.token, outcome: 'done' }])
        const last = await claim()
        assert.deepEqual([last.id, textsOf(last.collected)], [c, ['a', 'b']])
      },
    'merges only unclaimed messages of one group and one sender, and keeps the order of all others': async (
      bench,
    ) => {
      const { store } = bench
      const [a = ''] = await addToLane(bench, ['a'], { from: { id: 'ada', verified: true } })
      // A lone surrogate is not valid UTF-8, and must be kept.
      const [surrogate = ''] = await addToLane(bench, ['lone surrogate'], {
        from: { id: 'eve' },
        subject: 'no \ud800 text',
      })
      const [b = ''] = await addToLane(bench, ['b'], { from: { id: 'bob', verified: true } })
      // Unverified senders count as one.
      const [c = ''] = await addToLane(bench, ['c'])
      const [d = ''] = await addToLane(bench, ['d'], { from: { id: 'eve' } })
      const [other = ''] = await acceptAll(store, ['other'])
      await store.jobs.add('q', [
        job(other, 'l', { messageId: other, group: 'h' }),
        job(`${other}:resumed`, 'l', { messageId: other }),
      ])
      const order: string[][] = []
      for (;;) {
        const {
          items: [claimed],
        } = await claimJobs(store, 'q', merging('superseded'))
        if (!claimed) break
        order.push([claimed.id, ...textsOf(claimed.collected)])
        await store.jobs.settle('q', [{ id: claimed.id, token: claimed.token, outcome: 'done' }])
      }
      assert.deepEqual(order, [[a], [surrogate], [b], [d, 'c'], [other], [`${other}:resumed`]])
      assert.deepEqual(
        (await store.journal.history(c)).map(({ what }) => what),
        ['superseded'],
      )
    },
    'does not take a name that begins with `external:` for a person of another workspace': async (bench) => {
      const add = async (text: string, from: NewMessage['from']) => {
        return addToLane(bench, [text], { conversation: 'c', from: { ...from, verified: true } })
      }
      const [a] = await add('a', { id: 'external:ann' })
      await add('b', { id: 'ann', external: true })
      const { items } = await claimJobs(bench.store, 'q', merging('collected'))
      assert.deepEqual(
        items.map(({ id, collected }) => [id, textsOf(collected)]),
        [[a, []]],
      )
    },
    'a lane is claimed once no message came for the time of `settle`, and other lanes immediately': async (
      bench,
    ) => {
      const { store, advance } = bench
      await addToLane(bench, ['a'])
      await store.jobs.add('q', [job('x', 'other', { group: 'h' })])
      const claim = () => claimJobs(store, 'q', { max: 1, ...merging('collected', SECOND) })
      const first = await claim()
      assert.deepEqual([first.items.map(({ id }) => id), first.nextDue], [['x'], bench.now() + SECOND])
      advance(SECOND - 1)
      assert.deepEqual((await claim()).items, [])
      advance(1)
      assert.equal((await claim()).items.length, 1)
    },
    'a lane in which messages keep coming is claimed after ten times `settle`': async (bench) => {
      const { store, advance } = bench
      await addToLane(bench, ['first'])
      let messages = 1
      const claim = () => claimJobs(store, 'q', merging('collected', SECOND))
      for (let waited = 900; waited < 10 * SECOND; waited += 900) {
        advance(900)
        await addToLane(bench, [`after ${waited} ms`])
        messages++
        const { items, nextDue } = await claim()
        assert.deepEqual(items, [])
        assert.ok(nextDue !== undefined && nextDue <= bench.now() + SECOND)
      }
      advance(900)
      await addToLane(bench, ['last'])
      assert.equal((await claim()).items[0]?.collected?.length, messages, 'all before the last')
    },
    '`mergeFollowing` gives a claimed job the messages behind it, but none after its claim has ended': async (
      bench,
    ) => {
      const { store } = bench
      const [a = '', b = ''] = await addToLane(bench, ['a', 'b'])
      const { token } = await claimOne(store, 'q')
      const claim = { id: a, token, group: 'g' }
      assert.deepEqual(textsOf(await store.jobs.mergeFollowing('q', claim)), ['b'])
      assert.deepEqual(await store.jobs.mergeFollowing('q', claim), [])
      await addToLane(bench, ['c'])
      assert.equal(await store.jobs.mergeFollowing('q', { ...claim, token: 'stale' }), undefined)
      assert.deepEqual(textsOf(await store.jobs.mergeFollowing('q', claim)), ['c'])
      await store.jobs.settle('q', [{ id: a, token, outcome: 'release' }])
      const reclaimed = await claimOne(store, 'q')
      assert.deepEqual([reclaimed.id, ...textsOf(reclaimed.collected)], [a, 'b', 'c'])
      assert.deepEqual(await shortNotes(bench, b), [['dispatch', 'steered', { into: a }]])
      assert.deepEqual(
        (await store.journal.history(a)).map(({ what }) => what),
        ['is steered', 'is steered'],
      )
    },
  })

  part(factory, 'outcomes', {
    'settling a job adds its notes to the history of the message': async ({ store, now }) => {
      const [messageId = ''] = await acceptAll(store, ['hi'])
      await store.jobs.add('q', [job('a', 'l', { messageId })])
      const { token } = await claimOne(store, 'q')
      const note = { at: now(), road: 'dispatch', what: 'done', detail: { ms: 3 } } as const
      await store.jobs.settle('q', [
        { id: 'a', token: 'stale', outcome: 'done', notes: [{ ...note, what: 'stale' }] },
      ])
      await store.jobs.settle('q', [{ id: 'a', token, outcome: 'done', notes: [note] }])
      assert.deepEqual(await store.journal.history(messageId), [note])
    },
    'the result of a job may contain line separators': async ({ store }) => {
      await store.jobs.add('q', [job('a', 'l', { notify: true })])
      const { token } = await claimOne(store, 'q')
      const result = { text: 'one\u2028two\u2029three\nfour' }
      await store.jobs.settle('q', [{ id: 'a', token, outcome: 'done', result }])
      assert.partialDeepStrictEqual(await store.jobs.end('q', 'a'), { state: 'done', result })
    },
    'a claim that is settled twice in one call ends once': async ({ store }) => {
      await store.jobs.add('q', [job('a', 'l'), job('b', 'm')])
      const a = (await claimJobs(store, 'q')).items.find(({ id }) => id === 'a')
      const done = { id: 'a', token: a?.token ?? '', outcome: 'done' as const }
      assert.deepEqual(await store.jobs.settle('q', [done, done]), [true, false])
      const [counts] = (await store.stats()).jobs
      assert.deepEqual([counts?.waiting, counts?.running], [0, 1])
    },
    'the result of a job with `notify` is kept for seven days, and its end is signalled': async (bench) => {
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
      assert.partialDeepStrictEqual(await bench.store.jobs.end('q', 'a'), {
        state: 'done',
        result: { ok: [1] },
      })
      assert.partialDeepStrictEqual(await bench.store.jobs.end('q', 'b'), { state: 'done' })
      advance(WEEK + MINUTE)
      assert.equal(await bench.store.jobs.end('q', 'a'), undefined)
    },
    'waiting, running and unknown jobs have no end': async ({ store }) => {
      await store.jobs.add('q', [job('running', 'l'), job('waiting', 'l')])
      await claimOne(store, 'q')
      for (const id of ['running', 'waiting', 'unknown'])
        assert.equal(await store.jobs.end('q', id), undefined)
    },
    'stats count the waiting and running jobs of a queue': async ({ store }) => {
      await store.jobs.add('q', [job('a', 'l'), job('b', 'l')])
      await claimOne(store, 'q')
      assert.deepEqual((await store.stats()).jobs, [{ queue: 'q', waiting: 1, running: 1, dead: 0 }])
    },
    'stats contain the time of the oldest message with an outbox job': async ({ store, now, advance }) => {
      const oldestAt = now()
      const [first = ''] = await acceptAll(store, ['one'])
      advance(MINUTE)
      const [second = ''] = await acceptAll(store, ['two'])
      await store.jobs.add('outbox', [
        job(`outbox:${first}:rest:0`, 'l'),
        job(`outbox:${second}:rest:0`, 'l'),
      ])
      const stats = { queue: 'outbox', waiting: 2, running: 0, dead: 0, oldestAt }
      assert.deepEqual((await store.stats()).jobs, [stats])
      const { id, token } = await claimOne(store, 'outbox')
      assert.deepEqual((await store.stats()).jobs, [{ ...stats, waiting: 1, running: 1 }])
      await store.jobs.settle('outbox', [{ id, token, outcome: 'done' }])
      assert.equal((await store.stats()).jobs[0]?.oldestAt, oldestAt + MINUTE)
    },
  })

  part(factory, 'the oldest waiting messages', {
    'are listed per road and gateway until a worker or consumer takes them': async ({
      store,
      now,
      advance,
    }) => {
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
      const roads = {
        'receive demo': 4 * MINUTE,
        'receive mail': 3 * MINUTE,
        'dispatch demo': 4 * MINUTE,
        'dispatch mail': 3 * MINUTE,
      }
      assert.deepEqual(await waiting(), roads)

      const { cursor, items: messages } = await store.journal.unpumped(2)
      const jobs = messages.map(({ id, gateway }) => job(id, `${gateway}/${id}`, { messageId: id }))
      await store.journal.pumped(cursor, messages.at(-1)?.id ?? '', jobs)
      await store.jobs.add('outbox', [
        job(`outbox:${ids[1]}:rest:0`, 'mail/x'),
        job('outbox:no-id', 'demo/x'),
      ])
      await store.jobs.add('push/crm', [job(`push/crm/${ids[2]}`, 'demo/x')])
      const queues = { 'outbox mail': 3 * MINUTE, 'push/crm': 2 * MINUTE }
      assert.deepEqual(await waiting(), { ...roads, ...queues })

      await claimOne(store, 'dispatch')
      await store.receive.take({ gateway: 'mail' })
      assert.deepEqual(await waiting(), {
        ...roads,
        ...queues,
        'dispatch demo': 2 * MINUTE,
        'receive mail': MINUTE,
      })
    },
    'that wait for another attempt are counted separately, with its time': async ({
      store,
      now,
      advance,
    }) => {
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
      const [retrying, waiting] = (await store.oldestWaiting())
        .filter(({ road }) => road === 'dispatch')
        .sort((a, b) => a.state.localeCompare(b.state))
      assert.ok(retrying?.state === 'retrying' && waiting?.state === 'waiting')
      assert.deepEqual([retrying.count, retrying.gateway], [1, 'demo'])
      // The clock of Redis does not stand still.
      const isClose = (a: number, b: number) => Math.abs(a - b) < 10 * SECOND
      assert.ok(isClose(retrying.nextAt, nextAt) && isClose(retrying.oldestAt, oldestAt))
    },
    'are held where something is paused, with those behind them': async ({ store }) => {
      const [first = '', second = '', third = ''] = await acceptAll(store, ['one', 'two', 'three'])
      const pump = async (...jobs: NewJob[]) => {
        const { cursor } = await store.journal.unpumped(1)
        await store.journal.pumped(cursor, jobs.at(-1)?.messageId ?? '', jobs)
      }
      const states = async () => {
        const waiting = await store.oldestWaiting()
        const ofJobs = waiting.filter(({ road, gateway }) => road === 'dispatch' && gateway !== 'demo')
        return ofJobs.map(({ gateway, state }) => `${gateway} ${state}`).sort()
      }
      const inLane = (id: string, lane: string) => job(id, lane, { messageId: id })
      await pump(inLane(first, 'shop/a'), inLane(second, 'shop/a'))
      assert.deepEqual(await states(), ['shop waiting'])
      const { token } = await claimOne(store, 'dispatch')
      await store.jobs.settle('dispatch', [{ id: first, token, outcome: 'hold' }])
      assert.deepEqual(await states(), ['shop held'])
      await pump(inLane(third, 'bank/b'))
      assert.deepEqual(await states(), ['bank waiting', 'shop held'])
      await store.jobs.unhold('dispatch', [first])
      assert.deepEqual(await states(), ['bank waiting', 'shop waiting'])
    },
    'are as old as the retry of their dead letter': async ({ store, now, advance }) => {
      const [id = ''] = await acceptAll(store, ['one'])
      const { cursor } = await store.journal.unpumped(1)
      await store.journal.pumped(cursor, id, [job(id, 'demo/a', { messageId: id })])
      const { token } = await claimOne(store, 'dispatch')
      const error = failure('gone', now())
      await store.jobs.settle('dispatch', [{ id, token, outcome: 'dead', error, reason: 'permanent' }])
      advance(60 * MINUTE)
      await store.jobs.deadLetters.retry(id)
      advance(MINUTE)
      const waiting = (await store.oldestWaiting()).find(
        ({ road, state }) => road === 'dispatch' && state === 'waiting',
      )
      assert.ok(now() - (waiting?.oldestAt ?? 0) < 2 * MINUTE)
    },
  })

  /** Dead letters a, b and c, one ms apart. `list` returns the ids. */
  const buryThree = async (bench: Bench) => {
    await bury(bench, 'q', job('a', 'a', { group: 'g' }))
    bench.advance(1)
    await bury(bench, 'r', job('b', 'b', { group: 'g' }))
    bench.advance(1)
    await bury(bench, 'q', job('c', 'c', { group: 'h' }))
    bench.advance(1)
    const list = async (filter: Partial<LetterFilter>) =>
      (await bench.store.jobs.deadLetters.list({ limit: 9, ...filter })).items.map(({ id }) => id)
    return { list }
  }

  part(factory, 'dead letters', {
    'a dead letter contains the complete job and every error, and frees its lane': async (bench) => {
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
      assert.partialDeepStrictEqual(await store.jobs.end('q', 'a'), { state: 'dead', error: errors[1] })
      assert.deepEqual(await claimIds(store, 'q'), ['b'])
      assert.equal((await store.stats()).jobs.find(({ queue }) => queue === 'q')?.dead, 1)
    },
    'dead letters are listed newest first, also of one queue or group': async (bench) => {
      const { list } = await buryThree(bench)
      assert.deepEqual(await list({}), ['c', 'b', 'a'])
      assert.deepEqual(await list({ limit: 2 }), ['c', 'b'])
      assert.deepEqual(await list({ queue: 'q' }), ['c', 'a'])
      assert.deepEqual(await list({ group: 'g' }), ['b', 'a'])
      assert.deepEqual(await list({ queue: 'q', group: 'g' }), ['a'])
    },
    'stats contain the time of the oldest dead letter of each queue': async (bench) => {
      const began = bench.now()
      await buryThree(bench)
      const deaths = async () => (await bench.store.stats()).jobs.map(({ queue, deadAt }) => [queue, deadAt])
      assert.deepEqual((await deaths()).sort(), [
        ['q', began],
        ['r', began + 1],
      ])
      await bench.store.jobs.deadLetters.drop('a', 'q')
      await bench.store.jobs.deadLetters.drop('b', 'r')
      assert.deepEqual((await deaths()).sort(), [
        ['q', began + 2],
        ['r', undefined],
      ])
    },
    'pages of dead letters skip none of equal time, or of equal id in two queues': async (bench) => {
      const { list } = await buryThree(bench)
      for (const id of ['x', 'z', 'y']) await bury(bench, 'q', job(id, id))
      await bury(bench, 'r', job('a', 'a', { group: 'h' }))
      const { deadLetters } = bench.store.jobs
      for (const filter of [{}, { queue: 'q' }, { group: 'g' }]) {
        const { items: all } = await deadLetters.list({ ...filter, limit: 20 })
        const paged = await readAll<DeadLetter>((last) =>
          deadLetters.list({ ...filter, before: last, limit: 2 }),
        )
        assert.deepEqual(paged, all)
      }
      assert.deepEqual((await list({ queue: 'q' })).slice(0, 3), ['z', 'y', 'x'])
      assert.deepEqual(await list({ before: { at: bench.now(), id: '' } }), ['c', 'b', 'a'])
    },
    'a queue selects one of two dead letters with the same id': async (bench) => {
      const { deadLetters } = bench.store.jobs
      for (const queue of ['q', 'r']) await bury(bench, queue, job('a', 'a'))
      assert.equal(await deadLetters.drop('a', 'q'), true)
      assert.equal((await deadLetters.get('a'))?.queue, 'r')
      assert.equal(await deadLetters.get('a', 'q'), undefined)
      assert.equal(await deadLetters.retry('a', 'q'), false)
      assert.equal(await deadLetters.retry('a', 'r'), true)
    },
    'without a queue, the newest dead letter with an id is meant': async (bench) => {
      const { deadLetters } = bench.store.jobs
      const queues = ['q3', 'q1', 'q5', 'q2', 'q6', 'q4']
      for (const queue of queues) {
        await bury(bench, queue, job('a', 'a'))
        bench.advance(1)
      }
      for (const queue of queues.toReversed()) {
        assert.equal((await deadLetters.get('a'))?.queue, queue)
        assert.equal(await deadLetters.drop('a'), true)
      }
    },
    'a dead letter stays as long as an unfinished job has its id': async (bench) => {
      const { store } = bench
      await bury(bench, 'q', job('a', 'l', { data: 'old' }))
      bench.advance(WEEK + MINUTE)
      await store.jobs.add('q', [job('a', 'l', { data: 'new' })])
      assert.equal(await store.jobs.deadLetters.retry('a'), false)
      assert.equal((await store.jobs.deadLetters.get('a'))?.data, 'old')
      const { data, token } = await claimOne(store, 'q')
      assert.equal(data, 'new')
      await store.jobs.settle('q', [{ id: 'a', token, outcome: 'done' }])
      assert.equal(await store.jobs.deadLetters.retry('a'), true)
      assert.equal((await claimOne(store, 'q')).data, 'old')
    },
    'a retry puts the job at the end of its lane with fresh attempts': async (bench) => {
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
    'a dead letter that fails again after retries keeps the time and the attempts of its first run': async (
      bench,
    ) => {
      const { store } = bench
      const [messageId = ''] = await acceptAll(store, ['again'])
      const died = bench.now()
      await bury(bench, 'q', job('a', 'l', { messageId, data: { text: 'é "x"' } }), 'permanent')
      const first = await store.jobs.deadLetters.get('a')
      assert.equal('firstAt' in Object(first), false)
      let retriedAt = 0
      for (const [index, text] of ['again', 'and again'].entries()) {
        bench.advance(20 * MINUTE)
        retriedAt = bench.now()
        assert.equal(await store.jobs.deadLetters.retry('a'), true)
        bench.advance(MINUTE)
        const { token, errors } = await claimOne(store, 'q')
        assert.deepEqual(errors, [])
        const error = failure(text, bench.now())
        const reason = index === 0 ? 'attempts' : 'permanent'
        await store.jobs.settle('q', [{ id: 'a', token, outcome: 'dead', error, reason }])
      }
      const letter = await store.jobs.deadLetters.get('a')
      assert.deepEqual(letter?.errors, [failure('and again', bench.now())])
      assert.deepEqual([letter?.firstAt, letter?.retriedAt, letter?.at], [died, retriedAt, bench.now()])
      assert.deepEqual(letter?.firstErrors, first?.errors)
      assert.deepEqual(letter?.data, { text: 'é "x"' })
      assert.deepEqual((await store.jobs.deadLetters.list({ limit: 1 })).items, [letter])
    },
    'a retry is undone by those who retried it, and the letter is what it was before': async (bench) => {
      const { store, now } = bench
      const { deadLetters } = store.jobs
      const undo = { by: 'job 1' }
      await bury(bench, 'q', job('a', 'l', { data: { text: 'é "x"' } }), 'permanent')
      bench.advance(MINUTE)
      await bury(bench, 'q', job('b', 'l'), 'ambiguous')
      bench.advance(MINUTE)
      const before = await deadLetters.list({ limit: 9 })
      for (const id of ['a', 'b']) assert.equal(await deadLetters.retry(id, 'q', 'job 1'), true)
      assert.equal(await deadLetters.undoRetry('a', 'q', { by: 'job 2' }), false)
      assert.equal(await deadLetters.undoRetry('a', 'r', undo), false)
      // `b` is behind `a`, which fails once more and waits for its next attempt.
      const { token } = await claimOne(store, 'q')
      assert.equal(await deadLetters.undoRetry('a', 'q', undo), false, 'it is claimed')
      const error = failure('another error', now())
      await store.jobs.settle('q', [{ id: 'a', token, outcome: 'retry', delay: MINUTE, error }])
      for (const id of ['b', 'a']) assert.equal(await deadLetters.undoRetry(id, 'q', undo), true)
      assert.equal(await deadLetters.undoRetry('a', 'q', undo), false)
      const restored = await bench.reopen()
      assert.deepEqual(await restored.jobs.deadLetters.list({ limit: 9 }), before)
      bench.advance(2 * MINUTE)
      assert.deepEqual(await claimIds(restored, 'q'), [])
      const { dead, deadAt } = Object((await restored.stats()).jobs.find(({ queue }) => queue === 'q'))
      assert.deepEqual([dead, deadAt], [2, before.items.at(-1)?.at])
    },
    'the history of the message has the undone retry, and the next job of the lane is claimed': async (
      bench,
    ) => {
      const { store, now } = bench
      const [messageId = ''] = await acceptAll(store, ['again'])
      await bury(bench, 'q', job('a', 'l', { messageId }))
      const letter = await store.jobs.deadLetters.get('a', 'q')
      assert.equal(await store.jobs.deadLetters.retry('a', 'q', 'job 1'), true)
      await store.jobs.add('q', [job('b', 'l', { messageId })])
      const notes = [{ at: now(), road: 'dispatch' as const, what: 'retry cancelled' }]
      assert.equal(await store.jobs.deadLetters.undoRetry('a', 'q', { by: 'job 1', notes }), true)
      assert.deepEqual(await store.jobs.deadLetters.get('a', 'q'), letter)
      assert.equal((await store.journal.history(messageId)).at(-1)?.what, 'retry cancelled')
      assert.deepEqual(await claimIds(store, 'q'), ['b'])
    },
    'the retry of a letter that failed again is undone, but not by those who retried it before': async (
      bench,
    ) => {
      const { store } = bench
      const { deadLetters } = store.jobs
      await bury(bench, 'q', job('a', 'l'), 'permanent')
      assert.equal(await deadLetters.retry('a', 'q', 'job 1'), true)
      bench.advance(MINUTE)
      const { token } = await claimOne(store, 'q')
      const error = failure('again', bench.now())
      await store.jobs.settle('q', [{ id: 'a', token, outcome: 'dead', error, reason: 'attempts' }])
      bench.advance(MINUTE)
      const before = await deadLetters.get('a', 'q')
      assert.equal(await deadLetters.retry('a', 'q'), true)
      assert.equal(await deadLetters.undoRetry('a', 'q', { by: 'job 1' }), false)
      const other = await claimOne(store, 'q')
      await store.jobs.settle('q', [
        { id: 'a', token: other.token, outcome: 'dead', error, reason: 'attempts' },
      ])
      assert.equal(await deadLetters.retry('a', 'q', 'job 2'), true)
      assert.equal(await deadLetters.undoRetry('a', 'q', { by: 'job 2' }), true)
      const after = await deadLetters.get('a', 'q')
      const { at: _, retriedAt: __, ...letter } = Object(after)
      const { at: ___, retriedAt: ____, ...expected } = Object(before)
      assert.deepEqual(letter, expected)
    },
    'a job with `notify` that dies signals its end, and dropping its dead letter removes it': async (
      bench,
    ) => {
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
