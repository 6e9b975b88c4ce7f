// Apps like Slack's own samples, first run by Bolt alone, then by the daemon.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { compare, openApp, trigger, who } from './bolt-harness.ts'
import { callback } from './harness.ts'

const START = `
const { App, Assistant } = require('@slack/bolt')
const { SLACK_BOT_TOKEN: token, SLACK_APP_TOKEN: appToken, SLACK_API_URL: slackApiUrl } = process.env
const app = new App({ token, appToken, socketMode: true, clientOptions: { slackApiUrl } })
app.start()
`

const ASSISTANT = `${START}
app.assistant(new Assistant({
  threadStarted: async ({ say, saveThreadContext, setSuggestedPrompts }) => {
    await say('What can I do?')
    await saveThreadContext()
    await setSuggestedPrompts({ title: 'You may ask', prompts: [{ title: 'The channel', message: 'Where am I?' }] })
  },
  threadContextChanged: ({ saveThreadContext }) => saveThreadContext(),
  userMessage: async ({ message, setTitle, setStatus, getThreadContext, client, sayStream }) => {
    await setTitle(message.text)
    await setStatus({ status: 'is thinking', loading_messages: ['hm'] })
    const { channel_id } = await getThreadContext()
    const { channel, thread_ts } = message
    const buffer_size = 1
    const answer = message.text === 'again' ? sayStream({ buffer_size }) : client.chatStream({ channel, thread_ts, buffer_size })
    for (const word of ['You are ', 'in ', channel_id]) await answer.append({ markdown_text: word })
    await answer.stop({ blocks: [{ type: 'context_actions', elements: [{ type: 'feedback_buttons', action_id: 'feedback' }] }] })
  },
}))
app.action('feedback', async ({ ack, body: { channel, message, user }, client }) => {
  await ack()
  await client.chat.postEphemeral({ channel: channel.id, thread_ts: message.ts, user: user.id, text: 'Thank you' })
})
`

const MODALS = `${START}
const text = (words) => ({ type: 'plain_text', text: words })
const modal = (title) => ({ type: 'modal', callback_id: 'wish', title: text(title), submit: text('Send'), blocks: [] })
const open = (title) => async ({ ack, shortcut, client }) => {
  await ack()
  await client.views.open({ trigger_id: shortcut.trigger_id, view: modal(title + (shortcut.message?.text ?? '')) })
}
const home = (user_id, words) => ({ user_id, view: { type: 'home', blocks: [{ type: 'section', text: text(words) }] } })
app.use(({ context, next }) => next(context.greeting = 'Hello'))
app.shortcut('wish_anywhere', open('A wish'))
app.shortcut({ callback_id: 'wish_message', type: 'message_action' }, open('Wish: '))
app.action({ action_id: 'more', type: 'block_actions' }, async ({ ack, body: { view: { id, hash } }, client }) => {
  await ack()
  await client.views.update({ view_id: id, hash, view: modal('More') })
})
app.view('wish', async ({ ack, body, view, client }) => {
  const wish = view.state.values.wish.text.value
  if (!wish) return ack({ response_action: 'errors', errors: { wish: 'wish something' } })
  await ack({ response_action: 'update', view: modal('Noted') })
  await client.chat.postMessage({ channel: body.user.id, text: 'You wish ' + wish })
  await client.views.publish(home(body.user.id, wish))
})
app.view({ callback_id: 'wish', type: 'view_closed' }, async ({ ack, body, client }) => {
  await ack()
  await client.views.publish(home(body.user.id, 'nothing'))
})
app.event('app_home_opened', ({ event, client, context }) => client.views.publish(home(event.user, context.greeting)))
`

const started = (thread_ts: string, context: JsonObject, type = 'assistant_thread_started') => ({
  ...callback({}),
  event: {
    type,
    event_ts: thread_ts,
    assistant_thread: { user_id: 'U1ANN', context, channel_id: 'D1ANN', thread_ts },
  },
})

const question = (text: string, ts: string, thread_ts: string) =>
  callback({ text, ts, thread_ts, channel: 'D1ANN', channel_type: 'im' })

const view = (type: string, value = '') => ({
  type,
  trigger_id: trigger(),
  ...who,
  view: {
    id: 'V1',
    hash: 'h',
    type: 'modal',
    callback_id: 'wish',
    state: { values: { wish: { text: { value } } } },
  },
})

const click = (action_id: string, place: JsonObject) => ({
  type: 'block_actions',
  trigger_id: trigger(),
  ...who,
  ...place,
  actions: [{ type: 'button', action_id, block_id: 'b', value: 'v', action_ts: '1' }],
})

describe('Bolt apps like Slack’s samples', () => {
  test('behave as with Bolt alone: an assistant with prompts, status, title, context, streams and feedback', async (t) => {
    const { shown } = await compare(t, ASSISTANT, async (deliver, slack) => {
      const thread = slack.nextTs()
      await deliver('events_api', started(thread, {}), 'assistant.threads.setSuggestedPrompts')
      const moved = started(thread, { channel_id: 'C0GEN' }, 'assistant_thread_context_changed')
      await deliver('events_api', moved, 'chat.update')
      await deliver('events_api', question('Where am I?', slack.nextTs(), thread), 'chat.stopStream')
      await deliver('events_api', question('again', slack.nextTs(), thread), 'chat.stopStream')
      const message = { type: 'message', user: 'U0BOT', ts: slack.posts.at(-1)?.ts ?? '' }
      const place = { message, channel: { id: 'D1ANN' } }
      await deliver('interactive', click('feedback', place), 'chat.postEphemeral')
    })
    assert.equal(shown.filter(({ text }) => text === 'You are in C0GEN').length, 2)
  })

  test('behave as with Bolt alone: modals, a home tab and shortcuts', async (t) => {
    const { acks } = await compare(t, MODALS, async (deliver) => {
      const opened = callback({ type: 'app_home_opened', user: 'U1ANN', channel: 'D1ANN', tab: 'home' })
      await deliver('events_api', opened, 'views.publish')
      const shortcut = { type: 'shortcut', callback_id: 'wish_anywhere', action_ts: '1', ...who }
      await deliver('interactive', { ...shortcut, trigger_id: trigger() }, 'views.open')
      const message = { type: 'message', user: 'U2BOB', text: 'rain', ts: '1.2' }
      const more = { type: 'message_action', callback_id: 'wish_message', channel: { id: 'C0GEN' }, message }
      await deliver('interactive', { ...shortcut, ...more, trigger_id: trigger() }, 'views.open')
      await deliver('interactive', click('more', { view: view('').view }), 'views.update')
      await deliver('interactive', view('view_submission'))
      await deliver('interactive', view('view_submission', 'sun'), 'views.publish')
      await deliver('interactive', view('view_closed'), 'views.publish')
    })
    assert.deepEqual(acks[4], { response_action: 'errors', errors: { wish: 'wish something' } })
  })

  test('post once and continue their stream if they are killed during a listener', async (t) => {
    /**
     * Kills the daemon during each `call`, and waits until the next daemon has called `then`.
     * Resolves with all posts.
     */
    const postsWithKills = async (
      source: string,
      ...kills: [call: string, type: string, payload: JsonObject, then: string][]
    ) => {
      const slack = await startSlackServer()
      slack.isForAgents = true
      t.after(() => slack.close())
      const called = (name: string) => until(() => slack.calls.some(({ method }) => method === name), name)
      const site = openApp(slack, source)
      let daemon = await site.spawn()
      for (const [call, type, payload, then] of kills) {
        const release = slack.hold(call)
        await slack.sockets.deliver(type, payload)
        await called(call)
        await daemon.end('SIGKILL')
        release()
        daemon = await site.spawn()
        await called(then)
      }
      return slack.posts.map(({ text }) => text)
    }
    const [thread, ts] = ['1700000000.000100', '1700000000.000200']
    const start = started(thread, { channel_id: 'C0GEN' })
    const assistant = await postsWithKills(
      ASSISTANT,
      ['chat.postMessage', 'events_api', start, 'assistant.threads.setSuggestedPrompts'],
      ['chat.startStream', 'events_api', question('Where am I?', ts, thread), 'chat.stopStream'],
    )
    const submitted = view('view_submission', 'sun')
    const modals = await postsWithKills(MODALS, [
      'chat.postMessage',
      'interactive',
      submitted,
      'views.publish',
    ])
    assert.deepEqual([...assistant, ...modals], ['What can I do?', 'You are in C0GEN', 'You wish sun'])
  })
})
