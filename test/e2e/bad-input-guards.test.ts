import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createSite, type DaemonProcess, type Site } from '../fixtures/daemon.ts'

const ROUTES = `
gateways:
  chat: { transport: websocket, path: /ws }
routes: [{ name: chat, skill: slow }]
`

const SKILLS = {
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
    site = createSite({ routes: ROUTES, skills: SKILLS })
    daemon = await site.start()
  })
  after(async () => {
    await daemon.end()
    site.remove()
  })

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
})
