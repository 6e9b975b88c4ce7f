import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startOpenAiServer } from '../fixtures/openai-server.ts'
import { until } from '../fixtures/until.ts'

const BOOK = `export default {
  description: 'books', metadata: { approval: true }, run: () => 'booked',
}`

describe('a fallback model', { timeout: 300_000 }, async () => {
  const refusal = { status: 401, message: 'this key is over' }
  const model = await startOpenAiServer([
    refusal,
    { calls: [{ name: 'book', args: {} }], usage: { input: 100, output: 0 } },
    { text: 'It is booked.', usage: { input: 10, output: 0 } },
    refusal,
    refusal,
  ])
  after(() => model.close())
  const site = openSite({
    routes: `
gateways: { chat: { transport: websocket, path: /ws } }
model:
  name: "local:first"
  base-url: "${model.url}"
  fallback: ["local:second"]
  budget: { total: 1k EUR/1h }
  prices: { "local:first": { input: 1000000, output: 0 }, "local:second": { input: 3000000, output: 0 } }
routes: [{ name: chat, skill: helper }]
`,
    skills: { book: BOOK },
  })
  site.write(
    'skills/helper/SKILL.md',
    '---\nname: helper\ndescription: Helps.\nallowed-tools: book\n---\nHelp.\n',
  )
  const daemon = await site.start()
  const requestedModels = () => model.requests.map((request) => request.model)
  const chat = await daemon.chat()
  const historyOf = async (id: string) => Object(await daemon.invoke('message-show', { id })).history

  test('is not called again for a replayed step, and each model is charged at its price', async () => {
    chat.send({ text: 'book it' })
    const [pending] = await until(async () => {
      const list = Object(await daemon.invoke('approval-list', { status: 'pending' }))
      return list.length > 0 ? list : undefined
    }, 'a request for approval')
    await daemon.invoke('approval-decide', { id: pending.id, approve: true })
    const reply = await until(
      () => chat.all('message').find(({ text }) => text === 'It is booked.'),
      'the answer',
    )
    // The first step fails over; the step after the approval begins with the first model again.
    assert.deepEqual(requestedModels(), ['first', 'second', 'first'])
    const status = Object(Object(await daemon.get('/v1/status')).result)
    // 100 tokens of the second model at 3 EUR, and 10 of the first at 1 EUR.
    assert.equal(status.budgets[0].used, 310)
    const page = await (await fetch(`${daemon.control}/metrics`)).text()
    assert.match(page, /model_tokens_total\{model="local:second",direction="input"\} 100/)
    assert.match(page, /model_tokens_total\{model="local:first",direction="input"\} 10/)
    assert.match(daemon.output(), /a model failed; trying the next one/)
    const history = await historyOf(String(reply.inReplyTo))
    assert.match(JSON.stringify(history), /"model":"local:first"/)
  })

  test('is named in the error with the others if all fail', async () => {
    chat.send({ text: 'and now?' })
    const { id } = await until(async () => {
      const [newest] = Object(await daemon.invoke('dead-letter-list', {}))
      return newest
    }, 'a dead letter')
    assert.deepEqual(requestedModels().slice(3), ['first', 'second'])
    assert.match(
      JSON.stringify(await historyOf(id)),
      /local:first: this key is over; local:second: this key is over/,
    )
  })
})
