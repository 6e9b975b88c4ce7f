import assert from 'node:assert/strict'
import type { Json } from '../../../src/core/json.ts'
import type { Store } from '../../../src/core/store.ts'
import { createIdentities, createReferences } from '../../../src/features/person/person.ts'
import { createRecordsPlace } from '../../../src/features/person/record-place.ts'
import { createCost } from '../../../src/features/usage/cost.ts'
import { createCostLedger } from '../../../src/features/usage/cost-ledger.ts'
import { usageOfPerson } from '../../../src/features/usage/forget-person.ts'
import { createRunLogs } from '../../../src/features/usage/run-log.ts'
import { createRunningRuns } from '../../../src/features/usage/running-runs.ts'
import { createSkillUsage } from '../../../src/features/usage/skill-usage.ts'
import { callFrom } from '../../features/kit.ts'
import { DAY, HOUR, MINUTE, part, type StoreFactory } from './kit.ts'

const OF_ADA = ['019a0000-0000-7000-8000-000000000001', '019a0000-0000-7000-8000-000000000002'] as const
const OF_BOB = '019a0000-0000-7000-8000-000000000003'

/** The statistics of the past, after one of the people in them was erased. */
export function erasedUsageContract(factory: StoreFactory): void {
  part(factory, 'usage, after the erasure of a person', {
    'money, tokens, counts and durations stay, and nothing names the person': async ({ store, now }) => {
      const { cost, skillUsage } = await used(store, now)
      const range = { since: now() - DAY, until: now() }
      const read = async () => ({
        total: (await cost({ by: 'model', ...range })).total,
        week: (await cost({ by: 'day' })).total,
        gateways: (await cost({ by: 'gateway', ...range })).rows,
        skills: Object(await skillUsage({ ...range, limit: 20 })).map(withoutCallers),
      })
      const one = () => skillUsage({ name: 'pay', ...range, limit: 20 })
      const before = await read()
      const ofSkill = Object(await one())
      const place = createRecordsPlace(store.kv, usageOfPerson, async (found) => [...found])
      const exported: Json[] = []
      for await (const record of place.records(subject)) exported.push(record)
      assert.match(JSON.stringify(exported), /mail:ada@example.com.*cannot pay ada/)
      for await (const _ of place.erase(subject));
      for await (const _ of place.records(subject)) assert.fail('a second erasure finds something')
      assert.deepEqual(await read(), before)
      const rest = Object(await one())
      for (const field of [
        'runs',
        'failed',
        'p50',
        'p95',
        'days',
        'slots',
        'cost',
        'times',
        'failedMessages',
      ])
        assert.deepEqual(rest[field], ofSkill[field], field)
      assert.equal(rest.isEstimated, undefined, 'each run is still known')
      const senders = (await cost({ by: 'sender', ...range })).rows.map(({ name }) => name)
      assert.deepEqual(senders.toSorted(), ['mail:an erased person', 'mail:bob@example.com'])
      const texts = JSON.stringify([rest, await cost({ by: 'sender' })])
      assert.doesNotMatch(texts, new RegExp(`ada|${OF_ADA.join('|')}`))
    },
    'a later erasure adds to what an earlier one left': async ({ store, now }) => {
      const { cost, skillUsage } = await used(store, now)
      const place = createRecordsPlace(store.kv, usageOfPerson, async (found) => [...found])
      for await (const _ of place.erase(subject));
      for await (const _ of place.erase(subjectOf('mail:bob@example.com', [OF_BOB])));
      const { rows, total } = await cost({ by: 'sender' })
      assert.deepEqual(rows, [{ ...total, name: 'mail:an erased person' }])
      const { runs, recent, callers } = Object(await skillUsage({ name: 'pay', limit: 20 }))
      assert.equal(runs, 6)
      assert.deepEqual(new Set(Object(recent).map(({ erased }: { erased?: number }) => erased)).size, 4)
      assert.deepEqual(callers, [
        { by: 'route pay', runs: 5, failed: 3 },
        { by: 'http an erased person', runs: 1 },
      ])
    },
  })
}

const withoutCallers = ({ callers: _, ...counts }: { callers: Json }) => counts

function subjectOf(identity: string, messages: readonly string[]) {
  const person = {
    identities: [identity],
    messages: new Set(messages),
    conversations: new Set<string>(),
    files: new Set<string>(),
  }
  const who = createIdentities(person.identities, () => false)
  return { person, about: createReferences(person, who) }
}
const subject = subjectOf('mail:ada@example.com', OF_ADA)

/** What Ada and Bob used: four runs for Ada, one of them by HTTP, and two for Bob. */
async function used({ kv }: Store, now: () => number) {
  const ledger = createCostLedger({ kv, now })
  const runs = createRunLogs({ kv, now })
  const cost = createCost({ ledger, currency: () => 'EUR', budgets: async () => [], now })
  const parts = { runs, running: createRunningRuns(), cost, requireSkill: () => undefined, now }
  const step = { model: 'm', skill: 'pay', inputTokens: 10, outputTokens: 5 }
  await Promise.all([
    ledger.add({ ...step, sender: 'mail:ada@example.com', money: 0.1 }),
    ledger.add({ ...step, sender: 'mail:ada@example.com' }),
    ledger.add({ ...step, sender: 'mail:bob@example.com', money: 0.2 }),
  ])
  const at = now()
  const by = 'route pay'
  const failed = { at: at - MINUTE, by, code: 'skill_failed' }
  runs.add('pay', { at: at - HOUR, ms: 1_000, by, messageId: OF_ADA[0] })
  runs.add('pay', { ...failed, ms: 20, messageId: OF_ADA[1], error: 'cannot pay ada' })
  runs.add('pay', { ...failed, ms: 30, messageId: OF_ADA[1], error: 'timeout' })
  runs.add('pay', { ...failed, ms: 40, messageId: OF_BOB, error: 'timeout' })
  runs.add('pay', { at, ms: 7, by, messageId: OF_BOB })
  runs.add('pay', { at, ms: 9, by: 'http mail:ada@example.com' })
  await runs.flush()
  const skillUsage = createSkillUsage(parts)
  const call = callFrom()
  return { cost, skillUsage: (args: Parameters<typeof skillUsage>[0]) => skillUsage(args, call) }
}
