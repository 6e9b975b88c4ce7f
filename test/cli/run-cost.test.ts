import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { objectsIn, pathGet } from '../../src/core/json.ts'
import { openSite } from '../fixtures/daemon.ts'
import { startOpenAiServer } from '../fixtures/openai-server.ts'
import { until } from '../fixtures/until.ts'

const USAGE = { input: 1_000, output: 300 }
/** What a step costs by the prices below. */
const STEP = 0.0075
const HELPER = `---
name: helper
description: Answers questions about orders.
allowed-tools: pay-back
---
Answer.
`
const PAY_BACK = `export default {
  description: 'Pays back', metadata: { approval: { title: 'Pay back' } }, run: () => 'paid',
}`

describe('the cost of a run', { timeout: 300_000 }, async () => {
  const answers = Array.from({ length: 12 }, () => ({ messages }: { messages: { role: string }[] }) => {
    const isPaid = messages.some(({ role }) => role === 'tool')
    return isPaid
      ? { text: 'It is paid back.', usage: USAGE }
      : { calls: [{ name: 'pay-back', args: {} }], usage: USAGE }
  })
  const model = await startOpenAiServer(answers)
  after(() => model.close())
  const site = openSite({
    routes: `
gateways: { shop: { transport: webhook, path: /shop, verify: { scheme: none } } }
model:
  name: "openai-compatible:tiny"
  base-url: "${model.url}"
  api-key: "test-key-123456"
  currency: EUR
  prices: { "*:tiny": { input: 3, output: 15 } }
routes:
  - { name: orders, match: { gateway: shop }, skill: helper, reply: none }
`,
    skills: { 'pay-back': PAY_BACK },
  })
  site.write('skills/helper/SKILL.md', HELPER)
  let daemon = await site.start()
  const usage = async () => Object(await daemon.invoke('skill-usage', { name: 'helper' }))

  test('is that of all its steps, before and after an approval, and none of runs that still wait', async () => {
    for (const text of ['one', 'two', 'three'])
      await daemon.post('/shop', text, { 'content-type': 'text/plain' })
    const pending = async () => objectsIn(await daemon.invoke('approval-list', { status: 'pending' }))
    await until(async () => (await pending()).length === 3, 'three requests')
    assert.deepEqual([(await usage()).runs, (await usage()).runCost], [0, undefined])
    // Another process resumes the run.
    await daemon.end()
    daemon = await site.start()
    const [first] = await pending()
    await daemon.invoke('approval-decide', { id: first?.id, approve: true })
    await until(async () => (await usage()).runs === 1, 'the end of one run')
    const { cost, runCost, recent } = await usage()
    assert.deepEqual([cost.money, cost.steps], [4 * STEP, 4])
    assert.deepEqual(runCost, { runs: 1, inputTokens: 2_000, outputTokens: 600, money: 2 * STEP })
    assert.equal(recent[0].cost.money, 2 * STEP)
    const table = await site.run(['cost', '--by', 'skill', '--since', '1h'])
    assert.match(table.out, /^helper +4,000 +1,200 +4 +0\.03 EUR +1 +0\.015 EUR$/m)
    assert.match(table.out, /a run that waits for an approval counts when it has ended/)
    const list = await site.run(['skill', 'usage', 'helper'])
    assert.match(list.out, /^ended\toutcome\ttook\tcost\tcalled by/m)
    assert.match(list.out, /\tdone\t[^\t]+\t0\.015 EUR\troute orders\t/)
    const rows = objectsIn(pathGet(await daemon.invoke('cost', { by: 'skill' }), 'rows'))
    assert.equal(pathGet(rows[0]?.runCost, 'money'), 2 * STEP)
  })
})
