import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none }, from: data.body.email, text: data.body.text }
routes:
  - { name: later, match: { prefix: later }, skill: fails, retry: { attempts: 9, delay: 1h }, reply: none }
  - { name: never, match: { prefix: never }, skill: fails, retry: { attempts: 1 }, reply: none }
  - { name: paused, match: { prefix: paused }, skill: fails, reply: none }
  - { name: ask, match: { prefix: ask }, skill: ask, reply: none }
  - { name: held, match: { prefix: hold }, skill: hold, reply: none }
`
const SKILLS = {
  fails: `export default { description: 'fails', run() { throw new Error('no') } }`,
  ask: `export default { description: 'needs approval', metadata: { approval: { approvers: ['role:lead'] } }, run: () => { throw new Error('no') } }`,
  // Keeps the erasure before its first place.
  hold: `export default { description: 'waits', run: () => globalThis.heldErasure }`,
}

for (const kind of ['embedded', 'redis'] as const) {
  describe(`an erasure that is cancelled, on ${kind}`, { timeout: 120_000 }, async () => {
    const redis = kind === 'redis' ? await startRedisServer() : undefined
    if (redis) after(() => redis.stop())
    const site = openSite({ routes: ROUTES, skills: SKILLS, env: redis ? { REDIS_URL: redis.url } : {} })
    const daemon = await site.start()
    const show = async (id: string) => Object(await daemon.invoke('message-show', { id }))
    const outcomeIs = (id: string, wanted: string) =>
      until(async () => (await show(id)).outcome === wanted, `${wanted}: ${id}`)
    const write = async (email: string, text: string, outcome: string) => {
      const { body } = await daemon.post('/shop', JSON.stringify({ email, text }))
      const { id } = Object(body)
      await outcomeIs(id, outcome)
      return String(id)
    }
    const erase = async (email: string) => {
      const args = { identity: [`shop:${email}`], reference: 'GDPR-42', confirm: true }
      return String(Object(await daemon.invoke('person-erase', args)).job.id)
    }
    const at = (id: string, wanted: RegExp) =>
      until(
        async () => wanted.test(Object(await daemon.invoke('job-show', { id })).at ?? ''),
        `the erasure at ${wanted}`,
      )
    const entryOf = (id: string) =>
      until(async () => {
        const { entries } = Object(await daemon.invoke('audit-list', { action: 'person-erased' }))
        return entries.find(({ target }: { target: { job: string } }) => target.job === id)
      }, 'the entry of the audit log')
    const lastNote = async (id: string) => (await show(id)).history.at(-1)

    test('before its first place names the messages that it took out of the queue', async () => {
      const held = Promise.withResolvers<void>()
      after(() => held.resolve())
      Object.assign(globalThis, { heldErasure: held.promise })
      await daemon.invoke('route-pause', { route: 'paused' })
      const waiting = [
        await write('ada@example.com', 'later 1', 'retrying'),
        await write('ada@example.com', 'paused 2', 'waiting'),
      ]
      const failed = await write('ada@example.com', 'never 3', 'dead')
      const others = await write('bob@example.com', 'later 4', 'retrying')
      const running = await write('ada@example.com', 'hold 5', 'running')
      const id = await erase('ada@example.com')
      await at(id, /1 running attempts?/)
      const { result } = Object(await daemon.invoke('job-cancel', { id }))
      assert.deepEqual([result.records, result.withdrawn], [0, 2])
      const entry = await entryOf(id)
      assert.equal(entry.outcome, 'cancelled')
      assert.equal(entry.result.withdrawn, '2 messages that waited')
      for (const message of waiting) {
        assert.equal((await show(message)).outcome, 'dropped')
        const { what, detail } = await lastNote(message)
        assert.equal(what, 'dropped')
        assert.match(detail.reason, /by an erasure \(GDPR-42\)/)
        assert.deepEqual([detail.job, typeof detail.by], [id, 'string'])
        const { out } = await site.run(['message', 'show', message])
        assert.match(out, /dropped +.*taken out of the queue by an erasure \(GDPR-42\)/)
        const again = Object(await daemon.invoke('message-resend', { id: message }))
        assert.equal(again.resends, message)
      }
      assert.equal((await show(failed)).outcome, 'dead')
      assert.equal((await show(others)).outcome, 'retrying')
      held.resolve()
      await outcomeIs(running, 'done')
      const { out } = await site.run(['job', 'show', id])
      assert.match(out, /^result +0 records erased; 2 messages that waited were taken out of the queue$/m)
      assert.match(out, /`trivium message list --outcome dropped`/)
      const dropped = Object(await daemon.invoke('message-search', { outcome: 'dropped' })).messages
      assert.deepEqual(dropped.map((one: { id: string }) => one.id).toSorted(), waiting.toSorted())
    })

    test('also withdraws a message that waits after the decision about its approval', async () => {
      const asks = await write('eve@example.com', 'ask 1', 'approval')
      await daemon.invoke('route-pause', { route: 'ask' })
      const listed = Object(await daemon.invoke('approval-list', { status: 'pending' }))
      await daemon.invoke('approval-decide', { id: listed[0].id, approve: true })
      await outcomeIs(asks, 'waiting')
      const held = Promise.withResolvers<void>()
      after(() => held.resolve())
      Object.assign(globalThis, { heldErasure: held.promise })
      await write('eve@example.com', 'hold 2', 'running')
      const id = await erase('eve@example.com')
      await at(id, /1 running attempts?/)
      const { result } = Object(await daemon.invoke('job-cancel', { id }))
      assert.equal(result.withdrawn, 1)
      assert.equal((await show(asks)).outcome, 'dropped')
      assert.equal((await lastNote(asks)).what, 'dropped')
    })
  })
}
