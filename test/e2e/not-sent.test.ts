import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
  ask: { transport: webhook, path: /ask, verify: { scheme: none }, respond: result }
routes:
  - { name: quiet, match: { text: "*quiet*" }, skill: echo, reply: none }
  - { name: notes, match: { text: "*note*" }, skill: note }
  - { name: broken, match: { text: "*break*" }, skill: fail, retry: { attempts: 1 } }
  - { name: rest, skill: echo }
`
const SKILLS = {
  note: `export default { description: 'notes', run: () => undefined }`,
  fail: `export default { description: 'fails', run() { throw new Error('no') } }`,
}

for (const kind of ['embedded', 'redis'] as const) {
  describe(`lists of messages, on the ${kind} store`, { timeout: 300_000 }, async () => {
    const redis = kind === 'redis' ? await startRedisServer() : undefined
    if (redis) after(() => redis.stop())
    const site = openSite({ routes: ROUTES, skills: SKILLS, env: redis ? { REDIS_URL: redis.url } : {} })
    const daemon = await site.start()
    const search = async (args: object) => Object(await daemon.invoke('message-search', args)).messages
    const settled = async (text: string) => {
      const [found] = await search({ text, limit: 1 })
      return /^(done|dead)$/.test(found?.outcome) && found
    }
    const send = async (path: string, text: string) => {
      await daemon.post(path, JSON.stringify({ text }))
      return until(() => settled(text), text)
    }
    const lastAttempt = async (id: string) =>
      Object(await daemon.invoke('message-attempts', { ids: [id] }))[0]

    test('a message whose reply has no recipient is done, with the reason why it was not sent', async () => {
      const unsent = await send('/shop', 'hello')
      const quiet = await send('/shop', 'quiet please')
      const noted = await send('/shop', 'note this')
      const answered = await send('/ask', 'hello again')
      for (const { outcome } of [unsent, quiet, noted, answered]) assert.equal(outcome, 'done')
      assert.match((await lastAttempt(unsent.id)).unsent, /respond: result/)
      for (const { id } of [quiet, noted, answered]) assert.equal((await lastAttempt(id)).unsent, undefined)
    })

    test('a list has the route, duration and error of each message, and the time of a retry', async () => {
      const quiet = await send('/shop', 'quiet again')
      const { route, attempt, ms, error } = await lastAttempt(quiet.id)
      assert.deepEqual([route, attempt, error], ['quiet', 1, undefined])
      assert.ok(ms >= 0)
      const dead = await send('/shop', 'break it')
      assert.match((await lastAttempt(dead.id)).error, /no/)
      assert.equal((await lastAttempt(dead.id)).outcome, 'dead')
      const [before] = Object(await daemon.invoke('dead-letter-list', {}))
      assert.equal(before.retriedAt, undefined)
      await daemon.invoke('dead-letter-retry', { id: dead.id })
      const [again] = await until(async () => {
        const letters = Object(await daemon.invoke('dead-letter-list', {}))
        return letters[0]?.retriedAt !== undefined && letters
      }, 'the dead letter of the retry')
      assert.ok(again.retriedAt <= again.at)
      const [group] = Object(await daemon.invoke('dead-letter-groups', {}))
      assert.equal(group.retriedAt, again.retriedAt)
      assert.deepEqual(await daemon.invoke('message-attempts', { ids: ['no-such-id'] }), [])
    })
  })
}
