import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { fakeClock } from '../fixtures/fake-clock.ts'
import { temporaryDir } from '../fixtures/folder.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const [HOUR, DAY] = [3_600_000, 86_400_000]
/** Limit for work to go on after a jump (ms): Trivium follows a jump only after 30 s. */
const JUMP_LIMIT = 90_000

const ROUTES = `
gateways:
  chat: { transport: websocket, path: /chat }
  hook: { transport: webhook, path: /hook, verify: { scheme: none }, text: data.body.text }
routes:
  - { name: flaky, match: { prefix: flaky }, skill: flaky, retry: { attempts: 1000, delay: 500ms, max-delay: 1s } }
  - { name: rest, match: { gateway: chat }, skill: echo }
`
const SKILLS = {
  flaky: `import { appendFileSync } from 'node:fs'
export default { description: 'fails', run() { appendFileSync('tries', 'x'); throw new Error('again') } }`,
  tick: `import { appendFileSync } from 'node:fs'
export default { description: 'ticks', run() { appendFileSync('ticks', 'x') } }`,
}

describe('a jump of the clock of Redis', { timeout: 300_000 }, async () => {
  const clock = fakeClock(temporaryDir({ after }))
  assert.ok(clock, 'a C compiler is needed: apt-get install gcc')
  const { set } = clock
  const redis = await startRedisServer({ env: clock.env })
  after(redis.stop)
  const site = openSite({ ownProcess: true, routes: ROUTES, skills: SKILLS, env: { REDIS_URL: redis.url } })
  let daemon = await site.start()
  const count = (name: string) => {
    try {
      return readFileSync(join(site.dir, name)).length
    } catch {
      return 0
    }
  }
  const more = (name: string) => {
    const before = count(name)
    // Two more, since the first may have been due already.
    return until(() => count(name) > before + 1, `more ${name}`, JUMP_LIMIT)
  }
  /** Resolves after further runs of the schedule and of the retried skill. */
  const continues = () => Promise.all([more('ticks'), more('tries')])
  const receive = async (lease?: number) =>
    Object(
      await daemon.invoke('gateway-receive', { gateway: 'hook', timeout: 20_000, ...(lease && { lease }) }),
    )

  test('does not stop schedules or retries, during and after it', async () => {
    await daemon.invoke('schedule-create', { skill: 'tick', every: '1s' })
    const { send } = await daemon.chat('/chat')
    send({ text: 'flaky' })
    await continues()
    for (const jump of [DAY, HOUR, -HOUR, -DAY]) {
      set(jump)
      await continues()
      set(0)
      await continues()
    }
    const { ask } = await daemon.chat('/chat')
    assert.equal(await ask('hello'), 'You said: hello')
  })

  test('does not prolong leases that began while the clock was ahead', async () => {
    set(DAY)
    await daemon.post('/hook', '{"text":"leased"}')
    assert.equal((await receive(3_000)).text, 'leased')
    const group = { topic: 'work', queue: 'workers' }
    await daemon.invoke('event-subscribe', group)
    await daemon.invoke('event-emit', { topic: 'work', data: 1 })
    const wait = () => daemon.invoke('event-wait', { ...group, ack: false, lease: 3_000, timeout: 20_000 })
    assert.equal(Object(await wait()).length, 1)
    set(0)
    const again = await until(async () => [await receive()].find(({ text }) => text), 'the message')
    assert.equal(again.text, 'leased')
    await until(async () => Object(await wait()).length === 1, 'the event')
  })

  test('does not delay the work of a daemon that died while the clock was ahead', async () => {
    set(DAY)
    await continues()
    await daemon.end('SIGKILL')
    set(0)
    daemon = await site.start()
    await continues()
  })
})

describe('a jump of the clock of a daemon on Redis', { timeout: 300_000 }, async () => {
  const clock = fakeClock(temporaryDir({ after }))
  assert.ok(clock, 'a C compiler is needed: apt-get install gcc')
  const { set, env } = clock
  const redis = await startRedisServer()
  after(redis.stop)
  const site = openSite({
    ownProcess: true,
    routes: ROUTES,
    skills: SKILLS,
    env: { REDIS_URL: redis.url, ...env },
  })
  const daemon = await site.start()
  const tries = () => readFileSync(join(site.dir, 'tries')).length
  const more = async () => {
    const before = tries()
    // Several, since the first may have been due already. Nothing else wakes the daemon meanwhile.
    await until(() => tries() > before + 3, 'more tries', JUMP_LIMIT)
  }

  test('does not delay retries that were scheduled during it', async () => {
    const { send } = await daemon.chat('/chat')
    send({ text: 'flaky' })
    await until(() => existsSync(join(site.dir, 'tries')), 'the first try')
    for (const jump of [DAY, -DAY]) {
      set(jump)
      await more()
      set(0)
      await more()
    }
  })
})
