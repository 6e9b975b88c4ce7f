import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { sealMetadata } from '../../../transports/slack/modal.ts'
import { ask, click, command, interact, replyTo, startWorld } from './harness.ts'

const world = await startWorld()
after(() => world.close())
const { server, transport } = world

const view = {
  type: 'modal',
  callback_id: 'report',
  title: { type: 'plain_text', text: 'Report' },
  blocks: [],
}
const opened = () => {
  const { method = '', args = {} } = server.calls.findLast(({ method }) => method.startsWith('views.')) ?? {}
  return { method, trigger: args.trigger_id, view: JSON.parse(String(args.view)) }
}
const clicked = (more: JsonObject = {}) => click(world, { message: { ts: '1700000000.000100' }, ...more })
let sent = 0
const submit = (view: JsonObject) =>
  interact(world, {
    type: 'view_submission',
    trigger_id: `sent.${++sent}`,
    view: { ...view, id: 'V1', hash: `${sent}`, state: { values: {} } },
  })

test('a modal is opened by the click that it answers, and what comes back belongs to the same thread', async () => {
  const message = await clicked({ trigger_id: '1.open' })
  const own = JSON.stringify({ ticket: 7 })
  for (const private_metadata of [undefined, own]) {
    const data = { view: { ...view, ...(private_metadata ? { private_metadata } : {}) } }
    const from = await clicked({ trigger_id: `1.${private_metadata}` })
    const receipt = await transport.send(replyTo(from, '', { data }))
    assert.deepEqual([opened().method, opened().trigger], ['views.open', `1.${private_metadata}`])
    assert.match(receipt.id, /\/V\d+$/)
    const submitted = await submit(opened().view)
    assert.deepEqual(
      [submitted.conversation, submitted.data.metadata],
      [message.conversation, private_metadata],
    )
    const place = { team: 'T0TEAM', channel: 'C0GEN', thread: '1700000000.000100', user: 'U1ANN' }
    assert.deepEqual(submitted.data.replyTarget, { ...place, triggerId: `sent.${sent}` })
  }
})

test('a modal whose skill names another place is answered to who submits it, in no other conversation', async () => {
  const place = { channel: 'D9BOSS', thread: '1600000000.000001' }
  const seal = (user: string, token: string) =>
    sealMetadata(undefined, place, { user, workspace: { team: 'T0TEAM', token } })
  const forgeries = [
    JSON.stringify(place),
    JSON.stringify({ trivium: place, mac: '' }),
    seal('U1ANN', 'another token'),
    seal('U2BOB', 'xoxb-test'),
  ]
  for (const own of forgeries) {
    const message = await clicked()
    await transport.send(replyTo(message, '', { data: { view: { ...view, private_metadata: own } } }))
    const wrapped = await submit(opened().view)
    assert.deepEqual([wrapped.conversation, wrapped.data.metadata], [message.conversation, own])
    const bare = await submit({ ...view, private_metadata: own })
    assert.deepEqual([bare.conversation, bare.data.metadata], ['slack:T0TEAM:U1ANN', own])
  }
  const genuine = await submit({ ...view, private_metadata: seal('U1ANN', 'xoxb-test') })
  assert.equal(genuine.conversation, 'slack:T0TEAM:D9BOSS:1600000000.000001')
})

test('a modal goes on top of the modal that the click was in', async () => {
  const message = await clicked({ channel: {}, message: {}, view: { type: 'modal', private_metadata: '' } })
  await transport.send(replyTo(message, '', { data: { view: { ...view, private_metadata: 'mine' } } }))
  assert.deepEqual([opened().method, opened().view.private_metadata], ['views.push', 'mine'])
})

test('a modal that was asked for by a command only its author sees is answered to its author alone', async () => {
  await transport.send(replyTo(await command(world), 'one moment', { data: { view } }))
  assert.equal(opened().view.private_metadata, '')
  assert.deepEqual(
    [server.calls.at(-1)?.method, server.calls.at(-1)?.args.text],
    ['response_url', 'one moment'],
  )
})

test('a modal that answers no click is refused with what it needs', async () => {
  const reply = replyTo(await ask(world), '', { data: { view } })
  await assert.rejects(transport.send(reply), /can only answer a slash command, a button/)
})
