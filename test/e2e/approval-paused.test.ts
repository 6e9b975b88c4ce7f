import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Json, objectsIn } from '../../src/core/json.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /hooks/shop, verify: { scheme: none } }
routes:
  - { name: refunds, match: { gateway: shop, text: "*refund*" }, skill: refund, approval: true }
  - { name: broken, match: { gateway: shop }, skill: broken, approval: true, retry: { attempts: 1 } }
`
const REFUND = `export default { description: 'Pays back', run: () => 'paid back' }`
const BROKEN = `export default { description: 'Fails', run: () => { throw new Error('the bank is closed') } }`

describe('an approved call', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { refund: REFUND, broken: BROKEN } })
  const daemon = await site.start()
  const list = async (name: string, args = {}) => objectsIn((await daemon.invoke(name, args)) as Json)

  const ask = async (text: string) => {
    const { body } = await daemon.post('/hooks/shop', JSON.stringify({ text }))
    const messageId = String(Object(body).id)
    const asked = async () =>
      (await list('approval-list')).find((each) => Object(each.message).id === messageId)
    const { id } = await until(asked, 'the request')
    return { messageId, approvalId: String(id) }
  }
  const shown = async (id: string) => Object(await daemon.invoke('message-show', { id }))
  const approval = async (id: string) => Object((await list('approval-list', { id }))[0])
  const untilOutcome = (id: string, wanted: string) =>
    until(async () => (await shown(id)).outcome === wanted || undefined, `the outcome ${wanted}`)
  const names = (pauses: Json = []) => objectsIn(pauses).map(({ kind, name }) => `${kind} ${name}`)

  test('waits for the paused gateway and route of its message; both pauses count its message, and all lists say so', async () => {
    const { messageId, approvalId } = await ask('a refund')
    await daemon.invoke('gateway-pause', { gateway: 'shop', reason: 'wrong amounts' })
    await daemon.invoke('route-pause', { route: 'refunds' })
    assert.deepEqual(names((await approval(approvalId)).pausedBy), ['gateway shop', 'route refunds'])
    const pending = await site.run(['approval', 'list'])
    assert.match(pending.out, /runs when gateway shop and route refunds are resumed/)
    const decided = await site.run([
      'approval',
      'decide',
      approvalId,
      '--approve',
      '--reason',
      'a good customer',
    ])
    assert.match(decided.out, /It runs when gateway shop and route refunds are resumed\./)
    await until(async () => (await list('pause-list')).every(({ waiting }) => waiting === 1), 'both counts')
    for (const { messageIds } of await list('pause-list')) assert.deepEqual(messageIds, [messageId])
    const waiting = await shown(messageId)
    assert.equal(waiting.outcome, 'waiting')
    assert.deepEqual(names(waiting.pausedBy), ['gateway shop', 'route refunds'])
    await daemon.invoke('gateway-resume', { gateway: 'shop' })
    assert.deepEqual(names((await approval(approvalId)).pausedBy), ['route refunds'])
    await daemon.invoke('route-resume', { route: 'refunds' })
    await untilOutcome(messageId, 'done')
    const { history, pausedBy } = await shown(messageId)
    assert.equal(pausedBy, undefined)
    const notes = objectsIn(history).map(({ what, detail }) => ({ what, ...Object(detail) }))
    const approved = notes.find(({ what }) => what === 'approved')
    // The user of the command line, user@host.
    assert.match(approved.by, /@/)
    assert.equal(approved.reason, 'a good customer')
    const held = notes.filter(({ what }) => what === 'held')
    assert.deepEqual(
      held.map(({ pause, by, reason, resumedBy }) => [pause, by, reason, resumedBy]),
      [
        ['gateway shop', 'control-token', 'wrong amounts', 'control-token'],
        ['route refunds', 'control-token', undefined, 'control-token'],
      ],
    )
    assert.ok(held.every(({ ms }) => ms > 0))
    const { run } = await approval(approvalId)
    assert.equal(run.result, 'paid back')
    assert.equal((await approval(approvalId)).pausedBy, undefined)
  })

  test('is a dead letter under the id of its message if it fails, and keeps its error', async () => {
    const { messageId, approvalId } = await ask('something else')
    await daemon.invoke('approval-decide', { id: approvalId, approve: true })
    await untilOutcome(messageId, 'dead')
    assert.match((await approval(approvalId)).run.error, /the bank is closed/)
    await daemon.invoke('dead-letter-drop', { id: messageId })
    await untilOutcome(messageId, 'dropped')
  })
})
