import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { readConfig } from '../../src/config/load-config.ts'
import { needRestart } from '../../src/features/live/reload-checks.ts'
import { transports } from '../../transports/registry.ts'
import { writeConfig } from '../config/given.ts'

const HERE = 'queues: { redis: "redis://127.0.0.1:6379" }\n'
const THERE = 'queues: { redis: "redis://127.0.0.1:6380" }\n'
const ROUTE = 'routes: [{ name: jobs, queue: jobs }]\n'
const GATEWAY = 'gateways: { jobs: { transport: bullmq, queue: jobs } }\n'
const ECHO = 'routes: [{ name: rest, skill: echo }]\n'

/**
 * Which of `queues` and `listen` need a restart after a change of the file, while the queues of
 * `open` are connected.
 */
async function restarts(t: TestContext, before: string, after: string, open: string[] = []) {
  const [old, next] = await Promise.all(
    [before, after].map(async (file) => {
      const { config, problems } = await readConfig({ env: {}, cwd: await writeConfig(t, file), transports })
      assert.ok(config, JSON.stringify(problems))
      return config
    }),
  )
  assert.ok(old && next)
  // Each file has a data directory of its own here.
  return needRestart(old, { ...next, daemon: { ...next.daemon, dataDir: old.daemon.dataDir } }, open).filter(
    (name) => name === 'queues' || name === 'listen',
  )
}

test('`queues` takes effect at a reload if none of its connections is open', async (t) => {
  assert.deepEqual(await restarts(t, ECHO, HERE + ROUTE), [], 'the first queue')
  assert.deepEqual(await restarts(t, HERE + ECHO, THERE + ROUTE), [], 'it was set and not used')
  assert.deepEqual(await restarts(t, HERE + ROUTE, THERE + ECHO, ['jobs']), [], 'no route uses it any more')
  assert.deepEqual(await restarts(t, HERE + ECHO, THERE + GATEWAY + ECHO), [], 'a new gateway connects there')
  const own = GATEWAY.replace('queue: jobs', 'queue: jobs, redis: "redis://127.0.0.1:6381"')
  assert.deepEqual(
    await restarts(t, HERE + own + ECHO, THERE + own + ECHO),
    [],
    'the gateway has its own Redis',
  )
})

test('`queues` takes effect at the next start if a connection stays open', async (t) => {
  assert.deepEqual(await restarts(t, HERE + ROUTE, THERE + ROUTE, ['jobs']), ['queues'])
  assert.deepEqual(await restarts(t, HERE + GATEWAY + ECHO, THERE + GATEWAY + ECHO), ['queues'])
  const prefix = HERE.replace(' }', ', prefix: mine }')
  assert.deepEqual(await restarts(t, HERE + ROUTE, prefix + ROUTE, ['jobs']), ['queues'])
  const listen = 'daemon: { listen: 127.0.0.1:9999 }\n'
  assert.deepEqual(await restarts(t, HERE + ROUTE, HERE + ROUTE + listen, ['jobs']), ['listen'])
})
