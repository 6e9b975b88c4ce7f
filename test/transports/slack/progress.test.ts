import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { routeSchema } from '../../../src/config/route-schema.ts'
import { startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { callback, command, deliverEvent, startWorld, type World } from './harness.ts'

const PLEASE = routeSchema.parse({ name: 'please', match: { text: 'please' }, skill: 'help' })

let world: World
afterEach(() => world.close())

test('progress is shown with reactions on what a route wants, and on nothing else', async () => {
  world = await startWorld({ progress: 'on' }, undefined, { routes: [PLEASE] })
  const { store } = world.fixture
  const wanted = await deliverEvent(world, { text: 'please' })
  const unwanted = await deliverEvent(world, { text: 'chatter' })
  assert.deepEqual(
    [wanted, unwanted].map(({ data }) => data.respond),
    ['result', undefined],
  )
  await until(() => world.server.reactions.length === 1, 'a reaction')
  store.settle(wanted.id, 'done')
  await until(() => world.server.reactions.length === 3, 'all reactions')
  assert.deepEqual(world.server.reactions, [
    { verb: 'add', name: 'eyes', ts: wanted.data.ts },
    { verb: 'remove', name: 'eyes', ts: wanted.data.ts },
    { verb: 'add', name: 'white_check_mark', ts: wanted.data.ts },
  ])
})

test('progress that a daemon left behind when it ended is brought to its end by the next, and by one only', async () => {
  world = await startWorld({ progress: 'on' }, undefined, { routes: [PLEASE] })
  const { server, fixture, transport } = world
  const message = await deliverEvent(world, { text: 'please' })
  await until(() => server.reactions.length === 1, 'eyes')
  await transport.stop()
  await world.another()
  const third = await world.another()
  const kept = async () => (await fixture.store.kv.list('slack/team/working/', 10)).items
  assert.equal((await kept()).length, 1)
  fixture.store.settle(message.id, 'failed')
  await until(() => server.reactions.length === 3, 'all reactions')
  assert.deepEqual(
    server.reactions.map(({ verb, name }) => `${verb} ${name}`),
    ['add eyes', 'remove eyes', 'add warning'],
  )
  assert.deepEqual(await kept(), [])
  await third.transport.stop()
  assert.equal(server.reactions.length, 3)
})

test('a workspace whose token may not react does not take the reactions of the others away', async () => {
  const slack = await startSlackServer()
  const who = (n: number) => ({
    ok: true,
    team: 't',
    team_id: `T${n}`,
    user_id: `U${n}BOT`,
    bot_id: `B${n}BOT`,
  })
  slack.fail('auth.test', { body: who(1) }, { body: who(2) })
  const options = { 'bot-token': ['xoxb-1', 'xoxb-2'], progress: 'on' }
  world = await startWorld(options, undefined, { routes: [PLEASE], server: slack })
  const please = async (team_id: string) => {
    const payload = {
      ...callback({ text: 'please', ts: slack.nextTs() }),
      team_id,
      authorizations: [{ team_id }],
    }
    await slack.sockets.deliver('events_api', payload)
  }
  slack.fail('reactions.add', { body: { ok: false, error: 'missing_scope' } })
  await please('T1')
  await until(() => slack.calls.some(({ method }) => method === 'reactions.add'), 'the refused reaction')
  await please('T2')
  await until(() => slack.reactions.length === 1, 'a reaction in the other workspace')
})

const COMMAND = routeSchema.parse({ name: 'ask', match: { command: '/ask' }, skill: 'help' })
const note = (id: string) => new RegExp(`could not answer.*trivium message show ${id}`)

test('where there is no answer its author alone is told, with what the operator types to see why', async () => {
  world = await startWorld({ progress: 'on' }, undefined, { routes: [PLEASE, COMMAND] })
  const { server, fixture } = world
  const message = await deliverEvent(world, { text: 'please', thread_ts: server.nextTs() })
  await until(() => server.reactions.length === 1, 'eyes')
  fixture.store.settle(message.id, 'failed')
  const shown = () => server.posts.find(({ ephemeralTo }) => ephemeralTo === 'U1ANN')
  await until(shown, 'the note')
  assert.match(shown()?.text ?? '', note(message.id))
  assert.equal(shown()?.thread_ts, message.data.thread)

  const typed = await command(world)
  fixture.store.settle(typed.id, 'failed')
  const said = () => server.calls.filter(({ method }) => method === 'response_url')
  await until(() => said().length === 1, 'the answer to the command')
  assert.match(String(said()[0]?.args.text), note(typed.id))
  assert.equal(server.reactions.length, 3)
})
