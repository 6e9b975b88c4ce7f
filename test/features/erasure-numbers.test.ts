import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { countedBefore } from '../../src/lib/counted-before.ts'
import { openSite } from '../fixtures/daemon.ts'

const ADA = 'ada@a.example'

describe('an erasure of another number of records than was counted', { timeout: 120_000 }, async () => {
  const site = openSite({
    routes: `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none }, from: data.body.email }
`,
  })
  const daemon = await site.start()
  const order = (order: number) => daemon.post('/shop', JSON.stringify({ email: ADA, order }))

  test('says what came since the count', async () => {
    await order(1)
    const { total } = Object(await daemon.invoke('person-count', { identity: ADA }))
    await order(2)
    const args = { identity: ADA, confirm: true, counted: total, wait: 60_000 }
    const { job } = Object(await daemon.invoke('person-erase', args))
    assert.equal(job.state, 'done')
    const { records, counted, since } = job.result
    assert.equal(counted, total)
    assert.ok(records > total)
    assert.ok(since.messages >= 1)
    const sum = Object.values(since).reduce((sum: number, many) => sum + Number(many), 0)
    assert.equal(total + sum, records)
    const { out } = await site.run(['job', 'show', job.id])
    assert.match(
      out,
      new RegExp(`${total} records? w(as|ere) counted; \\d+ more came until the erasure: .*\\+\\d+ messages`),
    )
  })

  test('says so also if only the number is known', () => {
    assert.equal(countedBefore({ records: 7 }), undefined)
    assert.equal(countedBefore({ records: 7, counted: 7, since: {} }), undefined)
    assert.equal(
      countedBefore({ records: 6, counted: 7, since: {} }),
      '7 records were counted; 1 fewer was left until the erasure.',
    )
    assert.equal(
      countedBefore({ records: 53, counted: 54, since: { 'messages that wait': -1 } }),
      '54 records were counted. 1 of them was work in progress, which the erasure ended first: 53 others were left.',
    )
    assert.equal(
      countedBefore({ records: 53, counted: 54, since: { 'messages that wait': -2, messages: 1 } }),
      '54 records were counted; 1 fewer was left until the erasure: −2 messages that wait, +1 messages.',
    )
  })
})
