import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createSite, type DaemonProcess, type Site } from '../fixtures/daemon.ts'
import { type SlackServer, startSlackServer } from '../fixtures/slack-server.ts'
import { until } from '../fixtures/until.ts'

const DEPLOY = `export default {
  description: 'deploys',
  metadata: { approval: { title: 'Deploy it?', approvers: ['U2BOB'] } },
  run: () => 'deployed',
}`

describe('a slash command that needs an approval', { timeout: 90_000 }, () => {
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
  - { name: deploys, match: { gateway: team, command: deploy }, skill: deploy }
`,
      skills: { deploy: DEPLOY },
    })
    daemon = await site.start()
  })
  after(async () => {
    await daemon?.end()
    site?.remove()
    await slack?.close()
  })

  const answers = () =>
    slack.calls.filter(({ method }) => method === 'response_url').map(({ args }) => args.text)

  test('is asked where its approvers see it, and answered to its author alone', async () => {
    await slack.sockets.deliver('slash_commands', {
      command: '/deploy',
      text: '',
      user_id: 'U1ANN',
      user_name: 'ann',
      channel_id: 'C0GEN',
      team_id: 'T0TEAM',
      trigger_id: '1.1',
      response_url: slack.apiUrl.replace('/api/', '/respond/1'),
    })
    const asked = await until(() => slack.posts.find(({ blocks }) => blocks !== undefined), 'the question')
    assert.deepEqual([asked.channel, asked.ephemeralTo, answers()], ['C0GEN', undefined, []])
    const id = /"trivium-approval:([^"]+)"/.exec(JSON.stringify(asked.blocks))?.[1] ?? ''

    await slack.sockets.deliver('interactive', {
      type: 'block_actions',
      team: { id: 'T0TEAM' },
      user: { id: 'U2BOB' },
      channel: { id: 'C0GEN' },
      trigger_id: '2.1',
      container: { type: 'message', message_ts: asked.ts, channel_id: 'C0GEN' },
      message: { ts: asked.ts },
      actions: [{ action_id: 'trivium-approve', value: id, action_ts: '2.1', type: 'button' }],
    })
    await until(() => answers().includes('deployed'), 'the answer')
    await until(
      () => /Approved by <@U2BOB>/.test(JSON.stringify(asked.blocks)),
      'the decision in the same post',
    )
    assert.deepEqual([answers(), slack.posts.length], [['deployed'], 1])
    const { out } = await site.run(['dead-letters', 'list'])
    assert.match(out, /No dead letters/)
  })
})
