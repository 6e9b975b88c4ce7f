import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Redis } from 'ioredis'
import { type DaemonProcess, openSite, type Site } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const ALICE = 'alice@example.com'

/** The files of a data directory that name the person. */
function filesAbout({ dir }: Site): string[] {
  const root = join(dir, '.trivium')
  return readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => {
    const path = join(root, file)
    return statSync(path, { throwIfNoEntry: false })?.isFile() && readFileSync(path).includes(ALICE)
  })
}

test('an erasure waits for running daemons, and the others erase at their next start', {
  timeout: 300_000,
}, async () => {
  const redis = await startRedisServer()
  after(() => redis.stop())
  const routes = 'gateways: { desk: { transport: websocket, path: /desk } }\nroutes: []\n'
  const make = () => openSite({ ownProcess: true, routes, env: { REDIS_URL: redis.url } })
  const sites = [make(), make(), make(), make()] as const
  const [first, running, stopped, killed] = await Promise.all(sites.map((site) => site.start()))
  const key = `last/${ALICE}`
  const write = (daemon?: DaemonProcess) => daemon?.invoke('state-set', { key, value: 'seen', store: 'file' })
  for (const daemon of [first, running, stopped, killed]) await write(daemon)
  for (const site of sites) assert.notDeepEqual(filesAbout(site), [])
  assert.equal(await stopped?.end(), 0)
  await killed?.end('SIGKILL')

  const identity = `*:${ALICE}`
  const { job: begun } = Object(await first?.invoke('person-erase', { identity, confirm: true }))
  const ended = async () => {
    const found = Object(await first?.invoke('job-show', { id: begun.id }).catch(() => undefined))
    return found.state === undefined || found.state === 'running' ? undefined : found
  }
  const job = await until(ended, 'the end of the job', 200_000)
  assert.equal(job.state, 'done', JSON.stringify(job))
  assert.equal(job.result.later.length, 2, JSON.stringify(job.result))
  for (const { host, lastSeen } of job.result.later) {
    assert.notEqual(host, 'unknown')
    assert.ok(lastSeen > 0)
  }
  const shown = await sites[0].run(['job', 'show', job.id])
  assert.equal(shown.out.match(/is erased when its daemon runs again/g)?.length, 2, shown.out)
  for (const site of sites.slice(0, 2)) assert.deepEqual(filesAbout(site), [])
  for (const site of sites.slice(2)) assert.notDeepEqual(filesAbout(site), [])

  const client = new Redis(redis.url)
  after(() => client.disconnect())
  const named = async () => {
    const keys = await client.keys('*')
    return keys.filter((key) => /person-erase-(dir|later|subject):/.test(key)).length
  }
  assert.ok((await named()) > 0)
  for (const site of sites.slice(2)) {
    await site.start()
    await until(() => filesAbout(site).length === 0, 'the data directory to be erased')
  }
  await until(async () => (await named()) === 0, 'the removal of the name')
})
