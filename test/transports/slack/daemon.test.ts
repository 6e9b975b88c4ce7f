import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { type DaemonProcess, openSite, type Site } from '../../fixtures/daemon.ts'
import { type SlackServer, startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { callback } from './harness.ts'

let slack: SlackServer
let site: Site
afterEach(() => slack.close())

async function open(): Promise<void> {
  slack = await startSlackServer()
  site = openSite({
    ownProcess: 'first',
    routes: `
gateways:
  team: { transport: slack, mode: socket, bot-token: xoxb-test, app-token: xapp-test, api-url: "${slack.apiUrl}", ping: 200ms }
routes:
  - name: talk
    match: { gateway: team, event: message, channel: chan-c0gen }
    skill: echo
`,
  })
}

const eventOf = (text: string) => callback({ text, ts: slack.nextTs() })
const answers = () => slack.posts.map((post) => post.text)

/** The value of a metric of the gateway; undefined if `/metrics` does not list it. */
async function gaugeOf(daemon: DaemonProcess, name: string): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${daemon.token}` }
  const page = await (await fetch(`${daemon.control}/metrics`, { headers })).text()
  const [, value] = new RegExp(`^trivium_${name}\\{gateway="team"\\} (\\S+)$`, 'm').exec(page) ?? []
  return value === undefined ? undefined : Number(value)
}

describe('a daemon on Slack', () => {
  test('exports the number of open sockets and the time of the last event', async () => {
    await open()
    const daemon = await site.start()
    await until(async () => (await gaugeOf(daemon, 'gateway_connections')) === 1, 'one socket')
    const lastEventAt = () => gaugeOf(daemon, 'gateway_last_event_timestamp_seconds')
    await until(
      async () => Date.now() / 1000 - ((await lastEventAt()) ?? Number.POSITIVE_INFINITY) > 0.5,
      'silence',
    )
    const before = Date.now() / 1000
    const delivery = await slack.sockets.deliver('events_api', eventOf('hello'))
    assert.equal(delivery.acked, true)
    assert.ok(((await lastEventAt()) ?? 0) >= before - 0.001, `the event was at ${before}`)

    slack.answerNext(
      'apps.connections.open',
      ...Array.from({ length: 100 }, () => ({ status: 503, body: {} })),
    )
    slack.sockets.cut()
    await until(async () => (await gaugeOf(daemon, 'gateway_connections')) === 0, 'no socket')
    await until(async () => (await gaugeOf(daemon, 'gateway_up')) === 0, 'a gateway that is down')
  })

  test('lists a message as replying, and not as done, until Slack accepts the reply', async () => {
    await open()
    await site.start()
    slack.answerNext('chat.postMessage', ...Array.from({ length: 40 }, () => ({ status: 404, body: {} })))
    await slack.sockets.deliver('events_api', eventOf('hello'))
    const listed = async () => (await site.run(['message', 'list', '--gateway', 'team'])).out
    await until(
      async () => /\treplying(?: at \S+)?\t.*hello/.test(await listed()),
      'the reply that is retried',
    )
    const replying = await site.run(['message', 'list', '--outcome', 'replying'])
    assert.match(replying.out, /hello/)
  })

  test('does not post again if it is killed between a post and its receipt', async () => {
    await open()
    const daemon = await site.start()
    const release = slack.hold('chat.postMessage')
    await slack.sockets.deliver('events_api', eventOf('once'))
    await until(() => slack.posts.length === 1, 'the post')
    await daemon.end('SIGKILL')
    release()
    await site.start()
    await until(
      () => slack.calls.some((call) => call.method === 'conversations.replies'),
      'a search in the thread',
    )
    await slack.sockets.deliver('events_api', eventOf('last'))
    await until(() => answers().includes('You said: last'), 'the next reply')
    assert.deepEqual(answers(), ['You said: once', 'You said: last'])
  })

  test('answers messages that were written while it was down after a kill', async () => {
    await open()
    const daemon = await site.start()
    let count = 0
    const write = (text: string) => {
      const ts = `${Math.floor(Date.now() / 1000)}.${String(++count).padStart(6, '0')}`
      const message = { ts, channel: 'C0GEN', user: 'U1ANN', text }
      slack.write(message)
      return callback(message)
    }
    assert.ok((await slack.sockets.deliver('events_api', write('first'))).acked)
    await until(() => answers().includes('You said: first'), 'the first answer')
    await until(() => slack.reactions.length > 0, 'a reaction')
    await daemon.end('SIGKILL')
    write('missed')
    await site.start()
    assert.ok((await slack.sockets.deliver('events_api', write('last'))).acked)
    await until(() => answers().includes('You said: missed'), 'an answer to the missed message')
    await until(() => answers().includes('You said: last'), 'the last answer')
    assert.equal(answers().filter((text) => text.startsWith('You said')).length, 3)
  })
})
