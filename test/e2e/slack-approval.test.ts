import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { type Posted, startSlackServer } from '../fixtures/slack-server.ts'
import { until } from '../fixtures/until.ts'
import { callback } from '../transports/slack/harness.ts'

const skill = (title: string, timeout: string, said: string) => `export default {
  description: 'needs an approval',
  metadata: { approval: { title: '${title}', approvers: ['team:U2BOB'], timeout: '${timeout}' } },
  run: () => '${said}',
}`

describe('an approval on Slack', { timeout: 300_000 }, async () => {
  const slack = await startSlackServer()
  after(() => slack.close())
  const site = openSite({
    routes: `
gateways:
  team: { transport: slack, mode: socket, bot-token: xoxb-test, app-token: xapp-test, api-url: "${slack.apiUrl}", ping: 200ms, progress: off }
routes:
  - { name: hasty, match: { gateway: team, event: message, prefix: quickly }, skill: hasty }
  - { name: deploys, match: { gateway: team, event: message }, skill: deploy }
  - { name: commands, match: { gateway: team, command: deploy }, skill: deploy }
`,
    skills: {
      deploy: skill('Deploy it?', '1h', 'deployed'),
      hasty: skill('Quickly?', '1s', 'done in haste'),
    },
  })
  let daemon = await site.spawn()

  const shows = (what: string | RegExp) => (post?: Posted) =>
    new RegExp(what).test(JSON.stringify(post?.blocks ?? ''))
  const question = () => slack.posts.find(shows('trivium-approve'))
  const says = (what: RegExp) => slack.posts.some(({ text }) => what.test(text))
  /** The id of the approval that a post requests. */
  const idIn = (asked: Posted) => /"trivium-approval:([^"]+)"/.exec(JSON.stringify(asked.blocks))?.[1] ?? ''
  const postsOf = (thread: string) => slack.posts.filter((post) => post.thread_ts === thread)

  /**
   * Sends a message of Ann until it is acknowledged. Resolves with its timestamp, the id of its
   * thread.
   */
  const say = async (text: string): Promise<string> => {
    const ts = slack.nextTs()
    const payload = callback({ text, ts })
    // Sent again if no ack comes, as Slack does: on a busy machine, the gateway closes a socket
    // that answers no ping.
    const sent = async () => (await slack.sockets.deliver('events_api', payload, { within: 5000 })).acked
    await until(sent, 'the ack')
    return ts
  }

  /** A click on the button of a question, even after the question has been answered. */
  const click = (asked: Posted, user: string, trigger: string, verb = 'approve') => {
    const { ts, thread_ts = '' } = asked
    return slack.sockets.deliver('interactive', {
      type: 'block_actions',
      team: { id: 'T0TEAM' },
      user: { id: user, team_id: 'T0TEAM' },
      channel: { id: 'C0GEN' },
      trigger_id: trigger,
      container: { type: 'message', message_ts: ts, channel_id: 'C0GEN' },
      message: { ts, ...(thread_ts ? { thread_ts } : {}) },
      actions: [{ action_id: `trivium-${verb}`, value: idIn(asked), action_ts: trigger }],
    })
  }

  test('is decided once and only by an approver, survives a restart, and shows who decided', async () => {
    await say('go')
    const asked = structuredClone(await until(question, 'the question with its buttons'))
    await daemon.end('SIGKILL')
    daemon = await site.start()

    await click(asked, 'U1ANN', '1.1')
    const refusal = await until(
      () => slack.posts.find(({ text }) => /not among its approvers/.test(text)),
      'the refusal',
    )
    assert.equal(refusal.ephemeralTo, 'U1ANN')
    assert.match(refusal.text, /^name-U1ANN, you cannot decide this/)
    assert.equal(says(/^deployed$/), false)

    await click(asked, 'U2BOB', '2.1')
    await until(() => says(/^deployed$/), 'the reply of the skill')
    await until(() => !question(), 'the buttons to go')
    assert.ok(slack.posts.some(shows('U2BOB')))

    await click(asked, 'U2BOB', '3.1', 'deny')
    await until(() => says(/already/), 'the answer to a second click')
    assert.equal(slack.posts.filter(({ text }) => text === 'deployed').length, 1)
    // Daemons of other versions on the same store read this form.
    const [last] = JSON.parse((await site.run(['message-list', '--limit', '1', '--json'])).out)
    const clicked = Object(await daemon.invoke('message-show', { id: last.id }))
    assert.deepEqual(clicked.message.data.approval, { id: idIn(asked), decision: 'deny' })
  })

  test('can be decided from the command line, and shows it in the same post', async () => {
    const ts = await say('go again')
    const id = idIn(await until(question, 'the question'))
    const { code, err } = await site.run(['approval-decide', '--id', id, '--approve'])
    assert.equal(code, 0, err)
    await until(() => postsOf(ts).some(({ text }) => text === 'deployed'), 'the reply of the skill')
    await until(() => !question(), 'the buttons to go')
    assert.equal(postsOf(ts).length, 2)
    assert.ok(shows('Approved')(postsOf(ts)[0]))
  })

  test('expires without a decision, and shows it in the same post', async () => {
    const ts = await say('quickly')
    await until(() => shows('Nobody decided')(postsOf(ts)[0]), 'the end')
    assert.equal(question(), undefined)
    assert.equal(says(/done in haste/), false)
  })

  test('of a slash command is requested where its approvers see it, and its result is shown to its author only', async () => {
    const answers = () =>
      slack.calls.filter(({ method }) => method === 'response_url').map(({ args }) => args.text)
    await slack.sockets.deliver('slash_commands', {
      command: '/deploy',
      text: '',
      user_id: 'U1ANN',
      channel_id: 'C0GEN',
      team_id: 'T0TEAM',
      trigger_id: '4.1',
      response_url: slack.apiUrl.replace('/api/', '/respond/1'),
    })
    const asked = await until(question, 'the question')
    assert.deepEqual([asked.channel, asked.ephemeralTo, answers()], ['C0GEN', undefined, []])
    await click(asked, 'U2BOB', '5.1')
    await until(() => answers().includes('deployed'), 'the answer')
    await until(() => shows('Approved by <@U2BOB>')(asked), 'the decision in the same post')
    assert.deepEqual([answers(), slack.posts.filter((post) => !post.thread_ts).length], [['deployed'], 1])
    assert.match((await site.run(['dead-letter', 'list'])).err, /No dead letters/)
  })
})
