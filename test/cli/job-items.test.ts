import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { objectsIn, toJson } from '../../src/core/json.ts'
import { openSite } from '../fixtures/daemon.ts'
import { startSmtpServer } from '../fixtures/smtp-server.ts'
import { mailFromHalldis, refuseNext, supportGateway } from '../fixtures/support-mail.ts'
import { until } from '../fixtures/until.ts'

const BROKEN = `export default { description: 'fails', run() { throw new Error('no stock') } }`

describe('the messages of a retry at the command line', { timeout: 300_000 }, async () => {
  const smtp = await startSmtpServer()
  after(() => smtp.close())
  const site = openSite({
    routes: `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none }, from: data.body.email }
  ${supportGateway(smtp)}
routes:
  - { name: orders, match: { gateway: shop }, skill: broken, retry: { attempts: 1 }, reply: none }
  - { name: mails, match: { gateway: support }, skill: echo, reply: none }
`,
    skills: { broken: BROKEN },
  })
  const daemon = await site.start()
  const invoke = async (name: string, args: object) => toJson(await daemon.invoke(name, args))
  const letters = async () => objectsIn(await invoke('dead-letter-list', {}))
  await daemon.post('/shop', JSON.stringify({ text: 'order 1', email: 'p1@example.com' }))
  await mailFromHalldis(daemon)
  const mails = async () =>
    objectsIn(toJson(Object(await invoke('message-search', { gateway: 'support' })).messages))
  await until(async () => (await mails()).length === 1, 'the mail')
  const [mail] = await mails()
  refuseNext(smtp)
  await invoke('gateway-send', { messageId: mail?.id, text: 'We found your parcel.' })
  await until(async () => (await letters()).length === 2, 'the dead letters')
  refuseNext(smtp)
  const begun = await invoke('dead-letter-bulk', {
    do: 'retry',
    letters: (await letters()).map(({ id, queue }) => ({ id, queue })),
  }).catch(() => invoke('dead-letter-bulk', { do: 'retry' }))
  const job = String(Object(begun).job.id)
  const items = async () => objectsIn(toJson(Object(await invoke('job-items', { id: job })).items))

  test('have their sender and text, the end, and no keys', async () => {
    const dead = async () => (await items()).filter(({ outcome }) => outcome === 'dead')
    await until(async () => (await dead()).length === 2, 'the failures')
    const found = await items()
    assert.deepEqual(found.map(({ text }) => text).toSorted(), [
      'p1@example.com: order 1 · email: p1@example.com',
      'reply to Halldis Olsen: We found your parcel.',
    ])
    assert.ok(found.some(({ endedAt }) => typeof endedAt === 'number'))
    const { out } = await site.run(['job', 'show', job])
    assert.match(out, /\treply to Halldis Olsen: We found your parcel\.$/m)
  })

  test('say what holds those that wait', async () => {
    await daemon.invoke('route-pause', { route: 'orders', reason: 'stocktaking' })
    const { job: again } = Object(await invoke('dead-letter-bulk', { do: 'retry', group: 'orders' }))
    const row = async () => (await site.run(['job', 'items', again.id])).out
    await until(
      async () => /\twaiting\t\troute orders is paused\tp1@example\.com: order 1/.test(await row()),
      'the pause',
    )
  })
})
