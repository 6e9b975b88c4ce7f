import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { WebSocket } from 'ws'
import { createSite, type DaemonProcess, type Site } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const SECRET = 'a secret of the provider'

const routes = (last: string) => `
gateways:
  hub:  { transport: webhook, path: /hooks/hub, verify: { scheme: github, secret: "${SECRET}" } }
  work: { transport: webhook, path: /hooks/work, verify: { scheme: none }, respond: result, timeout: 5s }
  chat: { transport: websocket, path: /ws }
routes:
  - name: hub
    match: { gateway: hub }
    skill: say
    reply: none
  - name: hopeless
    match: { data.body.do: "hopeless" }
    skill: hopeless
    retry: { attempts: 5, delay: 10ms }
  - name: weak
    match: { data.body.do: "weak" }
    skill: weak
    retry: { attempts: 3, delay: 10ms }
  - name: chat
    match: { gateway: chat }
    skill: slow
  - name: rest
    skill: say
    args: { what: ${last} }
`

const SKILLS = {
  say: `export default { description: 'says', run: ({ args }) => 'said ' + args.what }`,
  /** Asks for what is not there: trying again cannot help. */
  hopeless: `export default { description: 'fails for good', run: ({ manager }) => manager.invoke('message-show', { id: 'nothing' }) }`,
  weak: `export default { description: 'fails', run() { throw new Error('not now') } }`,
  slow: `
    import { setTimeout as pause } from 'node:timers/promises'
    export default { description: 'answers late', async run({ args, globals }) {
      globals.last = args.text
      await pause(args.text.startsWith('slow') ? 300 : 0)
      return 're: ' + args.text
    } }`,
}

describe('what must not be mistaken', { timeout: 60_000 }, () => {
  let site: Site
  let daemon: DaemonProcess

  before(async () => {
    site = createSite({ routes: routes('one'), skills: SKILLS })
    daemon = await site.start()
  })
  after(async () => {
    await daemon.end()
    site.remove()
  })

  const said = async () => JSON.stringify((await daemon.post('/hooks/work', '{}')).body)
  const sign = (body: string) => `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`
  const deliver = (body: string, signature: string) =>
    daemon.post('/hooks/hub', body, {
      'content-type': 'application/json',
      'x-github-event': 'push',
      'x-hub-signature-256': signature,
    })
  const deadLetter = (body: object) =>
    daemon
      .post('/hooks/work', JSON.stringify(body))
      .then(({ body: answer }) =>
        until(
          () => daemon.invoke('dead-letter-show', { id: Object(answer).id }).catch(() => undefined),
          'a dead letter',
        ),
      )

  test('a signature is checked on the bytes that came, not on what they mean', async () => {
    const odd = '{ "b":1.0,"a":"\\u00e9","a":2 ,\n"__proto__":{} }'
    assert.equal((await deliver(odd, sign(odd))).status, 202)
    const same = JSON.stringify(JSON.parse(odd))
    assert.equal((await deliver(odd, sign(same))).status, 401)
    assert.equal((await deliver(`${odd} `, sign(odd))).status, 401)
  })

  test('a failure for good is not tried again, a passing one as often as the route says', async () => {
    const hopeless = Object(await deadLetter({ do: 'hopeless' }))
    assert.deepEqual([hopeless.reason, hopeless.errors.length], ['permanent', 1])
    const weak = Object(await deadLetter({ do: 'weak' }))
    assert.deepEqual([weak.reason, weak.errors.length], ['attempts', 3])
  })

  test('replies reach whom they answer, although others spoke in between', async () => {
    const clients = await Promise.all(['slow a', 'b', 'slow c', 'd'].map((text) => connect(daemon, text)))
    for (const { socket, text } of clients) socket.send(JSON.stringify({ type: 'message', text }))
    for (const { replies, text, socket } of clients) {
      await until(() => replies.length > 0, `the reply to ${text}`)
      assert.deepEqual(replies, [`re: ${text}`])
      socket.terminate()
    }
  })

  test('a half-written routes.yaml changes nothing, and is told; the whole one takes effect', async () => {
    assert.match(await said(), /said one/)
    for (const broken of [routes('two').slice(0, 150), `${routes('two')}\nnonsense: true\n`, '\0']) {
      const told = daemon.output().length
      site.write('routes.yaml', broken)
      await until(() => daemon.output().slice(told).includes('last good'), 'a word about it')
      assert.match(await said(), /said one/)
    }
    site.write('routes.yaml', routes('two'))
    await until(async () => (await said()).includes('said two'), 'the new routes')
  })

  test('a daemon does not start with a broken routes.yaml, and says where it is broken', async () => {
    const other = createSite({ routes: 'gateways:\n  demo: { transprot: webhook }\n' })
    try {
      const { code, err } = await other.run(['start'])
      assert.equal(code, 2)
      assert.match(err, /routes\.yaml:2:\d+ .*missing key "transport"/)
      assert.doesNotMatch(err, /\n\s+at /)
    } finally {
      other.remove()
    }
  })
})

async function connect(daemon: DaemonProcess, text: string) {
  const socket = new WebSocket(`${daemon.url.replace('http', 'ws')}/ws`)
  const replies: unknown[] = []
  let welcome = false
  socket.on('message', (data) => {
    const frame = JSON.parse(String(data))
    if (frame.type === 'welcome') welcome = true
    if (frame.type === 'message') replies.push(frame.text)
  })
  await until(() => welcome, 'the welcome')
  return { socket, text, replies }
}
