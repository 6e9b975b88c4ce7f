import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { TriviumError } from '../../../src/core/errors.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { sealMetadata } from '../../../transports/slack/view-metadata.ts'
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
    const submitted = await submit(shown, '1.sent')
    assert.equal(submitted.conversation, message.conversation)
    assert.equal(submitted.data.metadata, undefined)
    assert.deepEqual(submitted.data.replyTarget, {
      team: 'T0TEAM',
      channel: 'C0GEN',
      thread: '1700000000.000100',
      user: 'U1ANN',
      triggerId: '1.sent',
    })
  })

  test('comes back with what its skill put into it, from where it was opened', async () => {
    const message = await click('1.own')
    const own = JSON.stringify({ ticket: 7 })
    await transport.send(replyTo(message, '', { data: { view: { ...view, private_metadata: own } } }))
    const submitted = await submit(opened(-1).view, '1.own.sent')
    assert.deepEqual([submitted.conversation, submitted.data.metadata], [message.conversation, own])
  })

  test('whose skill names another place is answered to who submits it, in no other conversation', async () => {
    const thread = '1600000000.000001'
    const seal = (user: string, token: string) =>
      sealMetadata(
        undefined,
        { channel: 'D9BOSS', thread },
        { gateway: 'team', user, workspace: { team: 'T0TEAM', token } },
      )
    const forgeries = [
      JSON.stringify({ channel: 'D9BOSS', thread }),
      JSON.stringify({ trivium: { channel: 'D9BOSS', thread }, mac: '' }),
      seal('U1ANN', 'another token'),
      seal('U2BOB', 'xoxb-test'),
    ]
    for (const own of forgeries) {
      const message = await click(`1.forged.${own}`)
      await transport.send(replyTo(message, '', { data: { view: { ...view, private_metadata: own } } }))
      const wrapped = await submit(opened(-1).view, `1.wrapped.${own}`)
      assert.deepEqual([wrapped.conversation, wrapped.data.metadata], [message.conversation, own])
      const bare = await submit({ ...view, private_metadata: own }, `1.bare.${own}`)
      assert.deepEqual([bare.conversation, bare.data.metadata], ['slack:T0TEAM:U1ANN', own])
    }
    const genuine = await submit({ ...view, private_metadata: seal('U1ANN', 'xoxb-test') }, '1.genuine')
    assert.equal(genuine.conversation, `slack:T0TEAM:D9BOSS:${thread}`)
  })

  test('with more of its own than Slack takes is refused, with how much there is room for', async () => {
    const message = await click('1.long')
    const long = { data: { view: { ...view, private_metadata: 'x'.repeat(2990) } } }
    const from = server.calls.length
    await assert.rejects(
      transport.send(replyTo(message, '', long)),
      /2990 characters, and there is room for 28\d\d/,
    )
    assert.equal(server.calls.length, from)
  })

  test('has no button that decides an approval', async () => {
    const clicked = await click('1.cake', {
      channel: {},
      message: {},
      container: { type: 'view', view_id: 'V1' },
      view: { type: 'modal', private_metadata: '' },
      actions: [{ action_id: 'trivium-approve', value: 'a1', action_ts: '1', type: 'button' }],
    })
    assert.deepEqual([clicked.data.action, clicked.data.approval], ['trivium-approve', undefined])
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

function submit(view: JsonObject, trigger: string) {
  const submitted = { ...view, id: 'V1', hash: trigger, state: { values: {} } }
  return interact({ type: 'view_submission', trigger_id: trigger, view: submitted })
}

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
