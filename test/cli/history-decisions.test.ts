import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readHistory } from '../../src/cli/history/read-history.ts'
import { toJson } from '../../src/core/json.ts'
import { DAY } from '../../src/core/units.ts'
import { createApprovalService } from '../../src/features/approvals/approval-service.ts'
import { approvals } from '../../src/features/approvals/operations.ts'
import { callOf } from '../engine/kit.ts'
import { openStore } from '../runtime/support/store.ts'

const MANY = 1_003

test('`history` has every decision, however many requests are pending or were decided at one time', async (t) => {
  const store = await openStore(t)
  let now = Date.now()
  const service = createApprovalService({
    store,
    resume: async () => {},
    onEvent: async () => {},
    log: { warn: () => assert.fail('a warning') },
    now: () => now,
  })
  const request = async (key: string) =>
    service.request({
      key,
      skill: 'refund',
      args: {},
      title: key,
      approvers: [],
      trace: 't',
      by: 'support:ada',
      timeout: DAY,
      onTimeout: 'deny',
      message: { id: `m-${key}`, gateway: 'support', conversation: 'c', from: 'ada' },
    })
  const operator = callOf({ caller: { kind: 'cli' } })
  const decide = async (key: string) => {
    const { id } = await request(key)
    await service.decide({ id, approve: true }, operator)
  }
  await decide('the first')
  now += 1_000
  for (let at = 0; at < MANY; at++) await decide(`together ${at}`)
  for (const key of ['the last but one', 'the last']) {
    now += 1_000
    await decide(key)
  }
  for (let at = 0; at < MANY; at++) await request(`pending ${at}`)

  const calls: unknown[] = []
  const daemon = {
    running: true,
    async invoke(name: string, args: unknown) {
      if (name !== 'approval-list') return []
      calls.push(args)
      return toJson(await service.list(approvals.list.parse(args)))
    },
  }
  async function* none() {}
  const titles = async (limit: number) => {
    const { entries } = await readHistory({ store: daemon, lines: none() }, {}, limit)
    return entries.map(({ content }) => String(content).replace(/^.*?: /, ''))
  }
  const all = await titles(5_000)
  assert.equal(new Set(all).size, MANY + 3)
  assert.deepEqual([all[0], all.at(-1)], ['the first', 'the last'])
  calls.length = 0
  assert.equal((await titles(1)).at(-1), 'the last')
  assert.equal(calls.length, 1)
})
