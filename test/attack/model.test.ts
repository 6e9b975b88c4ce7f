import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createSite, type DaemonProcess, type Site } from '../fixtures/daemon.ts'
import { type ModelRequest, type OpenAiServer, startOpenAiServer } from '../fixtures/openai-server.ts'

const routesWith = (url: string) => `
gateways:
  open: { transport: websocket, path: /open }
model: { name: "openai-compatible:tiny", base-url: "${url}", api-key: none }
routes:
  - { name: chat, skill: free }
`
/** What sees or decides beyond the conversation of whoever asks. */
const OPERATORS =
  /^(message|dead-letter|approval|session|schedule|call)-|^gateway-(receive|ack)$|^delegation-(take|accept)$/

describe('a model that anybody may talk to', { timeout: 90_000 }, () => {
  let model: OpenAiServer
  let site: Site
  let daemon: DaemonProcess
  let asked: ModelRequest[]

  before(async () => {
    const call = (name: string, args: object) => ({ calls: [{ name, args }] })
    model = await startOpenAiServer([
      call('message-list', {}),
      call('approval-list', {}),
      call('event-wait', { topic: 'gateway-message', timeout: 1 }),
      call('event-wait', { topic: 'replies/open/x', timeout: 1 }),
      { text: 'I could not.' },
    ])
    site = createSite({ routes: routesWith(model.url) })
    site.write('skills/free/SKILL.md', '---\nname: free\ndescription: Chats.\n---\n:arg[text]\n')
    daemon = await site.start()
    asked = model.requests
  })
  after(async () => {
    await daemon?.end()
    site?.remove()
    await model?.close()
  })

  /** What the model was told of its last call. */
  const told = (request: ModelRequest | undefined) => JSON.stringify(request?.messages.at(-1))

  test('is offered nothing that sees or decides for others, and gets it by no name', async () => {
    const { ask: chat } = await daemon.chat('/open')
    assert.equal(await chat('who else wrote?'), 'I could not.')
    assert.ok(asked[0]?.tools.includes('echo'))
    assert.deepEqual(
      asked[0]?.tools.filter((name) => OPERATORS.test(name)),
      [],
    )
    for (const request of asked.slice(1, 5))
      assert.match(told(request), /no such tool|unavailable|not allowed|reserved|kept by/i)
  })
})
