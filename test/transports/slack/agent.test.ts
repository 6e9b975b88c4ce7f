import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { openSite } from '../../fixtures/daemon.ts'
import { type ModelAnswer, startOpenAiServer } from '../../fixtures/openai-server.ts'
import { type SlackServer, startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { callback, shown } from './harness.ts'

const THREAD = '1600000000.000001'

/** Somebody opened the assistant: a conversation begins. */
function started(channel: string): JsonObject {
  const place = { user_id: 'U1ANN', channel_id: channel, thread_ts: THREAD, context: { channel_id: 'C0GEN' } }
  return { ...callback({}), event: { type: 'assistant_thread_started', assistant_thread: place } }
}

const callsOf = (slack: SlackServer, method: string, thread?: string) =>
  slack.calls
    .filter(({ method: called, args }) => called.endsWith(method) && (!thread || args.thread_ts === thread))
    .map(({ args }) => args)

describe('a model on Slack', async () => {
  const slack = await startSlackServer()
  slack.isForAgents = true
  const answers: ModelAnswer[] = []
  const model = await startOpenAiServer(Array(20).fill(() => answers.shift()))
  after(() => Promise.all([model.close(), slack.close()]))
  const site = openSite({
    routes: `
gateways:
  team: { transport: slack, mode: socket, botToken: xoxb-test, appToken: xapp-test, apiUrl: "${slack.apiUrl}" }
model: { name: "openai-compatible:tiny", base-url: "${model.url}", api-key: key }
routes:
  - { name: bolt, match: { gateway: team, channel: D2BOLT }, bolt: ./app.mjs }
  - { name: talk, match: { gateway: team, event: message }, skill: helper }
  - { name: rest, match: { gateway: team }, bolt: ./app.mjs }
`,
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
  /** Asks, and resolves with the thread of the answer, once that begins so. */
  const ask = async (text: string, beginning: string) => {
    const ts = slack.nextTs()
    await slack.sockets.deliver('events_api', callback({ text, ts, channel: `D${++count}` }))
    await until(() => textsIn(ts)[0] === beginning, 'the beginning')
    return ts
  }
  const postIn = (thread: string) => slack.posts.find((each) => each.thread_ts === thread)
  const textsIn = (thread: string) => slack.posts.filter((each) => each.thread_ts === thread).map(shown)
  const statuses = (thread: string) => callsOf(slack, 'threads.setStatus', thread).map(({ status }) => status)

  test('shows what it is about, and streams its answer', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    answers.push({ calls: [{ name: 'echo', args: { text: 'x' } }] }, { text: 'It is ', until: promise })
    const thread = await ask('two and two?\nplease', 'It is ')
    const [begun] = callsOf(slack, 'chat.startStream', thread)
    assert.deepEqual([begun?.recipient_user_id, begun?.recipient_team_id], ['U1ANN', 'T0TEAM'])
    resolve('four.')
    await until(() => textsIn(thread)[0] === 'It is four.', 'the whole')
    await until(() => callsOf(slack, 'sessions.setStatus', thread).length === 2, 'a session that waits')
    assert.deepEqual(statuses(thread), ['is thinking…', 'is using echo…', 'is thinking…', ''])
    const sessions = callsOf(slack, 'sessions.setStatus', thread).map(({ status }) => status)
    assert.deepEqual(sessions, ['processing', 'active'])
  })

  test('is stopped by who waits for it, and what it said stays', async () => {
    answers.push({ text: 'It is ', until: new Promise(() => {}) })
    const thread = await ask('and then?', 'It is ')
    const { channel = '' } = postIn(thread) ?? {}
    await slack.sockets.deliver(
      'events_api',
      callback({ type: 'agent_session_stopped', channel, thread_ts: thread }),
    )
    await until(() => /^It is\s+_Stopped._$/.test(textsIn(thread)[0] ?? ''), 'the end')
    await until(() => statuses(thread).at(-1) === '', 'no status')
    assert.equal(model.aborted(), 1)
  })

  test('is edited where Slack takes no stream', async (t) => {
    slack.isForAgents = false
    t.after(() => Object.assign(slack, { isForAgents: true }))
    const { promise, resolve } = Promise.withResolvers<string>()
    answers.push({ text: 'It is ', until: promise })
    const thread = await ask('and before?', 'It is  …')
    resolve('four.')
    await until(() => textsIn(thread)[0] === 'It is four.', 'the whole')
  })

  test('leaves to a Bolt app what that shows itself', async () => {
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
