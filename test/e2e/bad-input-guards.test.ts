import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createSite, type DaemonProcess, type Site } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const routes = (last: string) => `
gateways:
  work: { transport: webhook, path: /hooks/work, verify: { scheme: none }, respond: result, timeout: 5s }
  chat: { transport: websocket, path: /ws }
routes:
  - name: chat
    match: { gateway: chat }
    skill: slow
  - name: rest
    skill: say
    args: { what: ${last} }
`

const SKILLS = {
  say: `export default { description: 'says', run: ({ args }) => 'said ' + args.what }`,
  slow: `
    import { setTimeout as pause } from 'node:timers/promises'
    export default { description: 'answers late', async run({ args }) {
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

  test('replies reach whom they answer, although others spoke in between', async () => {
    const clients = await Promise.all(
      ['slow a', 'b', 'slow c', 'd'].map(async (text) => ({ ...(await daemon.chat()), text })),
    )
    for (const { send, text } of clients) send({ text })
    for (const { all, next, text, close } of clients) {
      await next('message')
      assert.deepEqual(
        all('message').map((frame) => frame.text),
        [`re: ${text}`],
      )
      close()
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

  test('a daemon does not start with a broken routes.yaml, and says where it is broken', async (t) => {
    const other = createSite({ routes: 'gateways:\n  demo: { transprot: webhook }\n' })
    t.after(() => other.remove())
    const { code, err } = await other.run(['start'])
    assert.equal(code, 2)
    assert.match(err, /routes\.yaml:2:\d+ .*missing key "transport"/)
    assert.doesNotMatch(err, /\n\s+at /)
  })
})
