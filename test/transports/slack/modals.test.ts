import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { TriviumError } from '../../../src/core/errors.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { deliverEvent, replyTo, startWorld } from './harness.ts'

const world = await startWorld()
after(() => world.close())
const { server, fixture, transport } = world
const asked = () => deliverEvent(world, { text: 'a question' })
const failing = (code: string) => (error: unknown) => error instanceof TriviumError && error.code === code

describe('a modal', () => {
  const view = {
    type: 'modal',
    callback_id: 'report',
    title: { type: 'plain_text', text: 'Report' },
    blocks: [],
  }
  const openers = () => server.calls.filter(({ method }) => method.startsWith('views.'))
  const opened = (at: number) => {
    const { method = '', args = {} } = openers().at(at) ?? {}
    return { method, trigger: args.trigger_id, view: JSON.parse(String(args.view)) }
  }
  const click = (trigger: string, more: JsonObject = {}) =>
    interact({
      type: 'block_actions',
      trigger_id: trigger,
      channel: { id: 'C0GEN', name: 'general' },
      message: { ts: '1700000000.000100' },
      actions: [{ action_id: 'report', value: 'x', action_ts: trigger, type: 'button' }],
      ...more,
    })

  test('is opened by the click that it answers, and what comes back belongs to the same thread', async () => {
    const message = await click('1.open')
    const receipt = await transport.send(replyTo(message, '', { data: { view } }))
    const { method, trigger, view: shown } = opened(-1)
    assert.deepEqual([method, trigger, shown.callback_id], ['views.open', '1.open', 'report'])
    assert.match(receipt.id, /\/V\d+$/)
    const submitted = await interact({
      type: 'view_submission',
      trigger_id: '1.sent',
      view: { ...shown, id: 'V1', hash: 'h1', state: { values: {} } },
    })
    assert.equal(submitted.conversation, message.conversation)
    assert.deepEqual(submitted.data.replyTarget, {
      team: 'T0TEAM',
      channel: 'C0GEN',
      thread: '1700000000.000100',
      user: 'U1ANN',
      triggerId: '1.sent',
    })
  })

  test('whose opening was not confirmed is not opened twice, and counts as sent', async () => {
    const message = await click('1.lost')
    const reply = replyTo(message, '', { data: { view } })
    server.fail('views.open', { apply: true, hangUp: true })
    await assert.rejects(transport.send(reply), failing('send_ambiguous'))
    assert.deepEqual(await transport.probe?.(reply), { sent: false })
    await transport.send(reply)
    const other = replyTo(message, '', { key: 'another', data: { view } })
    await assert.rejects(transport.send(other), /exchanged_trigger_id: this click or command has opened/)
  })

  test('goes on top of the modal that the click was in', async () => {
    const message = await click('1.push', {
      channel: {},
      message: {},
      view: { type: 'modal', private_metadata: '' },
    })
    await transport.send(replyTo(message, '', { data: { view: { ...view, private_metadata: 'mine' } } }))
    assert.deepEqual([opened(-1).method, opened(-1).view.private_metadata], ['views.push', 'mine'])
  })

  test('that was asked for by a command only its author sees is answered to its author alone', async () => {
    const url = server.apiUrl.replace('/api/', '/respond/2')
    const names = { user_id: 'U1ANN', channel_id: 'C0GEN', team_id: 'T0TEAM' }
    const command = { command: '/report', text: '', response_url: url, trigger_id: '2.cmd', ...names }
    await server.sockets.deliver('slash_commands', command)
    const message = fixture.store.messages.at(-1)
    assert.ok(message)
    await transport.send(replyTo(message, 'one moment', { data: { view } }))
    assert.deepEqual([opened(-1).trigger, opened(-1).view.private_metadata], ['2.cmd', ''])
    assert.equal(server.calls.at(-1)?.args.text, 'one moment')
  })

  test('that answers no click is refused with what it needs', async () => {
    const reply = replyTo(await asked(), '', { data: { view } })
    await assert.rejects(transport.send(reply), /can only answer a slash command, a button/)
  })
})

async function interact(payload: JsonObject) {
  const before = fixture.store.messages.length
  const outcome = await server.sockets.deliver('interactive', {
    team: { id: 'T0TEAM' },
    user: { id: 'U1ANN', name: 'ann' },
    ...payload,
  })
  assert.ok(outcome.acked)
  const message = fixture.store.messages[before]
  assert.ok(message)
  return message
}
