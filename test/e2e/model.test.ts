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
model:
  name: "openai-compatible:tiny"
  base-url: "${url}"
  api-key: "${key}"
  budget: { total: 20 EUR/30d }
  prices: { "*:tiny": { input: 3, output: 15 } }
routes:
  - { name: chat, match: { gateway: chat }, skill: helper }
`

describe('a markdown skill on a chat', { timeout: 300_000 }, async () => {
  const model = await startOpenAiServer([
    { text: 'It is four.', usage: { input: 11, output: 4 } },
    { calls: [{ name: 'echo', args: { text: 'tool says' } }] },
    { text: 'Still four.' },
    { calls: [{ name: 'echo', args: '{"text":7615917337495251231}' }] },
    { text: 'Found.' },
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
      'the note about the model',
    )
    assert.partialDeepStrictEqual(noted.detail, {
      skill: 'helper',
      steps: 2,
      currency: 'EUR',
      tools: [{ tool: 'echo', args: '{"text":"tool says"}', answer: 'You said: tool says' }],
    })

    const { money, inputTokens, outputTokens } = noted.detail
    assert.equal(Math.round(money * 1e6), 3 * inputTokens + 15 * outputTokens)

    const page = await (await fetch(`${daemon.control}/metrics`)).text()
    assert.match(page, /trivium_model_tokens_total\{model="openai-compatible:tiny",direction="input"\} \d+/)
    assert.doesNotMatch(daemon.output(), /test-key-123456/)
  })

  test('passes a number with more digits than a double to a tool unchanged', async () => {
    await daemon.invoke('helper', { text: 'find it', sessionId: 'digits' })
    assert.match(JSON.stringify(model.requests.at(-1)?.messages.at(-1)), /7615917337495251231/)
  })

  test('uses the server and key of a saved routes.yaml from the next run', async (t) => {
    const other = await startOpenAiServer([{ text: 'Five, now.' }])
    t.after(() => other.close())
    site.write('routes.yaml', routesWith(other.url, 'another-key-654321'))
    assert.equal((await site.run(['reload'])).code, 0)
    const answer = await daemon.invoke('helper', { text: 'and now?', sessionId: 'later' })
    assert.match(JSON.stringify(answer), /Five, now/)
    assert.equal(other.requests[0]?.authorization, 'Bearer another-key-654321')
  })
})

describe('a budget of models', { timeout: 300_000 }, async () => {
  const used = { input: 90, output: 20 }
  const model = await startOpenAiServer([
    { text: 'One.', usage: used },
    { text: 'Of bob.', usage: used },
    { text: 'Two.', usage: used },
    { text: 'Ada asked for two numbers.', usage: used },
  ])
  after(() => model.close())
  const routes = (budget: string) => `
gateways:
  chat: { transport: websocket, path: /ws, tokens: { ada: "ada has a long token", bob: "bob has a long token" } }
model:
  name: "openai-compatible:tiny"
  base-url: "${model.url}"
  budget: ${budget}
  prices: { "*:tiny": { input: 1000000, output: 2000000 } }
routes:
  - { name: chat, match: { gateway: chat }, skill: helper }
`
  const site = openSite({ routes: routes('{ sender: 100 tokens/4s, total: [5M tokens/1d, 1k EUR/1h] }') })
  site.write('skills/helper/SKILL.md', '---\nname: helper\ndescription: Helps.\n---\nHelp.\n')
  const daemon = await site.start()
  const open = (name: string) => daemon.chat(`/ws?token=${name}%20has%20a%20long%20token`)
  const status = async () => Object(Object(await daemon.get('/v1/status')).result).budgets

  test('delays a sender whose budget is used up, tells them once until when, and answers then', async () => {
    const [ada, bob] = [await open('ada'), await open('bob')]
    assert.equal(await ada.ask('a number?'), 'One.')
    assert.match(
      await ada.ask('another?'),
      /^The budget of 100 tokens\/4s for each sender is used up\. It is available again at .* UTC\./,
    )
    assert.equal(await bob.ask('and me?'), 'Of bob.')
    // Two answers with 90 tokens in at 1 EUR, and 20 out at 2 EUR.
    assert.partialDeepStrictEqual(await status(), [
      { budget: 'total', limit: '5M tokens/1d', used: 220, most: 5_000_000 },
      { budget: 'total', limit: '1k EUR/1h', used: 260, most: 1000 },
      { budget: 'sender', over: [{ sender: 'chat:ada' }] },
    ])
    const page = await (await fetch(`${daemon.control}/metrics`)).text()
    assert.match(page, /trivium_model_budget_refused_total\{budget="sender"\} [1-9]/)
    assert.match(page, /trivium_model_budget_used\{limit="1k EUR\/1h"\} 260/)
    assert.equal((await ada.next('message', 30_000)).text, 'Two.')
    // Newest first: the message of bob, then the message of ada that waited.
    const { id } = Object(await daemon.invoke('message-list', { limit: 2 }))[1]
    const { history } = Object(await daemon.invoke('message-show', { id }))
    const what = history.map((note: { what: string }) => note.what)
    assert.equal(what.filter((one: string) => one === 'waits for its budget').length, 1)
    assert.equal(what.includes('failed'), false, 'waiting is not an attempt')
  })

  test('`total` is shared by programs and people, and a digest uses the model while some of it is left', async () => {
    assert.match(
      (await site.run(['status'])).out,
      /Budget of all {2}5M tokens\/1d: 330 of 5,000,000 tokens, 4,999,670 tokens left.*; free again: .*\nBudget of all/,
    )
    const { out } = await site.run(['digest-now', '--text', '1h'])
    assert.match(out, /Ada asked for two numbers\./)
    assert.match(JSON.stringify(model.requests[3]?.messages), /chat ada: a number\?/)
    site.write('routes.yaml', routes('{ total: 100 tokens/1h }'))
    assert.equal((await site.run(['reload'])).code, 0)
    await assert.rejects(daemon.invoke('helper', { text: 'more' }), /budget_exhausted/)
    assert.match((await site.run(['digest-now', '--text', '1h'])).out, /- chat ada: a number\?/)
  })

  test('that is invalid is reported with its place', async () => {
    site.write('routes.yaml', routes('{ sender: 100 apples/1d }'))
    const { err } = await site.run(['reload'])
    assert.match(err, /routes\.yaml:\d+.*200k tokens\/1d/s)
  })
})

describe('a key of a model in .env', { timeout: 300_000 }, async () => {
  const model = await startOpenAiServer([{ text: 'Hello.' }])
  after(() => model.close())
  const site = openSite({ routes: 'model: openai-compatible:tiny\n' })
  site.write('skills/helper/SKILL.md', MARKDOWN)
  const daemon = await site.start()

  test('takes effect when it is saved', async () => {
    const ask = () => daemon.invoke('helper', { text: 'hi' })
    await assert.rejects(ask, /OPENAI_COMPATIBLE_BASE_URL/)
    const lines = [`OPENAI_COMPATIBLE_BASE_URL=${model.url}`, 'OPENAI_COMPATIBLE_API_KEY=saved-later-1']
    site.write('.env', `${lines.join('\n')}\n`)
    assert.equal(await until(() => ask().catch(() => undefined), 'the key', 30_000), 'Hello.')
    assert.equal(model.requests[0]?.authorization, 'Bearer saved-later-1')
  })
})
