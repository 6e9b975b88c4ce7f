import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, test } from 'node:test'
import { type Chat, openSite } from '../fixtures/daemon.ts'
import { type ModelAnswer, startOpenAiServer } from '../fixtures/openai-server.ts'
import { until } from '../fixtures/until.ts'

/** Logs its text, then waits for the file `name` if the text has `wait:name`. */
const SLOW = `
import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
export default {
  description: 'answers slowly',
  async run({ args, signal }) {
    const texts = args.messages ? args.messages.map(({ text }) => text) : [args.text]
    appendFileSync('log', texts.join('|') + '\\n')
    for (const [, file] of args.text.matchAll(/wait:(\\w+)/g)) while (!existsSync(file)) await pause(10, undefined, { signal })
    return texts.join('|')
  },
}`
const HELPER = '---\nname: helper\ndescription: Helps.\nallowed-tools: slow\n---\nHelp.\n'

describe('a conversation that is busy', { timeout: 300_000 }, async () => {
  const script: ModelAnswer[] = []
  const model = await startOpenAiServer(
    Array.from({ length: 20 }, (_, at) => () => script[at] ?? { text: '?' }),
  )
  after(() => model.close())
  const site = openSite({
    ownProcess: true,
    routes: `
gateways:
  all: { transport: websocket, path: /all }
  known: { transport: websocket, path: /known, tokens: { ada: a-token } }
  new: { transport: websocket, path: /new }
  steered: { transport: websocket, path: /steered }
model: { name: "openai-compatible:tiny", base-url: "${model.url}", api-key: "test-key-123456" }
routes:
  - { name: all, match: { gateway: [all, known] }, skill: slow, while-busy: collect }
  - { name: new, match: { gateway: new }, skill: slow, while-busy: latest, settle: 50ms }
  - { name: steered, match: { gateway: steered }, skill: helper, while-busy: steer }
`,
    skills: {
      slow: SLOW.replace('description:', 'metadata: { annotations: { readOnlyHint: true } }, description:'),
    },
  })
  site.write('skills/helper/SKILL.md', HELPER)
  site.write('log', '')
  let daemon = await site.start()
  const logged = (line: string, count = 1) =>
    until(
      () =>
        readFileSync(join(site.dir, 'log'), 'utf8')
          .split('\n')
          .filter((one) => one === line).length === count,
      line,
    )
  /** Sends texts. Resolves with their ids when the last one is queued. */
  const queue = async (chat: Chat, ...texts: string[]) => {
    const ids: string[] = []
    for (const text of texts) {
      chat.send({ text })
      ids.push(String((await chat.next('ack')).messageId))
    }
    const store = new DatabaseSync(join(site.dir, '.trivium', 'trivium.db'), { readOnly: true })
    const find = store.prepare('SELECT 1 FROM job WHERE id = ?')
    await until(() => find.get(ids.at(-1) ?? ''), 'the last one in the lane')
    store.close()
    return ids
  }
  const crash = async (chat: Chat) => {
    const { conversation } = chat.all('welcome')[0] ?? assert.fail()
    await daemon.end('SIGKILL')
    daemon = await site.start()
    return daemon.chat(`${new URL(chat.socket.url).pathname}?conversation=${conversation}&after=0`)
  }
  const notesOf = async (id: string) => {
    const { history } = Object(await daemon.invoke('message-show', { id }))
    return history.flatMap(({ road, what }: { road: string; what: string }) =>
      road === 'dispatch' ? what : [],
    )
  }

  /** A run is noted a little after its reply. */
  const untilNoted = (id = '') =>
    until(async () => (await notesOf(id)).includes('done'), 'the end of the run')

  test('collects its messages into one call, which is repeated after a crash and answered once', async () => {
    const before = await daemon.chat('/all')
    await queue(before, 'wait:one')
    await logged('wait:one')
    const ids = await queue(before, 'a', 'wait:two', 'c')
    site.write('one', '')
    await logged('a|wait:two|c')
    const chat = await crash(before)
    await logged('a|wait:two|c', 2)
    site.write('two', '')
    await until(() => chat.all('message').length === 2, 'both replies')
    assert.deepEqual(
      chat.all('message').map(({ text }) => text),
      ['wait:one', 'a|wait:two|c'],
    )
    assert.equal(chat.all('message')[1]?.inReplyTo, ids[2])
    await untilNoted(ids[2])
    assert.deepEqual(
      [await notesOf(ids[0] ?? ''), await notesOf(ids[2] ?? '')],
      [['collected'], ['collects', 'done']],
    )
    const taken = []
    for (const _ of ids)
      taken.push(Object(await daemon.invoke('gateway-receive', { gateway: 'all', timeout: 0 })).text)
    assert.deepEqual(taken, ['wait:one', 'a', 'wait:two'], 'a worker gets each message')
  })

  test('does not collect a message that may decide an approval', async () => {
    const chat = await daemon.chat('/known?token=a-token')
    await queue(chat, 'wait:five')
    await logged('wait:five')
    await queue(chat, 'a', 'yes', 'b', 'c')
    site.write('five', '')
    await until(() => chat.all('message').length === 4, 'all replies')
    assert.deepEqual(
      chat.all('message').map(({ text }) => text),
      ['wait:five', 'a', 'yes', 'b|c'],
    )
  })

  test('runs only for the newest message, and notes the others as superseded', async () => {
    const chat = await daemon.chat('/new')
    await queue(chat, 'wait:three')
    await logged('wait:three')
    const ids = await queue(chat, 'a', 'b', 'c')
    site.write('three', '')
    await until(() => chat.all('message').length === 2, 'both replies')
    assert.deepEqual(
      chat.all('message').map(({ text }) => text),
      ['wait:three', 'c'],
    )
    await untilNoted(ids[2])
    assert.deepEqual(await Promise.all(ids.map(notesOf)), [
      ['superseded'],
      ['superseded'],
      ['supersedes', 'done'],
    ])
  })

  test('steers a running model between two steps, again after a crash', async () => {
    script.push(
      { calls: [{ name: 'slow', args: { text: 'wait:four' } }] },
      { hang: true },
      { text: 'tea it is' },
    )
    const before = await daemon.chat('/steered')
    const [first = ''] = await queue(before, 'make coffee')
    await logged('wait:four')
    const [second = ''] = await queue(before, 'rather tea')
    site.write('four', '')
    await until(() => model.requests.length === 2, 'the second step')
    const chat = await crash(before)
    assert.equal((await chat.next('message')).text, 'tea it is')
    for (const { messages } of model.requests.slice(1)) {
      assert.deepEqual(
        messages.map(({ role }) => role),
        ['system', 'user', 'assistant', 'tool', 'user'],
      )
      assert.match(JSON.stringify(messages.at(-1)), /rather tea/)
    }
    await untilNoted(first)
    assert.deepEqual(await notesOf(second), ['steered'])
    assert.deepEqual(
      (await notesOf(first)).filter((what: string) => what !== 'model'),
      ['is steered', 'done'],
    )
    assert.equal(chat.all('message').length, 1)
    const transcript = readFileSync(join(site.dir, '.trivium', 'messages.jsonl'), 'utf8')
    assert.equal(transcript.split('"rather tea"').length, 2)
  })
})
