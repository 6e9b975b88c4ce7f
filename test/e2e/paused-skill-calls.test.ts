import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  desk: { transport: webhook, path: /desk, verify: { scheme: none } }
tokens:
  - { name: shop, token: "a-token-of-the-shop", skills: [refund, desk], gateways: ["*"] }
routes:
  - { name: desk, match: { gateway: desk }, skill: desk, concurrency: 1, retry: { attempts: 2, delay: 10ms } }
schedules:
  - { name: nightly, cron: "0 3 1 1 *", skill: desk, args: { text: nightly } }
`
const NOTED = `import { appendFileSync } from 'node:fs'
const note = (text) => appendFileSync(new URL('../../done', import.meta.url), text + '\\n')`
const SKILLS = {
  desk: `${NOTED}
export default { description: 'Answers.', async run({ args, manager, once }) {
  note('asked ' + args.text)
  if (args.text.startsWith('hello')) return undefined
  const name = args.text.startsWith('large') ? 'check' : 'refund'
  const call = () => manager.invoke(name, { text: args.text })
  const after = async () => {
    note('charged')
    await new Promise((done) => setImmediate(done))
    return call()
  }
  const isOnce = args.text.startsWith('second') || args.text.startsWith('charge')
  const result = isOnce ? await once(args.text, args.text.startsWith('charge') ? after : call) : await call()
  note('answered ' + args.text)
  return result
} }`,
  check: `export default { description: 'Checks.', metadata: { approval: true },
  run: ({ args, manager }) => manager.invoke('refund', args) }`,
  refund: `import { z } from 'zod'
${NOTED}
export default { description: 'Pays back.', args: z.looseObject({ text: z.string().optional() }), async run({ args }) { note('paid ' + (args.text ?? args.type ?? 'something')) } }`,
}

for (const kind of ['embedded', 'redis'] as const) {
  describe(`a paused skill on the ${kind} store`, { timeout: 300_000 }, async () => {
    const redis = kind === 'redis' ? await startRedisServer() : undefined
    const site = openSite({
      ownProcess: 'first',
      routes: ROUTES,
      skills: SKILLS,
      env: redis ? { REDIS_URL: redis.url } : {},
    })
    let daemon = await site.start()
    const path = join(site.dir, 'done')
    const done = () => (existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [])
    const times = (text: string) => done().filter((line) => line === text).length
    const happened = (text: string) => until(() => times(text) > 0, text, 30_000)
    const post = async (text: string) => {
      const { status, body } = await daemon.post('/desk', text, { 'content-type': 'text/plain' })
      assert.equal(status, 202)
      return String(Object(body).id)
    }
    const pause = () => daemon.invoke('skill-pause', { skill: 'refund', reason: 'an incident' })
    const resume = () => daemon.invoke('skill-resume', { skill: 'refund' })
    const held = async () => {
      const found = [await daemon.invoke('pause-list')].flat().find((each) => Object(each).name === 'refund')
      const { waiting, messageIds: ids, runs } = Object(found)
      return { waiting: Number(waiting), ids, runs }
    }
    const holds = (id: string) =>
      until(async () => (await held()).ids.includes(id), `the wait of ${id}`, 30_000)

    test('holds the calls of other skills over a kill, and nothing else', async () => {
      await pause()
      const first = await post('first')
      await holds(first)
      await post('hello')
      await happened('asked hello')
      const shown = Object(await daemon.invoke('message-show', { id: first }))
      assert.equal(shown.outcome, 'waiting')
      assert.equal(shown.pausedBy[0].name, 'refund')
      const notes = shown.history.map(({ what }: { what: string }) => what)
      assert.ok(notes.includes('waits for a paused skill'), notes.join())
      await daemon.end('SIGKILL')
      daemon = await site.start()
      await holds(first)
      const second = await post('second')
      await holds(second)
      assert.equal((await held()).waiting, 2)
      assert.deepEqual([times('asked first'), times('paid first')], [1, 0])
      await resume()
      for (const text of ['first', 'second']) {
        await happened(`answered ${text}`)
        assert.deepEqual([times(`asked ${text}`), times(`paid ${text}`)], [2, 1])
      }
      const ended = Object(await daemon.invoke('message-show', { id: first }))
      assert.equal(ended.outcome, 'done')
      const period = ended.history.find(({ what }: { what: string }) => what === 'held')
      assert.equal(period.detail.pause, 'skill refund')
      assert.ok(period.detail.ms > 0)
    })

    test('does not repeat what `once` did before such a call', async () => {
      await pause()
      const charge = await post('charge')
      await holds(charge)
      await resume()
      const ended = async () => Object(await daemon.invoke('message-show', { id: charge }))
      const { history } = await until(async () => {
        const shown = await ended()
        return shown.outcome === 'dead' ? shown : undefined
      }, 'the dead letter')
      assert.equal(history.at(-1).detail.code, 'call_unknown')
      assert.deepEqual([times('charged'), times('paid charge')], [1, 0])
    })

    test('holds calls after an approval', async () => {
      const large = await post('large')
      const requests = async () => [await daemon.invoke('approval-list', { status: 'pending' })].flat()
      const request = Object(await until(async () => (await requests())[0], 'the request'))
      await pause()
      await daemon.invoke('approval-decide', { id: request.id, approve: true })
      await holds(large)
      assert.equal(times('paid large'), 0)
      await resume()
      await happened('answered large')
      assert.equal(times('paid large'), 1)
    })

    test('holds the calls of schedules and of subscribed events', async () => {
      await daemon.invoke('event-subscribe', { topic: 'orders', ref: 'refund' })
      await pause()
      const nightly = [await daemon.invoke('schedule-list')]
        .flat()
        .find((each) => Object(each).name === 'nightly')
      await daemon.invoke('schedule-run', { id: String(Object(nightly).id) })
      await happened('asked nightly')
      await daemon.invoke('event-emit', { topic: 'orders', type: 'order.placed', data: {} })
      const other = await post('other')
      await holds(other)
      assert.deepEqual([times('paid nightly'), times('paid order.placed')], [0, 0])
      await until(async () => (await held()).runs === 2, 'the runs of the schedule and the event')
      await resume()
      for (const text of ['paid nightly', 'paid order.placed', 'paid other']) await happened(text)
      assert.equal(times('asked nightly'), 2)
      assert.equal(times('paid nightly'), 1)
    })

    test('is refused to programs, and runs from the command line', async () => {
      await pause()
      const call = (skill: string, token: string) =>
        fetch(`${daemon.control}/v1/skills/${skill}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ text: 'by program' }),
        })
      for (const skill of ['refund', 'desk']) {
        const answer = await call(skill, 'a-token-of-the-shop')
        assert.equal(answer.status, 503, skill)
        assert.match(JSON.stringify(await answer.json()), /skill_paused.*refund is paused.*an incident/)
      }
      const { code, err } = await site.run(['refund', '--text', 'by hand'])
      assert.equal(code, 0, err)
      assert.deepEqual([times('paid by hand'), times('paid by program')], [1, 0])
      await resume()
    })

    test('gives up a message that waits for it without another run', async () => {
      await pause()
      const wrong = await post('wrong')
      await holds(wrong)
      const cancelled = Object(await daemon.invoke('run-cancel', { messageId: wrong }))
      assert.equal(cancelled.outcome, 'dead')
      assert.equal((await held()).waiting, 0)
      await resume()
      assert.deepEqual([times('asked wrong'), times('paid wrong')], [1, 0])
    })

    test('stops', async () => {
      await daemon.end()
      await redis?.stop()
    })
  })
}
