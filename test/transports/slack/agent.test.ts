import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { openSite } from '../../fixtures/daemon.ts'
import { type ModelAnswer, startOpenAiServer } from '../../fixtures/openai-server.ts'
import { type SlackServer, startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { callback, deliverEvent, messagesFrom, shown, startSlackGateway } from './harness.ts'

const THREAD = '1600000000.000001'

/** The event that Ann opened the assistant, which begins a conversation. */
function started(channel: string): JsonObject {
  const place = { user_id: 'U1ANN', channel_id: channel, thread_ts: THREAD, context: { channel_id: 'C0GEN' } }
  return { ...callback({}), event: { type: 'assistant_thread_started', assistant_thread: place } }
}

const callsOf = (slack: SlackServer, method: string, thread?: string) =>
  slack.calls
    .filter(({ method: called, args }) => called.endsWith(method) && (!thread || args.thread_ts === thread))
    .map(({ args }) => args)

test('a conversation with an agent begins with a greeting and prompts, and its messages have the context of the author', async (t) => {
  const prompts = [{ title: 'Sum up', message: 'Sum up this channel' }]
  const setup = await startSlackGateway({ assistant: { greeting: 'What can I do?', prompts } })
  t.after(() => setup.close())
  const { server } = setup
  server.isForAgents = true
  await messagesFrom(setup, 'events_api', started('D1ANN'))
  const [given] = await until(() => {
    const calls = callsOf(server, 'setSuggestedPrompts', THREAD)
    return calls[0] && calls
  }, 'prompts')
  assert.deepEqual(JSON.parse(String(given?.prompts)), prompts)
  assert.deepEqual([server.posts.map(shown), server.posts[0]?.thread_ts], [['What can I do?'], THREAD])
  const { data } = await deliverEvent(setup, { text: 'hi', channel: 'D1ANN', thread_ts: THREAD })
  assert.deepEqual([data.context, data.mine], [{ channel_id: 'C0GEN' }, true])

  // An app that is declared as an agent has no such threads: each message has the context itself.
  await deliverEvent(setup, { type: 'app_home_opened', tab: 'messages', channel: 'D1ANN' })
  await until(() => callsOf(server, 'setSuggestedPrompts').length === 2, 'prompts again')
  assert.equal(server.posts.length, 1, 'no greeting each time')
  const context = { entities: [{ type: 'slack#/types/channel_id', value: 'C0GEN' }] }
  const message = await deliverEvent(setup, { text: 'hi', channel: 'D1ANN', app_context: context })
  assert.deepEqual(message.data.context, context)
})

test('a skill that continues after the end of its run shows no status', async (t) => {
  const setup = await startSlackGateway({ progress: 'on' })
  t.after(() => setup.close())
  const message = await deliverEvent(setup, { text: 'hi', ts: THREAD })
  const statuses = () =>
    callsOf(setup.server, 'assistant.threads.setStatus', THREAD).map(({ status }) => status)
  const indicator = setup.transport.working?.(message, () => {})
  indicator?.tool('search')
  indicator?.end()
  indicator?.tool('late')
  await until(() => statuses().includes(''), 'the end')
  // A late status would be set before this message is read.
  await deliverEvent(setup, { text: 'next' })
  assert.deepEqual(statuses(), ['is using search…', ''])
})

describe('a model on Slack', async () => {
  const slack = await startSlackServer()
  slack.isForAgents = true
  const answers: ModelAnswer[] = []
  const model = await startOpenAiServer(Array(20).fill(() => answers.shift()))
  after(() => Promise.all([model.close(), slack.close()]))
  const site = openSite({
    routes: `
gateways:
  team: { transport: slack, mode: socket, bot-token: xoxb-test, app-token: xapp-test, api-url: "${slack.apiUrl}", assistant: { greeting: Hello } }
model: { name: "openai-compatible:tiny", base-url: "${model.url}", api-key: key }
routes:
  - { name: bolt, match: { gateway: team, channel: D2BOLT }, bolt: ./app.mjs }
  - { name: rated, match: { gateway: team, action: feedback }, skill: rated }
  - { name: talk, match: { gateway: team, event: message }, skill: helper }
  - { name: rest, match: { gateway: team }, bolt: ./app.mjs }
`,
    skills: {
      rated: `export default { description: 'Rates.', run: ({ message: { data } }) => data.value + ' ' + data.blockId }`,
    },
  })
  site.write(
    'skills/helper/SKILL.md',
    '---\nname: helper\ndescription: Helps.\nallowed-tools: echo\n---\nHelp.',
  )
  site.write(
    'app.mjs',
    `import { Assistant } from '@slack/bolt'
export default (app) => app.assistant(new Assistant({
  threadStarted: ({ say }) => say('Bolt says hi'),
  userMessage: async ({ setStatus, say }) => { await setStatus('is boltish…'); await say('Bolt answers') },
}))`,
  )
  await site.start()

  let count = 0
  /**
   * Asks in a new conversation. Resolves with the thread of the answer once its text is
   * `beginning`.
   */
  const ask = async (text: string, beginning: string) => {
    const ts = slack.nextTs()
    await slack.sockets.deliver('events_api', callback({ text, ts, channel: `D${++count}` }))
    await until(() => textsIn(ts)[0] === beginning, 'the beginning')
    return ts
  }
  const postIn = (thread: string) => slack.posts.find((each) => each.thread_ts === thread)
  const textsIn = (thread: string) => slack.posts.filter((each) => each.thread_ts === thread).map(shown)
  const statuses = (thread: string) => callsOf(slack, 'threads.setStatus', thread).map(({ status }) => status)
  /** The second block of the answer, below its text. */
  const blockIn = (thread: string) => Object([postIn(thread)?.blocks].flat()[1])
  const click = (thread: string, action: object) => {
    const { ts = '', channel = '' } = postIn(thread) ?? {}
    return slack.sockets.deliver('interactive', {
      type: 'block_actions',
      team: { id: 'T0TEAM' },
      user: { id: 'U1ANN' },
      channel: { id: channel },
      trigger_id: ts,
      message: { ts, thread_ts: thread },
      actions: [{ ...action, action_ts: ts }],
    })
  }
  const isStopped = (thread: string) =>
    until(() => /^It is\s+_Stopped._$/.test(textsIn(thread)[0] ?? ''), 'the end')

  test('shows its status, streams its answer, and receives feedback', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    answers.push({ calls: [{ name: 'echo', args: { text: 'x' } }] }, { text: 'It is ', until: promise })
    const thread = await ask('two and two?\nplease', 'It is ')
    const [stream] = callsOf(slack, 'chat.startStream', thread)
    assert.deepEqual([stream?.recipient_user_id, stream?.recipient_team_id], ['U1ANN', 'T0TEAM'])
    assert.doesNotMatch(String(stream?.chunks), /Stop/, 'Slack has a stop button of its own')
    resolve('four.')
    await until(() => textsIn(thread)[0] === 'It is four.', 'the complete answer')
    await until(() => callsOf(slack, 'sessions.setStatus', thread).length === 2, 'a session that waits')
    assert.deepEqual(statuses(thread), ['is thinking…', 'is using echo…', 'is thinking…', ''])
    const sessions = callsOf(slack, 'sessions.setStatus', thread).map(({ status }) => status)
    assert.deepEqual(sessions, ['processing', 'active'])
    assert.equal(callsOf(slack, 'setTitle', thread)[0]?.title, 'two and two?')

    const feedback = () => (blockIn(thread).elements ? blockIn(thread) : undefined)
    const { type, block_id, elements } = await until(feedback, 'the feedback buttons')
    const [{ type: element, action_id, negative_button }] = elements
    assert.deepEqual([type, element], ['context_actions', 'feedback_buttons'])
    await click(thread, { type: element, action_id, block_id, value: negative_button.value })
    await until(() => textsIn(thread)[1] === `bad ${block_id}`, 'the reply of the skill to the feedback')
  })

  test('is stopped by its author, and the text so far stays', async () => {
    answers.push({ text: 'It is ', until: new Promise(() => {}) })
    const thread = await ask('and then?', 'It is ')
    const { channel = '' } = postIn(thread) ?? {}
    await slack.sockets.deliver(
      'events_api',
      callback({ type: 'agent_session_stopped', channel, thread_ts: thread }),
    )
    await isStopped(thread)
    await until(() => statuses(thread).at(-1) === '', 'no status')
    assert.equal(model.aborted(), 1)
  })

  test('edits its post, which has a stop button, if Slack has no methods for agents', async (t) => {
    slack.isForAgents = false
    t.after(() => Object.assign(slack, { isForAgents: true }))
    answers.push({ text: 'It is ', until: new Promise(() => {}) })
    const thread = await ask('and before?', 'It is  …')
    // The Bolt app, which gets the click too, does not acknowledge it.
    assert.equal((await click(thread, blockIn(thread).elements[0])).acked, true)
    await isStopped(thread)
  })

  test('does not greet or show a status for messages of a Bolt app, which does it itself', async () => {
    await slack.sockets.deliver('events_api', started('D2BOLT'))
    const message = {
      text: 'x',
      ts: slack.nextTs(),
      channel: 'D2BOLT',
      channel_type: 'im',
      thread_ts: THREAD,
    }
    await slack.sockets.deliver('events_api', callback(message))
    await until(() => textsIn(THREAD).length === 2, 'the answer of the app')
    assert.deepEqual([textsIn(THREAD), statuses(THREAD)], [['Bolt says hi', 'Bolt answers'], ['is boltish…']])
  })
})
