import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { openSite, type Site } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const ASK = `export default { description: 'Asks whoever gets its ref, and waits.', async run(ctx) {
  const { ref } = await ctx.manager.invoke('callback-create', { timeout: 30000 })
  await ctx.manager.invoke('state-set', { key: ctx.args.key, value: ref, store: 'shared' })
  const invocation = await ctx.manager.invoke('callback-wait', { ref })
  await ctx.manager.invoke('callback-respond', { ref, id: invocation.id, result: { heard: invocation.args } })
  await ctx.manager.invoke('callback-release', { ref })
  return invocation.args
} }`
const REF = /^callback-[0-9a-f]{8}$/

describe('two daemons on one Redis', { timeout: 300_000 }, async () => {
  const redis = await startRedisServer()
  after(() => redis.stop())
  const makeSite = (ownProcess: boolean) =>
    openSite({
      ownProcess,
      routes: 'routes: []\n',
      skills: { ask: ASK },
      env: { REDIS_URL: redis.url },
    })
  const sites = [makeSite(true), makeSite(false)] as const
  const here = await sites[0].start()
  let there = await sites[1].start()

  /**
   * Starts `ask` on the first daemon. Resolves with the ref, read on the second, and the running
   * call.
   */
  const ask = async (key: string) => {
    const asking = here.invoke('ask', { key })
    const ref = await there.invoke('state-wait', { key, store: 'shared' })
    assert.match(String(ref), REF)
    return { ref: String(ref), asking }
  }

  test('a callback can be called like any skill: over HTTP, on another daemon, from the command line', async () => {
    const fromCli = async (ref: string) => {
      const ran = await sites[1]?.run([ref, '--args', '{"n":1}', '--json'])
      assert.equal(ran?.code, 0, String(ran?.err))
      return JSON.parse(ran?.out ?? '')
    }
    const ways: Record<string, (ref: string) => Promise<unknown>> = {
      here: (ref) => here.invoke(ref, { n: 1 }),
      there: (ref) => there.invoke(ref, { n: 1 }),
      cli: fromCli,
    }
    for (const [key, invoke] of Object.entries(ways)) {
      const { ref, asking } = await ask(key)
      assert.deepEqual(await invoke(ref), { heard: { n: 1 } })
      assert.deepEqual(await asking, { n: 1 })
      await assert.rejects(there.invoke(ref, {}), /callback_released/)
    }
    await assert.rejects(there.invoke('callback-00000000', {}), /callback_not_found/)
  })

  test('each has the complete transcript once, with the messages from while it was stopped', async () => {
    const [first, second] = sites
    assert.ok(first && second)
    const contents = async (site: Site) =>
      (await site.run(['history', '--channel', 'cli', '--json'])).out
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line).content)
    await first.run(['message', 'cli', 'recall milk'])
    await second.run(['message', 'cli', 'recall eggs'])
    await there.end()
    await first.run(['message', 'cli', 'recall tea'])
    there = await second.start()
    for (const site of [first, second])
      await until(async () => (await contents(site)).length >= 6, 'three questions and their answers')
    assert.deepEqual(await contents(first), await contents(second))
    assert.deepEqual((await contents(first)).filter((text) => text.startsWith('recall')).length, 3)
    const { time } = JSON.parse((await first.run(['history', '--limit', '1', '--json'])).out)
    const older = await first.run(['history', '--limit', '1', '--json', '--before', time])
    assert.ok(JSON.parse(older.out).time < time)
  })

  test('the caller of a callback gets callback_timeout if the daemon that waits for its calls is killed', async () => {
    const { ref } = Object(await here.invoke('callback-create', { timeout: 1500 }))
    const taking = here.invoke('callback-wait', { ref })
    const refused = assert.rejects(there.invoke(ref, { n: 1 }), /callback_timeout/)
    const { id } = Object(await taking)
    await here.end('SIGKILL')
    await refused
    assert.deepEqual(await there.invoke('callback-respond', { ref, id, result: 'late' }), { ok: false })
  })
})
