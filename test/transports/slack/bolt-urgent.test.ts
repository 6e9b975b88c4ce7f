// Payloads for which a person waits never wait for another listener, and a route may have no order.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { assertPrompt } from '../../fixtures/in-time.ts'
import { type SlackServer, startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { openApp, routesFor, trigger, who } from './bolt-harness.ts'
import { callback, slashCommand } from './harness.ts'

/**
 * Just below Slack's limit of 3 s. A payload that waits for its lane would never be acknowledged.
 */
const ACK_LIMIT = 2900

const APP = `
export default (app) => {
  const stopped = Promise.withResolvers()
  const posted = (text) => app.client.chat.postMessage({ channel: 'C0GEN', text })
  app.view('long', async ({ ack, view }) => {
    await ack()
    await stopped.promise
    await posted('stopped ' + view.id)
  })
  app.view('next', ({ ack }) => ack({ response_action: 'clear' }))
  app.shortcut('open', async ({ ack, shortcut, client }) => {
    await ack()
    await client.views.open({ trigger_id: shortcut.trigger_id, view: { type: 'modal', title: { type: 'plain_text', text: 'T' }, blocks: [] } })
  })
  app.action('stop', async ({ ack }) => { await ack(); stopped.resolve() })
  app.command('/work', async ({ ack, command }) => { await ack('Working on ' + command.text); await stopped.promise })
  app.event('app_home_opened', async () => { await stopped.promise; await posted('home') })
  app.message('first', async () => { await new Promise((resolve) => setTimeout(resolve, 1500)); await posted('first is done') })
  app.message('second', () => posted('second is done'))
}
`
const VIEW = { id: 'V1', hash: 'h', type: 'modal', state: { values: {} } }

let slack: SlackServer
beforeEach(async () => {
  slack = await startSlackServer()
})
afterEach(() => slack.close())

const deliver = async (type: string, payload: JsonObject) => {
  const delivered = await slack.sockets.deliver(type, payload)
  assert.ok(delivered.acked, `${type} was not acknowledged`)
  await assertPrompt(type, delivered.ms, ACK_LIMIT)
  return delivered.payload
}
const person = (payload: JsonObject) => deliver('interactive', { ...who, trigger_id: trigger(), ...payload })
const submit = (callback_id: string, id = 'V1') =>
  person({ type: 'view_submission', view: { ...VIEW, callback_id, id } })
const say = (text: string) => deliver('events_api', callback({ text, ts: slack.nextTs(), thread_ts: '1.1' }))
const posted = (text: string) => until(() => slack.posts.some((post) => post.text === text), text)

describe('a Bolt app', () => {
  test('serves modals, shortcuts, commands and clicks of a person while twenty of their listeners run', async () => {
    await openApp(slack, APP, 'apps/app.mjs').start()
    await until(() => slack.sockets.open() === 1, 'a socket')
    await deliver(
      'events_api',
      callback({ type: 'app_home_opened', user: 'U1ANN', channel: 'D1ANN', tab: 'home' }),
    )
    for (let view = 0; view < 20; view++) assert.deepEqual((await submit('long', `V${view}`)) ?? {}, {})
    assert.deepEqual(await submit('next'), { response_action: 'clear' })
    for (const text of ['one', 'two'])
      assert.deepEqual(await deliver('slash_commands', slashCommand(slack, { command: '/work', text })), {
        text: `Working on ${text}`,
      })
    await person({ type: 'shortcut', callback_id: 'open', action_ts: '1' })
    await until(() => slack.calls.some(({ method }) => method === 'views.open'), 'a modal')
    assert.equal(slack.posts.length, 0)
    const actions = [{ type: 'button', action_id: 'stop', block_id: 'b', value: 'v', action_ts: '1' }]
    await person({ type: 'block_actions', view: { ...VIEW, callback_id: 'long' }, actions })
    await posted('home')
    await until(() => slack.posts.length === 21, 'the posts of all listeners')
  })

  test('receives the messages of a conversation in order, or at once with `order: none`', async () => {
    const site = openApp(slack, APP, 'apps/app.mjs')
    await site.start()
    await until(() => slack.sockets.open() === 1, 'a socket')
    await say('first')
    await say('second')
    await posted('second is done')
    await posted('first is done')
    const texts = () => slack.posts.splice(0).map(({ text }) => text)
    assert.deepEqual(texts(), ['first is done', 'second is done'])
    site.write('routes.yaml', routesFor(slack, './apps/app.mjs', '    order: none\n'))
    assert.equal((await site.run(['reload'])).code, 0)
    await say('first')
    await say('second')
    await posted('first is done')
    await posted('second is done')
    assert.deepEqual(texts(), ['second is done', 'first is done'])
  })
})
