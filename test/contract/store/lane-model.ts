import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Settled } from '../../../src/core/store.ts'
import fc from '../../fixtures/fast-check.ts'
import { claimJobs, failure, job, MINUTE, SECOND, type StoreFactory, withStore } from './kit.ts'

type ModelJob = { id: string; due: number; failures: number; lost: number; token?: string; until: number }

/** One command, with all parameters that any command needs. Repeated names are more frequent. */
const command = fc.record({
  do: fc.constantFrom('add', 'add', 'claim', 'claim', 'settle', 'settle', 'settle', 'renew', 'wait'),
  lane: fc.nat(2),
  max: fc.integer({ min: 1, max: 4 }),
  /** Index of a claim. */
  choice: fc.nat(9),
  outcome: fc.constantFrom('done', 'retry', 'release', 'postpone', 'dead'),
  ms: fc.constantFrom(SECOND, 2 * MINUTE),
})

/**
 * A lane behaves like a list: only its first job can be claimed, when it is due and not claimed,
 * and it stays first until it is done or dead. Stale tokens change nothing.
 */
export function laneModel(factory: StoreFactory): void {
  const name = 'any sequence of adds, claims and outcomes of three lanes agrees with a simple model'
  if (factory.leavesOut(name)) return
  test(name, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 30, size: 'max' }), async (commands) => {
        await withStore(factory, async ({ store, now, advance }) => {
          const lanes = new Map<string, ModelJob[]>()
          const claims: { lane: string; id: string; token: string }[] = []
          let serial = 0
          const claimable = () =>
            [...lanes.values()].flatMap(([head]) =>
              head && (head.token ? head.until <= now() : head.due <= now()) ? [head] : [],
            )
          for (const each of commands) {
            if (each.do === 'add') {
              const lane = `lane ${each.lane}`
              const id = `job ${serial++}`
              await store.jobs.add('q', [job(id, lane)])
              const added = { id, due: now(), failures: 0, lost: 0, until: 0 }
              lanes.set(lane, [...(lanes.get(lane) ?? []), added])
            } else if (each.do === 'wait') {
              advance(each.ms)
            } else if (each.do === 'claim') {
              const ready = new Map(claimable().map((head) => [head.id, head]))
              const { items: jobs, nextDue } = await claimJobs(store, 'q', { max: each.max, lease: MINUTE })
              assert.equal(jobs.length, Math.min(each.max, ready.size))
              for (const claimed of jobs) {
                const head = ready.get(claimed.id)
                assert.ok(head, `${claimed.id} was claimable`)
                if (head.token) head.lost++
                assert.deepEqual([claimed.failures, claimed.lost], [head.failures, head.lost])
                head.token = claimed.token
                head.until = now() + MINUTE
                claims.push({ lane: claimed.lane, id: claimed.id, token: claimed.token })
              }
              const heads = [...lanes.values()].flatMap(([head]) => head ?? [])
              const times = heads.map(({ token, until, due }) => (token ? until : due))
              const future = times.filter((time) => time > now())
              assert.equal(nextDue, future.length ? Math.min(...future) : undefined)
            } else if (each.do === 'renew') {
              const claim = claims[each.choice % Math.max(1, claims.length)]
              const head = claim && lanes.get(claim.lane)?.[0]
              const isCurrent = head !== undefined && head.token === claim?.token
              if (!claim || (isCurrent && head.until <= now())) continue
              assert.deepEqual(await store.jobs.renew('q', [claim], 2 * MINUTE), [isCurrent])
              if (isCurrent) head.until = now() + 2 * MINUTE
            } else {
              const claim = claims[each.choice % Math.max(1, claims.length)]
              if (!claim) continue
              const queue = lanes.get(claim.lane) ?? []
              const head = queue[0]
              // The contract leaves open whether an expired claim can be settled before another
              // claim.
              if (head?.token === claim.token && head.until <= now()) continue
              const isCurrent = head !== undefined && head.id === claim.id && head.token === claim.token
              const base = { id: claim.id, token: claim.token }
              const error = failure('x', now())
              const outcomes: Record<typeof each.outcome, Settled> = {
                done: { ...base, outcome: 'done' },
                release: { ...base, outcome: 'release' },
                postpone: { ...base, outcome: 'release', delay: SECOND },
                retry: { ...base, outcome: 'retry', delay: SECOND, error },
                dead: { ...base, outcome: 'dead', error, reason: 'attempts' },
              }
              const [answer] = await store.jobs.settle('q', [outcomes[each.outcome]])
              assert.equal(answer, isCurrent)
              if (!isCurrent) continue
              delete head.token
              if (each.outcome === 'done' || each.outcome === 'dead') queue.shift()
              if (each.outcome === 'retry') head.failures++
              if (each.outcome === 'retry' || each.outcome === 'postpone') head.due = now() + SECOND
            }
          }
        })
      }),
      { numRuns: 40 },
    )
  })
}
