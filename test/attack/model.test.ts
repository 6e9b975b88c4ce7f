import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startOpenAiServer } from '../fixtures/openai-server.ts'

const routesWith = (url: string) => `
gateways:
  open: { transport: websocket, path: /open }
model: { name: "openai-compatible:tiny", base-url: "${url}", api-key: none }
routes:
  - { name: chat, skill: free }
`
/** Skills that read or decide beyond the conversation of the caller. */
const OPERATOR_SKILLS =
  /^(message|conversation|dead-letter|approval|session|schedule|call)-|^gateway-(receive|ack)$|^delegation-(take|accept)$/

test('a model on an open gateway is not offered skills for operators, and cannot call them', {
  timeout: 300_000,
}, async (t) => {
  const call = (name: string, args: object) => ({ calls: [{ name, args }] })
  const model = await startOpenAiServer([
    call('message-list', {}),
    call('approval-list', {}),
    call('event-wait', { topic: 'gateway-message', timeout: 1 }),
    call('event-wait', { topic: 'replies/open/x', timeout: 1 }),
    { text: 'I could not.' },
  ])
  t.after(() => model.close())
  const site = openSite({ routes: routesWith(model.url) })
  site.write('skills/free/SKILL.md', '---\nname: free\ndescription: Chats.\n---\n:arg[text]\n')
  const daemon = await site.start()
  const { ask } = await daemon.chat('/open')
  assert.equal(await ask('who else wrote?'), 'I could not.')
  const [first, ...later] = model.requests
  assert.ok(first?.tools.includes('echo'))
  assert.deepEqual(
    first?.tools.filter((name) => OPERATOR_SKILLS.test(name)),
    [],
  )
  assert.equal(later.length, 4)
  for (const { messages } of later)
    assert.match(JSON.stringify(messages.at(-1)), /no such tool|unavailable|not allowed|reserved|kept by/i)
})
