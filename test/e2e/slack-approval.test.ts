import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createSite, type DaemonProcess, type Site } from '../fixtures/daemon.ts'
import { type Posted, type SlackServer, startSlackServer } from '../fixtures/slack-server.ts'
import { until } from '../fixtures/until.ts'

const DEPLOY = `export default {
  description: 'deploys',
  metadata: { approval: { title: 'Deploy it?', approvers: ['U2BOB'] } },
  run: () => 'deployed',
}`

const HASTY = `export default {
  description: 'waits for nobody long',
  metadata: { approval: { title: 'Quickly?', approvers: ['U2BOB'], timeout: '1s' } },
  run: () => 'done in haste',
}`

describe('an approval in Slack', { timeout: 90_000 }, () => {
  let slack: SlackServer
  let site: Site
  let daemon: DaemonProcess

  before(async () => {
    slack = await startSlackServer()
    site = createSite({
      routes: `
gateways:
  team: { transport: slack, mode: socket, botToken: xoxb-test, appToken: xapp-test, apiUrl: "${slack.apiUrl}", ping: 200ms, progress: off }
routes:
  - { name: commanded, match: { gateway: team, command: deploy }, skill: deploy }
  - { name: hasty, match: { gateway: team, event: message, prefix: quickly }, skill: hasty }
  - { name: deploys, match: { gateway: team, event: message }, skill: deploy }
`,
      skills: { deploy: DEPLOY, hasty: HASTY },
    })
    daemon = await site.start()
  })
  after(async () => {
    await daemon?.end()
    site?.remove()
    await slack?.close()
  })

  const question = () =>
    slack.posts.find((post) => JSON.stringify(post.blocks ?? '').includes('trivium-approve'))

  /** The id of the approval that a post asks for. */
  const idIn = (asked: Posted) => /"trivium-approval:([^"]+)"/.exec(JSON.stringify(asked.blocks))?.[1] ?? ''
  const postsOf = (thread: string) => slack.posts.filter((post) => post.thread_ts === thread)

  /** What Ann writes; resolves with its timestamp, which is its thread, once it is acknowledged. */
  const say = async (text: string): Promise<string> => {
    const ts = slack.nextTs()
    const event = {
      type: 'event_callback',
      team_id: 'T0TEAM',
      api_app_id: 'A0APP',
      event_id: `Ev${ts}`,
      authorizations: [{ team_id: 'T0TEAM', user_id: 'U0BOT', is_bot: true }],
      event: { type: 'message', channel: 'C0GEN', channel_type: 'channel', user: 'U1ANN', text, ts },
    }
    assert.ok((await slack.sockets.deliver('events_api', event)).acked)
    return ts
  }

  /** A click on the button of a question, even after the question has been answered. */
  const click = (asked: Posted, user: string, trigger: string, verb = 'approve') => {
    const id = idIn(asked)
    const action = {
      action_id: `trivium-${verb}`,
      block_id: `trivium-approval:${id}`,
      value: id,
      action_ts: trigger,
    }
    const payload = {
      type: 'block_actions',
      team: { id: 'T0TEAM' },
      user: { id: user, team_id: 'T0TEAM' },
      channel: { id: 'C0GEN' },
      trigger_id: trigger,
      container: { type: 'message', message_ts: asked.ts, channel_id: 'C0GEN' },
      message: { ts: asked.ts, thread_ts: asked.thread_ts ?? '' },
      actions: [action],
    }
    return slack.sockets.deliver('interactive', payload)
  }

  test('for a slash command is asked where its approvers see it, and answered to its author alone', async () => {
    const answers = () =>
      slack.calls.filter(({ method }) => method === 'response_url').map(({ args }) => args.text)
    await slack.sockets.deliver('slash_commands', {
      command: '/deploy',
      text: '',
      user_id: 'U1ANN',
      user_name: 'ann',
      channel_id: 'C0GEN',
      team_id: 'T0TEAM',
      trigger_id: '0.1',
      response_url: slack.apiUrl.replace('/api/', '/respond/1'),
    })
    const asked = await until(question, 'the question')
    assert.deepEqual([asked.channel, asked.ephemeralTo, answers()], ['C0GEN', undefined, []])
    await click(asked, 'U2BOB', '0.2')
    await until(() => answers().includes('deployed'), 'the answer')
    await until(() => /Approved by <@U2BOB>/.test(JSON.stringify(asked.blocks)), 'the decision in its place')
    assert.deepEqual([answers(), slack.posts.length], [['deployed'], 1])
    assert.deepEqual(await daemon.invoke('dead-letter-list'), [])
  })

  test('is decided once, by a named person only, survives a restart, and shows who decided', async () => {
    await say('go')
    const asked = structuredClone(await until(question, 'the question with its buttons'))
    await daemon.end('SIGKILL')
    daemon = await site.start()

    await click(asked, 'U1ANN', '1.1')
    await until(() => slack.posts.some(({ text }) => /not among its approvers/.test(text)), 'the refusal')
    assert.equal(
      slack.posts.some(({ text }) => text === 'deployed'),
      false,
    )

    await click(asked, 'U2BOB', '2.1')
    await until(() => slack.posts.some(({ text }) => text === 'deployed'), 'the reply of the skill')
    await until(() => JSON.stringify(question() ?? null) === 'null', 'the buttons to go')
    assert.ok(slack.posts.some((post) => /U2BOB/.test(JSON.stringify(post.blocks ?? ''))))

    await click(asked, 'U2BOB', '3.1', 'deny')
    await until(() => slack.posts.some(({ text }) => /already/.test(text)), 'the answer to a second click')
    assert.equal(slack.posts.filter(({ text }) => text === 'deployed').length, 1)
  })

  test('is decided from the command line as well, and shows it in the same post', async () => {
    const ts = await say('go again')
    const id = idIn(await until(question, 'the question'))
    const { code, err } = await site.run(['approval-decide', '--id', id, '--approve'])
    assert.equal(code, 0, err)
    await until(() => postsOf(ts).some(({ text }) => text === 'deployed'), 'the reply of the skill')
    await until(() => !question(), 'the buttons to go')
    assert.equal(postsOf(ts).length, 2)
    assert.match(JSON.stringify(postsOf(ts)[0]?.blocks), /Approved/)
  })

  test('that nobody decides ends when its time is up, and says so in the same post', async () => {
    const ts = await say('quickly')
    await until(() => /Nobody decided/.test(JSON.stringify(postsOf(ts)[0]?.blocks ?? '')), 'the end', 30_000)
    assert.equal(question(), undefined)
    assert.equal(
      slack.posts.some(({ text }) => text === 'done in haste'),
      false,
    )
  })
})
