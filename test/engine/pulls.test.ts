import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Backlog } from '../../src/core/store.ts'
import { createLastPulls } from '../../src/engine/last-pulls.ts'
import { createPulls } from '../../src/engine/pulls.ts'
import { until } from '../fixtures/until.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { openStore } from '../runtime/support/store.ts'

const HOUR = 3_600_000

test('the last pull of a gateway is known to other daemons, until its messages have expired', async (t) => {
  const { kv } = await openStore(t)
  let time = Date.now()
  const daemon = () => createLastPulls({ kv, log: createMemoryLog(), now: () => time, retention: () => HOUR })
  const [one, other] = [daemon(), daemon()]
  assert.equal(await other.of('shop'), undefined)
  one.note('shop', 'token:printer')
  const pull = { by: 'token:printer', at: time }
  assert.deepEqual(await one.of('shop'), pull)
  await until(async () => (await kv.get('pulled:shop')) !== undefined, 'the record of the pull')
  time += 10_000
  assert.deepEqual(await other.of('shop'), pull)
  one.note(undefined, 'token:all')
  await until(async () => (await kv.get('pulled:')) !== undefined, 'the record for all gateways')
  time += 10_000
  assert.deepEqual([(await other.of('shop'))?.by, (await other.of('desk'))?.by], ['token:all', 'token:all'])
  time += HOUR
  assert.equal(await one.of('shop'), undefined)
})

test('a large backlog is not counted each second, a small one is', async () => {
  const backlogs: Record<string, Backlog> = {
    large: { messages: 10_000, more: true },
    small: { messages: 3, more: false },
  }
  const counted: string[] = []
  const read = createPulls(
    { of: async (gateway) => (gateway === 'idle' ? undefined : { by: 'token:printer', at: 1 }) },
    {
      async backlog(gateway) {
        counted.push(gateway)
        return backlogs[gateway] ?? { messages: 0, more: false }
      },
    },
    () => false,
  )
  const gateways = ['large', 'small', 'idle']
  for (let second = 0; second < 2; second++) {
    const found = await read(gateways)
    assert.deepEqual(
      found.map(({ gateway, backlog }) => [gateway, backlog.messages]),
      [
        ['large', 10_000],
        ['small', 3],
      ],
    )
  }
  assert.deepEqual(counted, ['large', 'small', 'small'])
})
