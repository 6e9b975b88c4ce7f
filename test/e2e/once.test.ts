import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createSite, type Site } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  work: { transport: webhook, path: /hooks/work, verify: { scheme: none } }
routes:
  - name: work
    match: { gateway: work }
    skill: order
    retry: { attempts: 3, delay: 10ms }
`

/** Charges once, then hangs until it is let go, so that it can be killed after the call or, with `slow`, within it. */
const SKILLS = {
  order: `import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
export default { description: 'charges', async run({ message, once, signal }) {
  const { order, slow, fail } = message.data.body
  const paid = await once('charge:' + order, async () => {
    appendFileSync('charged', order + '\\n')
    while (slow && !existsSync('go')) await pause(10, undefined, { signal })
    return { receipt: 'r-' + order }
  })
  appendFileSync('paid', JSON.stringify(paid) + '\\n')
  if (fail && !existsSync('go')) throw new Error('after the charge')
  while (!existsSync('go')) await pause(10, undefined, { signal })
} }`,
}

const lines = (site: Site, name: string) =>
  existsSync(join(site.dir, name))
    ? readFileSync(join(site.dir, name), 'utf8').trim().split('\n').filter(Boolean)
    : []

async function makeSite(t: TestContext, kind: string): Promise<Site> {
  const redis = kind === 'redis' ? await startRedisServer() : undefined
  const site = createSite({ routes: ROUTES, skills: SKILLS, env: redis ? { REDIS_URL: redis.url } : {} })
  t.after(async () => {
    site.remove()
    await redis?.stop()
  })
  return site
}

for (const kind of ['embedded', 'redis']) {
  describe(`a call made with ctx.once, on ${kind}`, { timeout: 120_000 }, () => {
    test('is not repeated after a crash, and its result is there', async (t) => {
      const site = await makeSite(t, kind)
      const first = await site.start()
      await first.post('/hooks/work', JSON.stringify({ order: 'a' }))
      await until(() => lines(site, 'paid').length === 1, 'the charge')
      await first.end('SIGKILL')
      const second = await site.start()
      await until(() => lines(site, 'paid').length === 2, 'the skill to run again', 30_000)
      assert.deepEqual(lines(site, 'charged'), ['a'])
      assert.deepEqual(lines(site, 'paid'), ['{"receipt":"r-a"}', '{"receipt":"r-a"}'])
      site.write('go', '')
      await second.end()
    })

    test('is not repeated over the attempts of a failing skill', async (t) => {
      const site = await makeSite(t, kind)
      const daemon = await site.start()
      await daemon.post('/hooks/work', JSON.stringify({ order: 'b', fail: true }))
      await until(() => lines(site, 'paid').length === 3, 'three attempts')
      assert.deepEqual(lines(site, 'charged'), ['b'])
      await daemon.end()
    })

    test('that a crash cut off is unknown, is never repeated blindly, and goes on once a person has looked', async (t) => {
      const site = await makeSite(t, kind)
      const first = await site.start()
      const { body } = await first.post('/hooks/work', JSON.stringify({ order: 'c', slow: true }))
      const { id } = Object(body)
      await until(() => lines(site, 'charged').length === 1, 'the charge to begin')
      await first.end('SIGKILL')
      const second = await site.start()
      const letter = await until(
        () => second.invoke('dead-letter-show', { id }).catch(() => undefined),
        'the message to be held for a person',
        30_000,
      )
      assert.match(JSON.stringify(letter), /call_unknown/)
      assert.deepEqual(lines(site, 'charged'), ['c'])

      const [call] = Object(await second.invoke('call-list'))
      assert.deepEqual([call.key, call.state], ['order/charge:c', 'started'])
      await second.invoke('call-settle', { key: call.key, happened: true, result: { receipt: 'found' } })
      site.write('go', '')
      await second.invoke('dead-letter-retry', { id })
      await until(() => lines(site, 'paid').length === 1, 'the skill to go on')
      assert.deepEqual(lines(site, 'paid'), ['{"receipt":"found"}'])
      assert.deepEqual(lines(site, 'charged'), ['c'])
      assert.deepEqual(await second.invoke('call-list'), [])
      await second.end()
    })
  })
}
