import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways: { chat: { transport: websocket, path: /chat, open: true, tokens: { ada: "ada's long token" } } }
routes: [{ name: later, skill: later }]
`
const SKILLS = {
  later: `export default { description: 'answers later', async run({ args, manager }) {
  await manager.invoke('gateway-send', { text: 'later: ' + args.text, in: args.text })
} }`,
}
const PATH = `/chat?token=${encodeURIComponent("ada's long token")}`

describe('gateway-send with a time', { timeout: 300_000 }, () => {
  test('is delivered once after a kill, and not at all if it is cancelled', async () => {
    const site = openSite({ routes: ROUTES, skills: SKILLS })
    const first = await site.spawn()
    const chat = await first.chat(PATH)
    chat.send({ text: '1h' })
    chat.send({ text: '2s' })
    const list = async () => Object(JSON.parse((await site.run(['send', 'list', '--json'])).out))
    // The second may be delivered already.
    await until(async () => (await list()).length + chat.all('message').length >= 2, 'both sends')
    await first.end('SIGKILL')
    const second = await site.start()
    const { conversation } = Object(chat.all('welcome')[0])
    const again = await second.chat(`${PATH}&conversation=${conversation}&after=0`)
    const reply = await again.next('message', 30_000)
    assert.equal(reply.text, 'later: 2s')
    assert.match((await site.run(['send', 'list'])).out, /^\d{4}-\S+Z\s+chat\s+\S+\s+later: 1h\s+\S+$/m)
    const [{ id }] = await list()
    assert.equal((await site.run(['send', 'cancel', id])).code, 0)
    assert.match((await site.run(['send', 'list'])).err, /No planned sends/)
    const plan = ['gateway-send', 'later', '--gateway', 'chat', '--to', conversation, '--in', '1h']
    for (const cancelArgs of [['W1'], ['--key', 'W2'], ['--key', 'W3', '--gateway', 'chat']]) {
      const [key = ''] = cancelArgs.filter((arg) => arg.startsWith('W'))
      const planned = await site.run([...plan, '--key', key])
      assert.equal(planned.code, 0, planned.out + planned.err)
      const { code, out, err } = await site.run(['send', 'cancel', ...cancelArgs])
      assert.equal(code, 0, out + err)
    }
    assert.match((await site.run(['send', 'list'])).err, /No planned sends/)
    const unknown = await site.run(['send', 'cancel', 'unknown'])
    assert.match(unknown.err, /No planned send with the id or key unknown is waiting/)
    assert.equal(again.all('message').length, 1)
    await second.end()
  })
})
