import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { objectsIn } from '../../src/core/json.ts'
import { type DaemonProcess, openSite } from '../fixtures/daemon.ts'
import { startOpenAiServer } from '../fixtures/openai-server.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const HELPER = `---
name: helper
description: Helps.
allowed-tools: echo
---
Answer :arg[text]
`
const PLAIN = HELPER.replace('name: helper', 'name: plain\nmodel: openai-compatible:free')
const FLAKY = `export default {
  description: 'fails now and then',
  run({ args }) { if (/bad/.test(args.text)) throw new Error('no such order'); return 'fine' },
}`
const CALLS = `export default {
  description: 'calls another',
  run: ({ manager }) => manager.invoke('flaky', { text: 'good' }),
}`

const routes = (url: string) => `
gateways:
  chat: { transport: websocket, path: /ws, tokens: { ada: "a-token-of-ada-lovelace" } }
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
model:
  name: "openai-compatible:tiny"
  base-url: "${url}"
  api-key: "test-key-123456"
  budget: { total: 20 EUR/30d }
  prices: { "*:tiny": { input: 3, output: 15 } }
routes:
  - { name: orders, match: { gateway: shop }, skill: flaky, retry: { attempts: 1 } }
  - { name: chat, match: { gateway: chat }, skill: helper }
`

const post = (daemon: DaemonProcess, text: string) =>
  daemon.post('/shop', text, { 'content-type': 'text/plain' })

for (const kind of ['embedded', 'redis'] as const) {
  describe(`costs of models and usage of skills, on the ${kind} store`, { timeout: 300_000 }, async () => {
    const usage = { input: 1_000, output: 200 }
    const model = await startOpenAiServer(Array.from({ length: 60 }, () => () => ({ text: 'Four.', usage })))
    after(() => model.close())
    const redis = kind === 'redis' ? await startRedisServer() : undefined
    if (redis) after(() => redis.stop())
    const site = openSite({
      routes: routes(model.url),
      skills: { flaky: FLAKY, calls: CALLS },
      env: { TRIVIUM_LOG_LEVEL: 'error', ...(redis ? { REDIS_URL: redis.url } : {}) },
    })
    site.write('skills/helper/SKILL.md', HELPER)
    site.write('skills/plain/SKILL.md', PLAIN)
    let daemon = await site.spawn()
    const cost = async (args: object = {}) => Object(await daemon.invoke('cost', args))

    test('each step of a model counts once for its model, skill, sender and day, over kills and with several daemons', async () => {
      const chat = await daemon.chat('/ws?token=a-token-of-ada-lovelace')
      assert.equal(await chat.ask('two and two?'), 'Four.')
      await daemon.invoke('helper', { text: 'again' })
      await daemon.invoke('plain', { text: 'free' })
      // The cost of a call is stored before the call is answered.
      await daemon.end('SIGKILL')
      daemon = await site.start()
      const other = redis && (await site.start({ TRIVIUM_DATA_DIR: '.other' }))
      await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          (at % 2 && other ? other : daemon).invoke('helper', { text: 'x' }),
        ),
      )
      await other?.end()

      const byModel = await cost()
      const tiny = {
        name: 'openai-compatible:tiny',
        inputTokens: 22_000,
        outputTokens: 4_400,
        steps: 22,
        money: 0.132,
      }
      const free = {
        name: 'openai-compatible:free',
        inputTokens: 1_000,
        outputTokens: 200,
        steps: 1,
        unpriced: 1_200,
      }
      assert.deepEqual(byModel.rows, [tiny, free])
      assert.deepEqual(byModel.total, {
        name: 'total',
        inputTokens: 23_000,
        outputTokens: 4_600,
        steps: 23,
        money: 0.132,
        unpriced: 1_200,
      })
      assert.equal(byModel.currency, 'EUR')
      const names = async (by: string) =>
        (await cost({ by })).rows.map(({ name, steps }: Row) => `${name} ${steps}`)
      assert.deepEqual(await names('skill'), ['helper 22', 'plain 1'])
      const senders: string[] = await names('sender')
      assert.ok(senders.includes('chat:ada 1'), senders.join())
      assert.deepEqual(await names('day'), [`${byModel.to} 23`])
      assert.deepEqual((await cost({ by: 'sender', skill: 'plain' })).rows.length, 1)
      assert.equal(byModel.budgets[0].used, 0.132)
      assert.deepEqual((await cost({ since: '2020-01-01', until: '2020-01-05' })).rows, [])
    })

    test('costs are a table on the command line with models without prices, and a metric', async () => {
      const { out } = await site.run(['cost', '--by', 'model', '--since', '7d'])
      assert.match(out, /openai-compatible:tiny\s+22,000\s+4,400\s+22\s+0\.13 EUR/)
      assert.match(out, /openai-compatible:free\s+1,000\s+200\s+1\s+no price/)
      assert.match(out, /Tokens without a price are not in the cost/)
      const json = JSON.parse((await site.run(['cost', '--by', 'skill', '--since', '7d', '--json'])).out)
      assert.equal(json.rows[0].name, 'helper')
      assert.match((await site.run(['cost', '--by', 'colour'])).err, /by/)
      const split = ['cost', '--by', 'gateway', '--split', 'skill']
      assert.match((await site.run(split)).out, /gateway\s+helper\s+plain\s+cost\n.*\n?chat\s+0\.006\s/)
      const csv = (await site.run([...split, '--csv'])).out.trimEnd().split('\r\n')
      assert.equal(csv[0], 'gateway,skill,inputTokens,outputTokens,steps,money,unpriced,currency')
      assert.ok(csv.includes('chat,helper,1000,200,1,0.006,,EUR'), csv.join('|'))
      assert.equal(csv.length, 4)
      const metrics = await fetch(`${daemon.control}/metrics`, {
        headers: { authorization: `Bearer ${daemon.token}` },
      })
      assert.match(await metrics.text(), /trivium_model_cost_total\{model="openai-compatible:tiny"\} 0\.\d+/)
    })

    test('runs, errors, durations and callers of a skill are counted, also after a restart', async () => {
      await post(daemon, 'good')
      await post(daemon, 'bad')
      await daemon.invoke('calls')
      // A skill of the daemon, which is not counted.
      await daemon.invoke('handover-click')
      const seen = await until(async () => {
        const found = Object(await daemon.invoke('skill-usage', { name: 'flaky' }))
        return found.runs === 3 ? found : undefined
      }, 'three runs')
      assert.partialDeepStrictEqual(seen, { name: 'flaky', failed: 1, errorRate: 0.3333 })
      assert.deepEqual(
        seen.callers.map(({ by, runs }: Caller) => `${by} ${runs}`),
        ['route orders 2', 'skill calls 1'],
      )
      assert.ok(seen.p95 >= 0)
      const inSlots = (of: 'runs' | 'failed') =>
        seen.slots.reduce((sum: number, slot: Record<'runs' | 'failed', number>) => sum + slot[of], 0)
      assert.deepEqual([inSlots('runs'), inSlots('failed')], [3, 1])
      const failed = seen.recent.find(({ code }: { code?: string }) => code !== undefined)
      assert.partialDeepStrictEqual(failed, {
        code: 'skill_failed',
        error: 'no such order',
        by: 'route orders',
      })
      assert.equal(typeof failed.messageId, 'string')
      await daemon.end()
      daemon = await site.start()
      assert.equal(Object(await daemon.invoke('skill-usage', { name: 'flaky' })).runs, 3)
      const all = (await site.run(['skill', 'usage'])).out
      assert.match(all, /flaky\t3\t1\t/)
      assert.doesNotMatch(all, /handover-click/)
      assert.match(
        (await site.run(['skill', 'usage', '--name', 'flaky'])).out,
        /Called by: route orders \(2\), skill calls \(1\)/,
      )
      await assert.rejects(daemon.invoke('skill-usage', { name: 'flakey' }), /skill_not_found.*flaky/)
    })

    test('a range within the last day is exact to five minutes, also after a restart', async () => {
      const recent = await cost({ since: '15m' })
      assert.equal(recent.total.steps, 23)
      assert.match(recent.from, /T\d\d:\d[05]Z$/)
      assert.deepEqual((await cost({ since: '3h', until: '2h' })).rows, [])
      const usage = async (args: object) => Object(await daemon.invoke('skill-usage', args))
      assert.equal((await usage({ name: 'flaky', since: '1h' })).runs, 3)
      const before = await usage({ name: 'flaky', since: '3h', until: '2h' })
      assert.deepEqual([before.runs, before.recent, before.callers], [0, [], []])
      // Skills that only ran at another time are listed too, with their last run.
      const others = objectsIn(await daemon.invoke('skill-usage', { since: '3h', until: '2h' }))
      assert.ok(others.every(({ runs, lastAt }) => runs === 0 && Number(lastAt) > 0))
      const names = (await usage({ since: '15m' })).map(({ name }: { name: string }) => name)
      assert.ok(names.includes('flaky') && names.includes('helper'), names.join())
    })
  })
}

type Row = { name: string; steps: number }
type Caller = { by: string; runs: number }
