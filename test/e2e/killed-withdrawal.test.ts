import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { objectsIn } from '../../src/core/json.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
routes:
  - { name: orders, skill: fails, retry: { attempts: 1 }, reply: none }
`
const FAILS = `export default { description: 'fails', run() { throw new Error('no stock') } }`
/** Enough for several steps of the withdrawal. */
const MANY = 350

describe('a daemon that is killed while it withdraws a retry', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { fails: FAILS }, ownProcess: true })

  test('goes on after its start: each message is a dead letter again, as before', async () => {
    const first = await site.start()
    const texts = Array.from({ length: MANY }, (_, at) => JSON.stringify({ text: `order ${at}` }))
    for (const text of texts) await first.post('/shop', text)
    const count = async (daemon: typeof first) => {
      const groups = objectsIn(await daemon.invoke('dead-letter-groups', {}))
      return groups.reduce((sum, group) => sum + Number(group.count), 0)
    }
    await until(async () => (await count(first)) === MANY, 'the dead letters')
    const before = await first.invoke('dead-letter-list', { limit: MANY })
    await first.invoke('skill-pause', { skill: 'fails' })
    const { job } = Object(await first.invoke('dead-letter-bulk', { do: 'retry', group: 'orders' }))
    const shown = async (daemon: typeof first) => Object(await daemon.invoke('job-show', { id: job.id }))
    await until(async () => (await shown(first)).outcomes?.waiting === MANY, 'the retried messages')

    // It no longer answers.
    first.invoke('job-cancel', { id: job.id }).catch(() => undefined)
    await until(async () => (await count(first)) > 0, 'the first letters again')
    await first.end('SIGKILL')

    const second = await site.start()
    await until(async () => {
      const { state, withdrawing } = await shown(second)
      return state === 'cancelled' && !withdrawing
    }, 'the end of the withdrawal')
    const { result, outcomes, cancelled } = await shown(second)
    assert.deepEqual([result.withdrawn, outcomes], [MANY, { withdrawn: MANY }])
    assert.equal(typeof cancelled.at, 'number')
    assert.deepEqual(await second.invoke('dead-letter-list', { limit: MANY }), before)
    assert.equal(
      objectsIn(await second.invoke('dead-letter-list', { job: job.id, limit: MANY })).length,
      MANY,
    )
  })
})
