import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pathGet } from '../../src/core/json.ts'
import type { Store } from '../../src/core/store.ts'
import type { LetterKey } from '../../src/engine/dead-letter-work.ts'
import { createLettersOfJobs } from '../../src/engine/letters-of-jobs.ts'
import { createRetryWithdrawal } from '../../src/engine/retry-withdrawal.ts'
import { acceptAll, claimOne, failure, job } from '../contract/store/kit.ts'
import { until } from '../fixtures/until.ts'
import { storeKinds } from '../runtime/support/store.ts'
import { callOf } from './kit.ts'
import { buryMessages, type Daemon, openLetters } from './letters-kit.ts'

const OPERATOR = callOf({ caller: { kind: 'cli', id: 'ada@host' } })
const HOUR = 3_600_000

/** Retries all letters as a job, and waits until it has queued them. */
async function retryAll({ letters, work }: Daemon): Promise<string> {
  const { job: begun } = Object(await letters.bulk({ do: 'retry', queue: 'dispatch' }, OPERATOR))
  await until(async () => (await work.service.show({ id: begun.id })).state === 'done', 'the retried letters')
  return begun.id
}

const lettersIn = async (store: Store) => (await store.jobs.deadLetters.list({ limit: 99 })).items

for (const { kind, place, open } of storeKinds()) {
  describe(`a retry of dead letters that is cancelled, on the ${kind} store`, () => {
    test('makes those that nobody runs what they were before, and no others', async (t) => {
      const at = await place(t)
      const daemon = openLetters(t, await open(t, at), 'one')
      const { store, work } = daemon
      const [done = '', runs = '', failed = '', first = '', behind = '', other = ''] = await buryMessages(
        store,
        ['a', 'b', 'c', 'd', 'd', 'e'],
      )
      const before = await lettersIn(store)
      const id = await retryAll(daemon)
      const claimed = new Map<string, string>()
      for (const _ of [done, runs, failed, first, other]) {
        const { id: message, token } = await claimOne(store, 'dispatch')
        claimed.set(message, token)
      }
      const tokenOf = (message: string) => claimed.get(message) ?? ''
      const error = failure('another error', Date.now())
      const notes = [{ at: Date.now(), road: 'dispatch' as const, what: 'done' }]
      await store.jobs.settle('dispatch', [
        { id: done, token: tokenOf(done), outcome: 'done', notes },
        { id: failed, token: tokenOf(failed), outcome: 'retry', delay: HOUR, error },
        { id: first, token: tokenOf(first), outcome: 'release', delay: HOUR },
        { id: other, token: tokenOf(other), outcome: 'dead', error, reason: 'attempts' },
      ])
      // It failed again, and somebody retried it since.
      await daemon.letters.retry({ id: other, limit: 1 }, OPERATOR)

      const second = openLetters(t, kind === 'redis' ? await open(t, at) : store, 'two')
      const cancelled = await second.work.service.cancel({ id }, OPERATOR)
      assert.equal(cancelled.state, 'cancelled')
      assert.deepEqual(pathGet(cancelled.result ?? null, 'withdrawn'), 3)
      assert.deepEqual(cancelled.outcomes, { done: 1, running: 1, withdrawn: 3, dead: 1 })
      const back = [failed, first, behind]
      assert.deepEqual(
        await lettersIn(store),
        before.filter((letter) => back.includes(letter.id)),
      )
      for (const message of back) {
        const last = (await store.journal.history(message)).at(-1)
        assert.equal(last?.what, 'retry cancelled')
        assert.deepEqual(
          [pathGet(last?.detail ?? null, 'job'), pathGet(last?.detail ?? null, 'by')],
          [id, 'ada@host'],
        )
        const shown = await daemon.letters.show({ id: message }, OPERATOR)
        assert.equal(pathGet(Object(shown), 'retriedAt'), undefined)
      }
      assert.deepEqual(await store.journal.outcomes([runs, other]), ['running', 'waiting'])
      assert.equal(cancelled.withdrawing, true)

      // The running attempt fails, and no other follows.
      await store.jobs.settle('dispatch', [
        { id: runs, token: tokenOf(runs), outcome: 'retry', delay: HOUR, error },
      ])
      await until(async () => !(await work.service.show({ id })).withdrawing, 'the end of the last attempt')
      const ended = await work.service.show({ id })
      assert.deepEqual(pathGet(ended.result ?? null, 'withdrawn'), 4)
      assert.deepEqual(ended.outcomes, { done: 1, withdrawn: 4, dead: 1 })
      assert.equal((await store.journal.history(runs)).at(-1)?.what, 'retry cancelled')
      await assert.rejects(work.service.cancel({ id }, OPERATOR), { code: 'job_ended' })
    })

    test('of running messages only can be cancelled, and again after a restart', async (t) => {
      const at = await place(t)
      const daemon = openLetters(t, await open(t, at), 'one')
      const { store, work } = daemon
      const [runs = '', ends = ''] = await buryMessages(store, ['a', 'b'])
      const id = await retryAll(daemon)
      const claims = [await claimOne(store, 'dispatch'), await claimOne(store, 'dispatch')]
      const { outcomes, withdrawing } = await work.service.cancel({ id }, OPERATOR)
      assert.deepEqual([outcomes, withdrawing], [{ running: 2 }, true])
      await work.stop()
      const next = openLetters(t, kind === 'redis' ? await open(t, at) : store, 'two')
      next.work.start()
      const tokenOf = (message: string) => claims.find((claim) => claim.id === message)?.token ?? ''
      const error = failure('another error', Date.now())
      const notes = [{ at: Date.now(), road: 'dispatch' as const, what: 'done' }]
      await store.jobs.settle('dispatch', [
        { id: runs, token: tokenOf(runs), outcome: 'retry', delay: HOUR, error },
        { id: ends, token: tokenOf(ends), outcome: 'done', notes },
      ])
      await until(async () => !(await next.work.service.show({ id })).withdrawing, 'the end of the attempts')
      assert.deepEqual((await next.work.service.show({ id })).outcomes, { withdrawn: 1, done: 1 })
      assert.deepEqual(
        (await lettersIn(store)).map((letter) => letter.id),
        [runs],
      )
    })

    test('keeps that a message failed again when an erasure drops its letter', async (t) => {
      const daemon = openLetters(t, await open(t, await place(t)), 'one')
      const { store, work } = daemon
      const [message = ''] = await buryMessages(store, ['a'])
      const id = await retryAll(daemon)
      const { token } = await claimOne(store, 'dispatch')
      const error = failure('another error', Date.now())
      const noteOf = (what: string) => ({ at: Date.now(), road: 'dispatch' as const, what })
      const notes = [noteOf('dead')]
      await store.jobs.settle('dispatch', [
        { id: message, token, outcome: 'dead', error, reason: 'attempts', notes },
      ])
      assert.deepEqual((await work.service.show({ id })).outcomes, { dead: 1 })
      await store.jobs.deadLetters.drop(message, 'dispatch')
      await store.journal.note(message, [noteOf('dropped')])
      // Final outcomes are cached for a minute.
      const { work: other } = openLetters(t, store, 'two')
      const { outcomes, later } = await other.service.show({ id })
      assert.deepEqual([outcomes, later], [{ dead: 1 }, [{ do: 'drop', count: 1 }]])
    })

    test('is repeated after a crash, and counts what it had withdrawn before', async (t) => {
      const daemon = openLetters(t, await open(t, await place(t)), 'one')
      const { store, work } = daemon
      await buryMessages(store, ['a', 'b', 'c'])
      const before = await lettersIn(store)
      const id = await retryAll(daemon)
      const retried = createLettersOfJobs({ kv: store.kv, ofKind: work.ofKind })
      const crash = new Error('killed')
      const crashing = { of: retried.of, withdrawn: () => Promise.reject(crash) }
      const found = await work.service.show({ id })
      const { signal } = new AbortController()
      await assert.rejects(createRetryWithdrawal(store, crashing, Date.now)(found, signal), crash)
      assert.deepEqual(await lettersIn(store), before)
      const withdraw = createRetryWithdrawal(store, retried, Date.now)
      assert.deepEqual(await withdraw(found, signal), { withdrawn: 3 })
      assert.deepEqual(await lettersIn(store), before)
      assert.deepEqual((await work.service.show({ id })).outcomes, { withdrawn: 3 })
    })

    test('also finds the letters that the job does not remember, and leaves other jobs', async (t) => {
      const daemon = openLetters(t, await open(t, await place(t)), 'one')
      const { store, work } = daemon
      await buryMessages(store, ['a', 'a', 'b'])
      const before = await lettersIn(store)
      const id = await retryAll(daemon)
      const [fresh = ''] = await acceptAll(store, ['a fresh message'])
      await store.jobs.add('dispatch', [job(fresh, 'a', { messageId: fresh })])
      const unknown = { of: async () => [], withdrawn: async (_: string, __: readonly LetterKey[]) => {} }
      const withdraw = createRetryWithdrawal(store, unknown, Date.now)
      const { signal } = new AbortController()
      assert.deepEqual(await withdraw(await work.service.show({ id }), signal), { withdrawn: 3 })
      assert.deepEqual(await lettersIn(store), before)
      assert.equal((await claimOne(store, 'dispatch')).id, fresh)
    })
  })
}
