import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startOpenAiServer } from '../fixtures/openai-server.ts'
import { until } from '../fixtures/until.ts'

const MARKDOWN = `---
name: helper
description: Helps.
allowed-tools: echo
metadata:
  session: args.sessionId
---
<!-- for developers only -->
You help people.

:session-history[]

Answer :arg[text]
`

const routesWith = (url: string, key: string) => `
gateways:
  chat: { transport: websocket, path: /ws }
model: { name: "openai-compatible:tiny", base-url: "${url}", api-key: "${key}" }
routes:
  - { name: chat, match: { gateway: chat }, skill: helper }
`

describe('a markdown skill on a chat', { timeout: 90_000 }, async () => {
  const model = await startOpenAiServer([
    { text: 'It is four.', usage: { input: 11, output: 4 } },
    { calls: [{ name: 'echo', args: { text: 'tool says' } }] },
    { text: 'Still four.' },
  ])
  after(() => model.close())
  const site = openSite({ routes: routesWith(model.url, 'test-key-123456') })
  site.write('skills/helper/SKILL.md', MARKDOWN)
  const daemon = await site.start()

  test('streams its answer, remembers the conversation, uses its tools, and counts its tokens', async () => {
    const { send, next, all, close } = await daemon.chat()
    send({ text: 'two and two?' })
    await next('message')
    send({ text: 'are you sure?' })
    await next('message')
    close()
    const replies = all('message')

    assert.deepEqual(
      replies.map(({ text }) => text),
      ['It is four.', 'Still four.'],
    )
    const deltas = all('delta').filter(({ inReplyTo }) => inReplyTo === replies[0]?.inReplyTo)
    assert.equal(deltas.map(({ text }) => text).join(''), 'It is four.')
    assert.ok(deltas.length > 1)

    const prompts = model.requests.map(({ messages }) => JSON.stringify(messages))
    assert.match(prompts[0] ?? '', /two and two/)
    assert.doesNotMatch(prompts[0] ?? '', /for developers only/)
    assert.match(prompts[1] ?? '', /It is four/, 'the second turn has the first one in its prompt')
    assert.match(prompts[2] ?? '', /tool says/)
    assert.deepEqual(model.requests[0]?.tools, ['echo'])
    assert.equal(model.requests[0]?.authorization, 'Bearer test-key-123456')

    const shown = async () =>
      Object(await daemon.invoke('message-show', { id: replies[1]?.inReplyTo })).history
    const noted = await until(
      async () => (await shown()).find(({ what }: { what: string }) => what === 'model'),
      'what the model did',
    )
    assert.partialDeepStrictEqual(noted.detail, {
      skill: 'helper',
      steps: 2,
      tools: [{ tool: 'echo', args: '{"text":"tool says"}' }],
    })

    const page = await (await fetch(`${daemon.control}/metrics`)).text()
    assert.match(page, /trivium_model_tokens_total\{model="openai-compatible:tiny",direction="input"\} \d+/)
    assert.doesNotMatch(daemon.output(), /test-key-123456/)
  })

  test('asks the server that a saved routes.yaml names, with its key, from the next run on', async (t) => {
    const other = await startOpenAiServer([{ text: 'Five, now.' }])
    t.after(() => other.close())
    site.write('routes.yaml', routesWith(other.url, 'another-key-654321'))
    assert.equal((await site.run(['reload'])).code, 0)
    const answer = await daemon.invoke('helper', { text: 'and now?', sessionId: 'later' })
    assert.match(JSON.stringify(answer), /Five, now/)
    assert.equal(other.requests[0]?.authorization, 'Bearer another-key-654321')
  })
})
