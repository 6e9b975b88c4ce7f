import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { compileMember } from '../../../src/core/identity.ts'
import { openSite } from '../../fixtures/daemon.ts'
import { type SlackServer, startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { callback, deliverEvent, interactionOf, startSlackGateway } from './harness.ts'

/**
 * Sets the members of user groups (https://docs.slack.dev/reference/objects/usergroup-object) for
 * the next reads.
 */
const membersAre = (slack: SlackServer, ...lists: string[][]) =>
  slack.answerNext('usergroups.users.list', ...lists.map((users) => ({ body: { ok: true, users } })))

describe('a user group', () => {
  test('can be a member of a role, and changes of its people apply when Slack reports them', async (t) => {
    const slack = await startSlackServer()
    t.after(() => slack.close())
    membersAre(slack, ['U1ANN'])
    const site = openSite({
      routes: `
gateways:
  team:
    transport: slack
    mode: socket
    bot-token: xoxb-test
    app-token: xapp-test
    api-url: "${slack.apiUrl}"
    user-groups: [S0ADMINS]
    progress: off
access:
  roles:
    admins: { members: ["team:group:S0ADMINS"], skills: ["*"] }
routes:
  - { name: all, match: { gateway: team, event: message }, skill: echo }
`,
    })
    await site.start()
    await until(() => slack.sockets.open() === 1, 'a socket')
    const say = (user: string, text: string) =>
      slack.sockets.deliver('events_api', callback({ user, text, ts: slack.nextTs() }))
    const answered = (text: string) => slack.posts.some((post) => post.text.includes(text))
    await say('U1ANN', 'I am in')
    await until(() => answered('I am in'), 'an answer')
    await say('U2BOB', 'I am not')
    const dead = async () => (await site.run(['dead-letters', 'list', '--json'])).out
    await until(async () => (await dead()).includes('forbidden'), 'the refusal')
    assert.ok(!answered('I am not'))

    membersAre(slack, ['U2BOB'])
    const changed = { type: 'subteam_members_changed', subteam_id: 'S0ADMINS', team_id: 'T0TEAM' }
    const before = slack.calls.filter(({ method }) => method === 'usergroups.users.list').length
    await slack.sockets.deliver('events_api', callback({ ...changed, user: '' }))
    await until(
      () => slack.calls.filter(({ method }) => method === 'usergroups.users.list').length > before,
      'the new members',
    )
    await until(async () => {
      await say('U2BOB', 'now I am')
      return answered('now I am')
    }, 'an answer for the new member')
    await say('U1ANN', 'no more')
    await until(
      async () => ((await dead()).match(/forbidden/g) ?? []).length > 1,
      'the refusal of the former member',
    )
    assert.ok(!answered('no more'))
  })

  test('can be an approver: the buttons work for its people, and for no others', async (t) => {
    const slack = await startSlackServer()
    t.after(() => slack.close())
    membersAre(slack, ['U1ANN'])
    const site = openSite({
      routes: `
gateways:
  team: { transport: slack, mode: socket, bot-token: xoxb-test, app-token: xapp-test, api-url: "${slack.apiUrl}", user-groups: [S0ADMINS], progress: off }
routes:
  - { name: all, match: { gateway: team, event: message }, skill: deploy }
`,
      skills: {
        deploy: `export default {
  description: 'deploys',
  metadata: { approval: { title: 'Deploy?', approvers: ['team:group:S0ADMINS'] } },
  run: () => 'deployed',
}`,
      },
    })
    await site.start()
    await until(() => slack.sockets.open() === 1, 'a socket')
    await slack.sockets.deliver('events_api', callback({ user: 'U2BOB', text: 'go', ts: slack.nextTs() }))
    const request = () =>
      slack.posts.find(({ blocks }) => JSON.stringify(blocks ?? '').includes('trivium-approve'))
    const question = structuredClone(await until(request, 'the buttons'))
    const { ts, thread_ts = ts } = question
    const [, id = ''] = /trivium-approval:([^"]+)/.exec(JSON.stringify(question.blocks)) ?? []
    const click = (user: string, action_ts: string) => {
      const actions = [{ action_id: 'trivium-approve', value: id, action_ts, type: 'button', block_id: 'b' }]
      const container = { type: 'message', message_ts: ts, channel_id: 'C0GEN' }
      const by = {
        user: { id: user, team_id: 'T0TEAM' },
        channel: { id: 'C0GEN' },
        message: { ts, thread_ts },
      }
      return slack.sockets.deliver(
        'interactive',
        interactionOf({ type: 'block_actions', actions, container, ...by }),
      )
    }
    const isPosted = (pattern: RegExp) => slack.posts.some(({ text }) => pattern.test(text))
    await click('U2BOB', '1')
    await until(() => isPosted(/not among its approvers/), 'the refusal')
    assert.ok(!isPosted(/^deployed$/))
    await click('U1ANN', '2')
    await until(() => isPosted(/^deployed$/), 'the deployment')
  })

  test('whose members cannot be read has none, and health shows the reason', async () => {
    const server = await startSlackServer()
    server.answerNext('usergroups.users.list', { body: { ok: false, error: 'missing_scope' } })
    const setup = await startSlackGateway({ 'user-groups': ['S0ADMINS'] }, undefined, { server })
    after(() => setup.close())
    const { from } = await deliverEvent(setup, { text: 'hi' })
    assert.equal(from.groups, undefined)
    const { ok, detail } = setup.transport.health()
    assert.equal(ok, false)
    assert.match(detail ?? '', /user group S0ADMINS cannot be read: missing_scope/)
  })

  test('of one of two workspaces: health shows its reason, not that the other does not know the group', async () => {
    const server = await startSlackServer()
    server.answerNext(
      'auth.test',
      { body: { ok: true, team_id: 'T1', user_id: 'U1BOT', bot_id: 'B1' } },
      { body: { ok: true, team_id: 'T2', user_id: 'U2BOT', bot_id: 'B2' } },
    )
    server.answerNext(
      'usergroups.users.list',
      { body: { ok: false, error: 'no_such_subteam' } },
      { body: { ok: false, error: 'missing_scope' } },
    )
    const options = { 'user-groups': ['S0ADMINS'], 'bot-token': ['xoxb-one', 'xoxb-two'] }
    const setup = await startSlackGateway(options, undefined, { server })
    after(() => setup.close())
    assert.match(setup.transport.health().detail ?? '', /S0ADMINS cannot be read: missing_scope/)
  })

  test('does not apply to people of another workspace, or without a verified author', async () => {
    const server = await startSlackServer()
    membersAre(server, ['U1ANN'])
    const setup = await startSlackGateway({ 'user-groups': ['S0ADMINS'] }, undefined, { server })
    after(() => setup.close())
    const own = await deliverEvent(setup, { text: 'hi' })
    const foreign = await deliverEvent(setup, { text: 'hi', user_team: 'T0OTHER', team: 'T0OTHER' })
    assert.deepEqual([own.from.groups, foreign.from.groups], [['S0ADMINS'], undefined])
    const isMember = compileMember('team:group:S0ADMINS')
    const groups = ['S0ADMINS']
    assert.ok(isMember({ kind: 'route', id: 'team:U1', groups }))
    assert.ok(!isMember({ kind: 'route', id: 'other:U1', groups }))
    assert.ok(!isMember({ kind: 'route', id: 'team:external:U1', groups }))
    assert.ok(!isMember({ kind: 'route', groups }))
    assert.ok(!isMember({ kind: 'route', id: 'team:U1', groups: ['S0ADMINS2', 's0admins'] }))
    assert.ok(!isMember({ kind: 'route', id: 'team:group:S0ADMINS' }))
  })

  test('that is mentioned is shown by its handle', async () => {
    const setup = await startSlackGateway()
    after(() => setup.close())
    const usergroups = [{ id: 'S0ADMINS', handle: 'admins', name: 'Admins' }]
    setup.server.answerNext('usergroups.list', { body: { ok: true, usergroups } })
    const { text } = await deliverEvent(setup, { text: 'ask <!subteam^S0ADMINS> or <!subteam^S0OPS|@ops>' })
    assert.equal(text, 'ask @admins or @ops')
  })
})
