import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways: { shop: { transport: webhook, path: /shop, verify: { scheme: none }, rate-limit: off } }
routes: [{ name: all, skill: work, retry: { attempts: 1 } }]
`
/** Fails while the file `open` is missing. */
const WORK = `import { appendFileSync, existsSync } from 'node:fs'
const fileAt = (name) => new URL('../../' + name, import.meta.url)
export default { description: 'works', run({ args }) {
  if (!existsSync(fileAt('open'))) throw new Error('the shop is closed, order ' + args.text)
  appendFileSync(fileAt('done'), args.text + '\\n')
} }`
const MANY = 600

for (const kind of ['embedded', 'redis'] as const) {
  describe(`groups and bulk work on the ${kind} store`, { timeout: 300_000 }, async () => {
    const redis = kind === 'redis' ? await startRedisServer() : undefined
    if (redis) after(() => redis.stop())
    const site = openSite({
      routes: ROUTES,
      ownProcess: 'first',
      skills: { work: WORK },
      env: { TRIVIUM_LOG_LEVEL: 'fatal', ...(redis ? { REDIS_URL: redis.url } : {}) },
    })
    site.write('done', '')
    let daemon = await site.start()
    const group = async () => {
      const groups = [await daemon.invoke('event-groups', { topic: 'orders' })]
        .flat()
        .map((each) => Object(each))
      return groups.find((each) => each.group === 'audit')
    }

    test('a group has its lag in events and time, its rate, and its readers', async () => {
      await daemon.invoke('event-subscribe', { topic: 'orders', queue: 'audit' })
      const before = Date.now()
      for (const data of [1, 2, 3]) await daemon.invoke('event-emit', { topic: 'orders', data })
      const behind = await group()
      assert.partialDeepStrictEqual(behind, { lag: 3, pending: 0, perMinute: 0, waiting: 0, readers: [] })
      assert.ok(Math.abs(behind.oldestAt - before) < 60_000)
      await daemon.invoke('event-wait', { topic: 'orders', queue: 'audit', ack: false, timeout: 0 })
      await daemon.invoke('event-wait', { topic: 'orders', queue: 'audit', max: 2, timeout: 0 })
      const read = await group()
      // Two events in five minutes.
      assert.partialDeepStrictEqual(read, { lag: 1, perMinute: 0.4 })
      assert.partialDeepStrictEqual(read.readers, [{ events: 2 }])
      assert.ok(read.oldestAt >= behind.oldestAt)
      assert.match(read.readers[0].name, /^http /)
      assert.match((await site.run(['event-groups'])).out, /orders\s+audit\s+reading\s+1\s/)
    })

    test('a bulk retry of dead letters survives a kill, and runs every message', async () => {
      const orders = Array.from({ length: MANY }, (_, index) => index)
      for (let start = 0; start < MANY; start += 50)
        await Promise.all(
          orders
            .slice(start, start + 50)
            .map((n) => daemon.post('/shop', String(n), { 'content-type': 'text/plain' })),
        )
      const dead = async () => {
        const groups = [await daemon.invoke('dead-letter-groups')].flat()
        return groups.reduce((sum: number, one) => sum + Number(Object(one).count), 0)
      }
      await until(async () => (await dead()) === MANY, 'all dead letters', 120_000)
      site.write('open', '')
      const { job } = Object(await daemon.invoke('dead-letter-bulk', { do: 'retry', code: 'skill_failed' }))
      assert.partialDeepStrictEqual(job, { kind: 'dead-letters', state: 'running', total: MANY })
      await daemon.end('SIGKILL')
      daemon = await site.start()
      const ended = await until(
        async () => {
          const shown = Object(await daemon.invoke('job-show', { id: job.id }))
          return shown.state === 'running' ? undefined : shown
        },
        'the end of the job',
        120_000,
      )
      assert.partialDeepStrictEqual(ended, { state: 'done', done: MANY })
      const done = () => readFileSync(join(site.dir, 'done'), 'utf8').trim().split('\n')
      await until(() => new Set(done()).size >= MANY, 'all messages', 120_000)
      // A message that ran at the kill may run twice.
      assert.deepEqual(
        [...new Set(done())].map(Number).toSorted((a, b) => a - b),
        orders,
      )
      assert.equal(await dead(), 0)
    })

    test('a bulk drop applies only to matching dead letters', async () => {
      rmSync(join(site.dir, 'open'))
      for (const text of ['keep', 'remove', 'remove'])
        await daemon.post('/shop', text, { 'content-type': 'text/plain' })
      const errors = async () => {
        const letters = [await daemon.invoke('dead-letter-list', {})].flat()
        return letters.map((letter) => JSON.stringify(letter))
      }
      await until(async () => (await errors()).length === 3, 'three dead letters')
      const { job } = Object(await daemon.invoke('dead-letter-bulk', { do: 'drop', error: 'order remove' }))
      const ended = await until(async () => {
        const found = Object(await daemon.invoke('job-show', { id: job.id }))
        return found.state === 'running' ? undefined : found
      }, 'the end of the job')
      assert.partialDeepStrictEqual(ended, { state: 'done', result: { count: 2 }, target: { do: 'drop' } })
      const left = await errors()
      assert.equal(left.length, 1)
      assert.match(String(left[0]), /order keep/)
      assert.match((await site.run(['job', 'list'])).out, /dead-letters-/)
    })

    test('a bulk retry keeps the outcome of each of its messages when a later one retries it again', async () => {
      const retry = async () =>
        Object(await daemon.invoke('dead-letter-bulk', { do: 'retry', group: 'all' })).job.id
      const retryOf = async (job: string) =>
        Object([await daemon.invoke('dead-letter-retries', { job })].flat()[0])
      const whenAll = (job: string, outcome: string) =>
        until(async () => {
          const found = await retryOf(job)
          return found.state === 'done' && found.outcomes[outcome] === 1 ? found : undefined
        }, `the message is ${outcome}`)
      const failed = await whenAll(await retry(), 'dead')
      assert.partialDeepStrictEqual(failed, { retried: 1, target: { do: 'retry', group: 'all' } })
      site.write('open', '')
      const done = await whenAll(await retry(), 'done')
      assert.partialDeepStrictEqual(done, { retried: 1, messages: [{ text: 'keep', outcome: 'done' }] })
      const kept = {
        outcomes: { dead: 1 },
        later: [{ do: 'retry', job: done.job, count: 1 }],
        messages: [{ text: 'keep', outcome: 'dead', later: { do: 'retry', job: done.job } }],
      }
      assert.partialDeepStrictEqual(await retryOf(failed.job), kept)
      const { out } = await site.run(['job', 'show', failed.job])
      assert.match(out, /^result +1 dead letter retried: 1 failed again$/m)
      const [, later = ''] = /^since +1 done in job ([0-9a-f]{8})$/m.exec(out) ?? []
      assert.ok(later !== '' && done.job.includes(later), out)
      assert.doesNotMatch(out, /dead-letter list/)
      const listed = await daemon.invoke('dead-letter-retries', { group: 'all', since: '1h', limit: 2 })
      assert.deepEqual(
        [listed].flat().map((one) => Object(one).job),
        [done.job, failed.job],
      )
      const cli = (...args: string[]) => site.run(['dead-letter', 'retries', ...args])
      assert.match((await cli()).out, /all\s+1\s+1 done/)
      assert.match((await cli('--job', done.job)).out, /done\s+keep/)
      assert.deepEqual([await daemon.invoke('dead-letter-retries', { queue: 'outbox' })].flat(), [])
    })
  })
}
