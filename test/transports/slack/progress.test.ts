import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { routeSchema } from '../../../src/config/route-schema.ts'
import { startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { callback, command, deliverEvent, type SlackSetup, startSlackGateway } from './harness.ts'

const PLEASE = routeSchema.parse({ name: 'please', match: { text: 'please' }, skill: 'help' })

let setup: SlackSetup
afterEach(() => setup.close())

test('reactions show the progress of messages with a route, and of no others', async () => {
  setup = await startSlackGateway({ progress: 'on' }, undefined, { routes: [PLEASE] })
  const { store } = setup.fixture
  const routed = await deliverEvent(setup, { text: 'please' })
  const unrouted = await deliverEvent(setup, { text: 'chatter' })
  // `respond: 'result'` marks the messages whose outcome the gateway follows.
  assert.deepEqual(
    [routed, unrouted].map(({ data }) => data.respond),
    ['result', undefined],
  )
  await until(() => setup.server.reactions.length === 1, 'a reaction')
  store.settle(routed.id, 'done')
  await until(() => setup.server.reactions.length === 3, 'all reactions')
  assert.deepEqual(setup.server.reactions, [
    { verb: 'add', name: 'eyes', ts: routed.data.ts },
    { verb: 'remove', name: 'eyes', ts: routed.data.ts },
    { verb: 'add', name: 'white_check_mark', ts: routed.data.ts },
  ])
})

test('the reactions of a daemon that ended are completed by one of the other daemons', async () => {
  setup = await startSlackGateway({ progress: 'on' }, undefined, { routes: [PLEASE] })
  const { server, fixture, transport } = setup
  const message = await deliverEvent(setup, { text: 'please' })
  await until(() => server.reactions.length === 1, 'eyes')
  await transport.stop()
  const second = await setup.another()
  const third = await setup.another()
  const stored = async () => (await fixture.store.kv.list('slack/team/working/', 10)).items
  assert.equal((await stored()).length, 1)
  fixture.store.settle(message.id, 'failed')
  await until(() => server.reactions.length === 3, 'all reactions')
  assert.deepEqual(
    server.reactions.map(({ verb, name }) => `${verb} ${name}`),
    ['add eyes', 'remove eyes', 'add warning'],
  )
  assert.deepEqual(await stored(), [])
  // Stopping ends all pending work: only one daemon has reacted.
  await second.transport.stop()
  await third.transport.stop()
  assert.equal(server.reactions.length, 3)
})

test('a workspace whose token may not add reactions does not prevent reactions in others', async () => {
  const slack = await startSlackServer()
  const identity = (n: number) => ({
    ok: true,
    team: 't',
    team_id: `T${n}`,
    user_id: `U${n}BOT`,
    bot_id: `B${n}BOT`,
  })
  slack.answerNext('auth.test', { body: identity(1) }, { body: identity(2) })
  const options = { 'bot-token': ['xoxb-1', 'xoxb-2'], progress: 'on' }
  setup = await startSlackGateway(options, undefined, { routes: [PLEASE], server: slack })
  const please = async (team_id: string) => {
    const payload = {
      ...callback({ text: 'please', ts: slack.nextTs() }),
      team_id,
      authorizations: [{ team_id }],
    }
    await slack.sockets.deliver('events_api', payload)
  }
  slack.answerNext('reactions.add', { body: { ok: false, error: 'missing_scope' } })
  await please('T1')
  await until(() => slack.calls.some(({ method }) => method === 'reactions.add'), 'the refused reaction')
  await please('T2')
  await until(() => slack.reactions.length === 1, 'a reaction in the other workspace')
})

const COMMAND = routeSchema.parse({ name: 'ask', match: { command: '/ask' }, skill: 'help' })
const noteOf = (id: string) => new RegExp(`could not answer.*trivium message show ${id}`)

test('a message without an answer gets an ephemeral note with the command that shows the reason', async () => {
  setup = await startSlackGateway({ progress: 'on' }, undefined, { routes: [PLEASE, COMMAND] })
  const { server, fixture } = setup
  const message = await deliverEvent(setup, { text: 'please', thread_ts: server.nextTs() })
  await until(() => server.reactions.length === 1, 'eyes')
  fixture.store.settle(message.id, 'failed')
  const shown = () => server.posts.find(({ ephemeralTo }) => ephemeralTo === 'U1ANN')
  await until(shown, 'the note')
  assert.match(shown()?.text ?? '', noteOf(message.id))
  assert.equal(shown()?.thread_ts, message.data.thread)

  const typed = await command(setup)
  fixture.store.settle(typed.id, 'failed')
  const answers = () => server.calls.filter(({ method }) => method === 'response_url')
  await until(() => answers().length === 1, 'the answer to the command')
  assert.match(String(answers()[0]?.args.text), noteOf(typed.id))
  // Those of the message; a command has no reactions.
  assert.equal(server.reactions.length, 3)
})
