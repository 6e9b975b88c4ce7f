import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { createSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { startQueueWorker } from '../fixtures/queue-worker.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { startRoads } from '../fixtures/roads.ts'
import { until } from '../fixtures/until.ts'
import { judge, type Sample } from './flatness.ts'
import { createLedger } from './ledger.ts'
import { folderSample, processSample, redisSample } from './samples.ts'
import { answered, type Counts, READERS, runTraffic } from './traffic.ts'

const MINUTE = 60_000
/**
 * Duration of each test: `SOAK_MINUTES=… npm run test:soak`. Retention removes messages older than
 * a tenth of it.
 */
const minutes = Number(process.env.SOAK_MINUTES ?? 60)
const SAMPLES = 60
const SECRET = `whsec_${Buffer.from('a secret of 24 bytes and more').toString('base64')}`

/**
 * How far each number may rise: by the share or by the amount, whichever is more. `stored` and
 * `redis` are in MB. Keys that are kept for days take a few hundred bytes per message, and BullMQ
 * keeps some finished jobs and 10,000 events of a queue.
 */
const ALLOWED = {
  rss: { share: 0.1 },
  handles: { amount: 5 },
  threads: { amount: 1 },
  files: { amount: 3 },
  stored: { share: 0.1, amount: 4 },
  redis: { share: 0.1, amount: 8 },
  keys: { share: 0.1, amount: 50 },
}

const TICK = `import { appendFileSync } from 'node:fs'
export default { description: 'ticks', run() { appendFileSync('ticks', '.') } }`

/** As echo, and writes the id of each message to a file. */
const RECORD = `import { appendFileSync } from 'node:fs'
export default { description: 'records', run({ message }) {
  appendFileSync('ran.jsonl', message.id + '\\n')
  return 'You said: ' + message.text.trim()
} }`

async function startSite(t: TestContext, store: 'embedded' | 'redis') {
  const servers = await startRoads()
  t.after(() => servers.close())
  const redis = await startRedisServer({ appendfsync: 'everysec' })
  t.after(() => redis.stop())
  const worker = await startQueueWorker(redis.url, 'invoices')
  t.after(() => worker.kill())
  const counts: Counts = {}
  const ledger = createLedger()
  const receiver = await serveHttp(async (request, response) => {
    await request.toArray()
    ledger.had('push', String(request.headers['webhook-id']))
    counts.pushed = (counts.pushed ?? 0) + 1
    response.writeHead(200).end()
  })
  t.after(() => receiver.close())
  const site = createSite({
    ownProcess: 'measured',
    skills: { tick: TICK, record: RECORD },
    env: store === 'redis' ? { REDIS_URL: redis.url } : {},
    routes: `
daemon: { retention: { max-age: ${Math.ceil(minutes * 6)}s, max-count: 100000 } }
gateways:${servers.gateways}
  orders: { transport: webhook, path: /orders, verify: { scheme: none }, key: data.body.id, conversation: data.body.room }
queues: { redis: "${redis.url}" }
subscriptions:
  - { name: crm, match: { gateway: orders }, url: "${receiver.url}/hook", secret: "${SECRET}", allow-private: true }
routes:
  - { name: queue, match: { gateway: orders, data.body.kind: queue }, queue: invoices }
  - { name: rest, skill: record }
`,
  })
  t.after(() => site.remove())
  return { site, servers, redis, worker, counts, ledger }
}

describe('everything switched on', { concurrency: true, timeout: (minutes + 20) * MINUTE }, () => {
  for (const store of ['embedded', 'redis'] as const) {
    test(`leaves memory and files flat for ${minutes} minutes on ${store}`, async (t) => {
      const { site, servers, redis, worker, counts, ledger } = await startSite(t, store)
      const answers = createLedger()
      const daemon = await site.start()
      await daemon.invoke('schedule-create', { skill: 'tick', every: '2s' })
      const stop = new AbortController()
      const traffic = runTraffic({ daemon, servers, signal: stop.signal, counts, ledger, answers })
      traffic.catch(() => {})
      const samples: Sample[] = []
      for (let sample = 0; sample < SAMPLES; sample++) {
        await Promise.race([pause((minutes * MINUTE) / SAMPLES), traffic])
        const { pid } = daemon
        const { sample: ofRedis, kinds } = await redisSample(redis.url)
        const numbers = { ...processSample(pid), ...folderSample(site.dir), ...ofRedis }
        samples.push(numbers)
        console.log(`${store}, ${sample + 1} of ${SAMPLES}: ${JSON.stringify(numbers)}`)
        if (sample % 5 === 4) console.log(`${store}, keys: ${JSON.stringify(kinds)}`)
      }
      stop.abort()
      await traffic
      // BullMQ repeats jobs of a stalled worker.
      const jobs = worker.begun()
      counts.repeated = jobs.length - new Set(jobs).size
      const file = join(site.dir, 'ran.jsonl')
      const ran = () => [...linesOf(file), ...new Set(worker.begun())]
      await until(() => ledger.isCoveredBy(ran()), 'runs of all orders', 2 * MINUTE).catch(() => {})
      for (const id of ran()) ledger.had('skill', id)
      for (const id of await answered(servers)) answers.had('answer', id)
      const misses = [...ledger.misses(READERS), ...answers.misses(['answer'])]
      console.log(
        `${store}: ${ledger.promised()} orders, ${answers.promised()} questions, misses ${JSON.stringify(misses)}`,
      )
      counts.ticks = readFileSync(join(site.dir, 'ticks')).length
      const verdicts = judge(samples, ALLOWED)
      console.log(`${store}: ${JSON.stringify(counts)}`)
      for (const verdict of verdicts) console.log(`${store}: ${JSON.stringify(verdict)}`)
      assert.equal(await daemon.end(), 0)
      assert.deepEqual(misses, [])
      assert.deepEqual(
        verdicts.filter(({ isFlat }) => !isFlat),
        [],
      )
    })
  }
})

function linesOf(file: string): string[] {
  return readFileSync(file, 'utf8').trimEnd().split('\n')
}
