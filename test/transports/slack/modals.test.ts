import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
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
const submit = (id: string, metadata?: string) =>
  interact(world, {
    type: 'view_submission',
    trigger_id: `sent.${++sent}`,
    view: {
      ...view,
      id,
      hash: `${sent}`,
      state: { values: {} },
      ...(metadata ? { private_metadata: metadata } : {}),
    },
  })

test('a modal is opened by the click that it answers, and what comes back belongs to the same thread', async () => {
  const message = await clicked({ trigger_id: '1.open' })
  for (const metadata of [undefined, JSON.stringify({ channel: 'D9BOSS' })]) {
    const data = { view: { ...view, ...(metadata ? { private_metadata: metadata } : {}) } }
    const from = await clicked({ trigger_id: `1.${metadata}` })
    const receipt = await transport.send(replyTo(from, '', { data }))
    assert.deepEqual([opened().method, opened().trigger], ['views.open', `1.${metadata}`])
    const submitted = await submit(receipt.id.split('/')[1] ?? '', opened().view.private_metadata)
    assert.deepEqual([submitted.conversation, submitted.data.metadata], [message.conversation, metadata])
    const place = { team: 'T0TEAM', channel: 'C0GEN', thread: '1700000000.000100', user: 'U1ANN' }
    assert.deepEqual(submitted.data.replyTarget, { ...place, triggerId: `sent.${sent}` })
  }
})

test('a modal that was not opened here is answered to who submits it, whatever place it names', async () => {
  const own = JSON.stringify({ channel: 'D9BOSS', thread: '1600000000.000001' })
  const submitted = await submit('V404', own)
  assert.deepEqual([submitted.conversation, submitted.data.metadata], ['slack:T0TEAM:U1ANN', own])
})

test('a modal goes on top of the modal that the click was in', async () => {
  const message = await clicked({ channel: {}, message: {}, view: { type: 'modal', private_metadata: '' } })
  await transport.send(replyTo(message, '', { data: { view: { ...view, private_metadata: 'mine' } } }))
  assert.deepEqual([opened().method, opened().view.private_metadata], ['views.push', 'mine'])
})

test('a modal that was asked for by a command only its author sees is answered to its author alone', async () => {
  const receipt = await transport.send(replyTo(await command(world), 'one moment', { data: { view } }))
  const { method, args } = server.calls.at(-1) ?? assert.fail()
  assert.deepEqual([method, args.text], ['response_url', 'one moment'])
  const { view: id = '' } = Object(receipt.data)
  assert.equal((await submit(id)).conversation, 'slack:T0TEAM:U1ANN')
})

test('a modal that answers no click is refused with what it needs', async () => {
  const reply = replyTo(await ask(world), '', { data: { view } })
  await assert.rejects(transport.send(reply), /can only answer a slash command, a button/)
})
