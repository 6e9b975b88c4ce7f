import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { type ModelAnswer, startOpenAiServer } from '../fixtures/openai-server.ts'
import { until } from '../fixtures/until.ts'

const HELPER = `---
name: helper
description: Helps.
allowed-tools: charge book look gateway-send
---
Help.
`

/** A tool that logs each run. With `hold`, it ends when that file exists. */
const tool = (name: string, metadata: string) => `
import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
export default {
  description: 'notes', metadata: ${metadata},
  async run({ args, signal }) {
    appendFileSync('log', '${name} ' + (args.n ?? '') + '\\n')
    while (args.hold && !existsSync(args.hold)) await pause(10, undefined, { signal })
    return '${name} ' + args.n + ' is done'
  },
}`

const called = (...calls: [name: string, args: object][]): ModelAnswer => ({
  calls: calls.map(([name, args]) => ({ name, args })),
})

describe('a run of a model whose daemon is killed', { timeout: 300_000 }, async () => {
  const script: ModelAnswer[] = []
  const model = await startOpenAiServer(
    Array.from({ length: 50 }, (_, at) => () => script[at] ?? { text: '?' }),
  )
  after(() => model.close())
  const site = openSite({
    ownProcess: true,
    routes: `
gateways: { chat: { transport: websocket, path: /ws } }
model: { name: "openai-compatible:tiny", base-url: "${model.url}", api-key: "test-key-123456" }
routes: [{ name: chat, skill: helper, retry: { attempts: 9, delay: 10ms } }]
`,
    skills: {
      charge: tool('charge', '{}'),
      book: tool('book', '{ approval: true }'),
      look: tool('look', '{ annotations: { readOnlyHint: true } }'),
    },
  })
  site.write('skills/helper/SKILL.md', HELPER)
  site.write('log', '')
  const log = () => readFileSync(join(site.dir, 'log'), 'utf8').trim().split('\n')
  let daemon = await site.start()
  const crash = async () => {
    await daemon.end('SIGKILL')
    daemon = await site.start()
  }
  const asked = (count: number) =>
    until(() => model.requests.length === count, `request ${count} of the model`)
  /** The names of the stored results: `<step>.<number of the tool call>`. */
  const keys = () => {
    const store = new DatabaseSync(join(site.dir, '.trivium', 'trivium.db'), { readOnly: true })
    const found = store.prepare("SELECT key FROM kv WHERE key GLOB 'run:*'").all()
    store.close()
    return found.map(({ key }) => String(key).replace(/.*\//, ''))
  }
  const kept = (entry: string) => until(() => keys().includes(entry), `the entry ${entry}`)
  const pending = async () =>
    Object(
      await until(async () => {
        const list = Object(await daemon.invoke('approval-list', { status: 'pending' }))
        return list[0]
      }, 'a request for approval'),
    )

  test('continues after its last step, and repeats no tool that had answered', async () => {
    script.push(
      called(['charge', { n: 1 }], ['look', { n: 1, hold: 'go' }]),
      called(['gateway-send', { text: 'paid' }]),
      called(['book', { n: 2 }], ['charge', { n: 2 }]),
      { hang: true },
      { text: 'all done' },
      { text: 'and the next' },
    )
    const chat = await daemon.chat()
    const { conversation } = (await chat.all('welcome')[0]) ?? assert.fail()
    chat.send({ text: 'pay and book' })
    await until(() => log().length === 2, 'both tools')
    await kept('0.0')
    // Killed during a tool that may be repeated.
    await crash()
    site.write('go', '')
    // Killed while it waits for an approval.
    const { id, title } = await pending()
    assert.match(title, /^Run book: /)
    await kept('2.1')
    await crash()
    await daemon.invoke('approval-decide', { id, approve: true })
    // Killed during the stream of an answer.
    await asked(4)
    await crash()
    await asked(5)
    const later = await daemon.chat(`/ws?conversation=${conversation}&after=0`)
    later.send({ text: 'more' })
    const said = () => later.all('message').map(({ text }) => String(text).slice(0, 9))
    await until(() => said().includes('and the n'), 'the next reply')
    assert.deepEqual(said(), ['paid', 'Run book:', 'and the n'])
    await until(() => keys().length === 0, 'the removal of the records')
    assert.deepEqual(log(), ['charge 1', 'look 1', 'look 1', 'charge 2', 'book 2'])
  })

  test('asks before it repeats a tool whose outcome is unknown, and passes a denial on to the model', async () => {
    script.push(called(['charge', { n: 3, hold: 'never' }]), { cut: 'It is not kn' }, { text: 'Not known.' })
    const before = model.requests.length
    const chat = await daemon.chat()
    chat.send({ text: 'pay' })
    await until(() => log().at(-1) === 'charge 3', 'the tool')
    await crash()
    const { id, title } = await pending()
    assert.match(title, /^Run charge again\? It was interrupted/)
    await daemon.invoke('approval-decide', { id, approve: false, reason: 'I see it in the books' })
    await asked(before + 3)
    const told = JSON.stringify(model.requests.at(-1)?.messages.at(-1))
    assert.match(told, /not repeated; its outcome is unknown.*I see it in the books/)
    assert.equal(log().at(-1), 'charge 3')
  })

  test('continues when its dead letter is retried', async () => {
    script.push(called(['charge', { n: 4 }]), { status: 400, message: 'no' }, { text: 'back again' })
    const chat = await daemon.chat()
    chat.send({ text: 'pay' })
    const find = async () => Object(await daemon.invoke('dead-letter-list'))[0]
    const { id } = Object(await until(find, 'the dead letter'))
    await daemon.invoke('dead-letter-retry', { id })
    assert.equal((await chat.next('message')).text, 'back again')
    assert.equal(log().at(-1), 'charge 4')
    assert.equal(log().filter((line) => line === 'charge 4').length, 1)
    const { history } = Object(await daemon.invoke('message-show', { id }))
    const { replayed, steps } = history.find(({ what }: { what: string }) => what === 'model').detail
    assert.deepEqual([replayed, steps], [1, 2])
  })
})
