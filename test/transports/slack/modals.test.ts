import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { ask, click, command, interact, replyTo, startSlackGateway } from './harness.ts'

const setup = await startSlackGateway()
after(() => setup.close())
const { server, transport } = setup

const view = {
  type: 'modal',
  callback_id: 'report',
  title: { type: 'plain_text', text: 'Report' },
  blocks: [],
}
/** The newest call that opened a modal. */
const lastOpened = () => {
  const { method = '', args = {} } = server.calls.findLast(({ method }) => method.startsWith('views.')) ?? {}
  return { method, trigger: args.trigger_id, view: JSON.parse(String(args.view)) }
}
const clicked = (more: JsonObject = {}) => click(setup, { message: { ts: '1700000000.000100' }, ...more })
let submissions = 0
const submit = (id: string, metadata?: string) =>
  interact(setup, {
    type: 'view_submission',
    trigger_id: `submission.${++submissions}`,
    view: {
      ...view,
      id,
      hash: `${submissions}`,
      state: { values: {} },
      ...(metadata ? { private_metadata: metadata } : {}),
    },
  })

test('a modal is opened with the trigger of its click, and its submission is in the same thread', async () => {
  const message = await clicked({ trigger_id: '1.open' })
  for (const metadata of [undefined, JSON.stringify({ channel: 'D9BOSS' })]) {
    const data = { view: { ...view, ...(metadata ? { private_metadata: metadata } : {}) } }
    const question = await clicked({ trigger_id: `1.${metadata}` })
    const receipt = await transport.send(replyTo(question, '', { data }))
    assert.deepEqual([lastOpened().method, lastOpened().trigger], ['views.open', `1.${metadata}`])
    const submitted = await submit(receipt.id.split('/')[1] ?? '', lastOpened().view.private_metadata)
    assert.deepEqual([submitted.conversation, submitted.data.metadata], [message.conversation, metadata])
    const place = { team: 'T0TEAM', channel: 'C0GEN', thread: '1700000000.000100', user: 'U1ANN' }
    assert.deepEqual(submitted.data.replyTarget, { ...place, triggerId: `submission.${submissions}` })
  }
})

test('the submission of a modal that Trivium did not open is answered to its author, whatever its metadata', async () => {
  const own = JSON.stringify({ channel: 'D9BOSS', thread: '1600000000.000001' })
  const submitted = await submit('V404', own)
  assert.deepEqual([submitted.conversation, submitted.data.metadata], ['slack:T0TEAM:U1ANN', own])
})

test('a modal that answers a click in a modal is pushed on top of it', async () => {
  const message = await clicked({ channel: {}, message: {}, view: { type: 'modal', private_metadata: '' } })
  await transport.send(replyTo(message, '', { data: { view: { ...view, private_metadata: 'mine' } } }))
  assert.deepEqual([lastOpened().method, lastOpened().view.private_metadata], ['views.push', 'mine'])
})

test('the submission of a modal that answers a command goes to its author alone', async () => {
  const receipt = await transport.send(replyTo(await command(setup), 'one moment', { data: { view } }))
  const { method, args } = server.calls.at(-1) ?? assert.fail()
  assert.deepEqual([method, args.text], ['response_url', 'one moment'])
  const { view: id = '' } = Object(receipt.data)
  assert.equal((await submit(id)).conversation, 'slack:T0TEAM:U1ANN')
})

test('a modal that does not answer a click or command is refused with the reason', async () => {
  const reply = replyTo(await ask(setup), '', { data: { view } })
  await assert.rejects(transport.send(reply), /can only answer a slash command, a button/)
})
