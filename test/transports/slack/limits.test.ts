// Limits of blocks: https://docs.slack.dev/reference/block-kit
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { splitMarkdown, splitMrkdwn } from '../../../transports/slack/outbound/split-text.ts'
import { ask, failing, replyTo, startSlackGateway } from './harness.ts'

const setup = await startSlackGateway()
after(() => setup.close())
const { server, transport } = setup

/** Sends a reply with these blocks. Resolves with the blocks of each of its posts. */
async function postsOf(blocks: JsonObject[]): Promise<JsonObject[][]> {
  const message = await ask(setup)
  await transport.send(replyTo(message, 'see', { data: { blocks } }))
  const posts = server.posts.filter((post) => post.thread_ts === message.data.thread)
  return posts.map((post) => JSON.parse(JSON.stringify(post.blocks)))
}

const mrkdwn = (text: string) => ({ type: 'mrkdwn', text })
const plain = (text: string) => ({ type: 'plain_text', text })
const section = (text: string, more: JsonObject = {}) => ({ type: 'section', text: mrkdwn(text), ...more })
const button = (id: string, more: JsonObject = {}) => ({
  type: 'button',
  action_id: id,
  text: plain(id),
  ...more,
})
const many = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index))
const textsOf = (blocks: JsonObject[] = []) => blocks.map(({ text }) => JSON.parse(JSON.stringify(text)).text)

describe('blocks over a limit of Slack are split', () => {
  test('50 blocks are one post, 51 are two', async () => {
    const blocks = many(51, (index) => section(`${index}`))
    assert.deepEqual(await postsOf(blocks.slice(0, 50)), [blocks.slice(0, 50)])
    assert.deepEqual(await postsOf(blocks), [blocks.slice(0, 50), blocks.slice(50)])
  })

  test('a section of 3,001 characters becomes two, with its button at the first and its fields below the last', async () => {
    const text = `${'x'.repeat(1500)}\n${'y'.repeat(1500)}`
    const fields = many(11, (index) => mrkdwn(`field ${index}`))
    const [blocks = []] = await postsOf([section(text, { block_id: 'b', accessory: button('go'), fields })])
    assert.deepEqual(
      blocks.map(({ text, accessory, fields, block_id }) => [
        ...[Boolean(text), Boolean(accessory), Array.isArray(fields) && fields.length, block_id],
      ]),
      [
        [true, true, false, 'b'],
        [true, false, false, undefined],
        [false, false, 10, undefined],
        [false, false, 1, undefined],
      ],
    )
    assert.equal(textsOf(blocks.slice(0, 2)).join('\n'), text)
    assert.deepEqual(await postsOf([section('x'.repeat(3000))]), [[section('x'.repeat(3000))]])
  })

  test('code in a section stays code, and a link is not split', async () => {
    const code = `before\n\`\`\`const a = 1\n${'let b = 2\n'.repeat(500)}end\`\`\`\nafter`
    const [blocks = []] = await postsOf([section(code)])
    const texts = textsOf(blocks)
    assert.ok(texts.length > 1)
    for (const text of texts) assert.equal(text.split('```').length % 2, 1, text.slice(0, 40))
    assert.match(texts.at(-1), /end```\nafter$/)
    const link = '<https://example.com/a b|a label of several words>'
    for (const text of splitMrkdwn(`${'word '.repeat(580)}${link} ${'word '.repeat(100)}`, 3000))
      assert.equal(text.split('<').length, text.split('>').length)
  })

  test('headers, contexts and actions become several blocks, and markdown several posts', async () => {
    const words = 'word '.repeat(40).trim()
    const [blocks = []] = await postsOf([
      { type: 'header', text: plain(words) },
      { type: 'context', elements: many(11, (index) => mrkdwn(`${index}`)) },
      { type: 'actions', block_id: 'a', elements: many(26, (index) => button(`b${index}`)) },
    ])
    const headers = textsOf(blocks.filter(({ type }) => type === 'header'))
    assert.ok(headers.every((text) => text.length <= 150))
    assert.equal(headers.join(' '), words)
    const sizes = blocks.slice(headers.length).map(({ type, elements }) => [type, [elements].flat().length])
    assert.deepEqual(sizes, [
      ['context', 10],
      ['context', 1],
      ['actions', 25],
      ['actions', 1],
    ])
    const markdown = many(3, (index) => ({ type: 'markdown', text: `${index}`.repeat(5000) }))
    const posts = await postsOf(markdown)
    assert.deepEqual(
      posts.map(({ length }) => length),
      [2, 1],
    )
  })

  test('a table of 150 rows becomes two posts, each with the header', async () => {
    const cell = (text: string) => ({ type: 'raw_text', text })
    const rows = [[cell('Name')], ...many(150, (index) => [cell(`row ${index}`)])]
    const posts = await postsOf([{ type: 'table', rows }, section('end')])
    const tables = posts.flat().filter(({ type }) => type === 'table')
    assert.deepEqual(
      tables.map(
        ({ rows }) => JSON.parse(JSON.stringify(rows)).map(([{ text }]: [{ text: string }]) => text)[0],
      ),
      ['Name', 'Name'],
    )
    assert.equal(posts.length, 2)
  })
})

describe('blocks that cannot be split are refused before they are sent, with the place and the limit:', () => {
  const option = (text: string) => ({ text: plain(text), value: 'v' })
  const select = (options: JsonObject[]) => ({ type: 'static_select', action_id: 's', options })
  const refusals: [string, JsonObject[], RegExp][] = [
    [
      'a value',
      [section('x'), { type: 'actions', elements: [button('b', { value: 'x'.repeat(2001) })] }],
      /blocks\[1\]\.elements\[0\]\.value has 2001 characters; Slack takes 2000/,
    ],
    [
      'a label',
      [{ type: 'actions', elements: [button('b'.repeat(76))] }],
      /blocks\[0\]\.elements\[0\]\.text\.text has 76 characters; Slack takes 75/,
    ],
    [
      'a field',
      [{ type: 'section', fields: [mrkdwn('x'.repeat(2001))] }],
      /blocks\[0\]\.fields\[0\]\.text has 2001 characters; Slack takes 2000/,
    ],
    [
      'options',
      [section('x', { accessory: select(many(101, () => option('o'))) })],
      /blocks\[0\]\.accessory\.options has 101 items; Slack takes 100/,
    ],
    [
      'an option',
      [section('x', { accessory: select([option('o'.repeat(76))]) })],
      /blocks\[0\]\.accessory\.options\[0\]\.text\.text has 76 characters/,
    ],
    ['an empty text', [section('')], /blocks\[0\]\.text\.text is empty/],
    [
      'an id twice',
      [section('a', { block_id: 'x' }), section('b', { block_id: 'x' })],
      /blocks\[1\]\.block_id: x is the id of an earlier block/,
    ],
  ]
  for (const [name, blocks, reason] of refusals) {
    test(name, async () => {
      const reply = replyTo(await ask(setup), 'x', { data: { blocks } })
      const before = server.posts.length
      await assert.rejects(
        transport.send(reply),
        (error) => failing('send_rejected')(error) && reason.test(String(error)),
      )
      assert.equal(server.posts.length, before)
    })
  }

  test('a modal with a title of 25 characters', async () => {
    const view = { type: 'modal', title: plain('x'.repeat(25)), blocks: [] }
    const reply = replyTo(await ask(setup), '', { data: { view } })
    await assert.rejects(transport.send(reply), /view\.title\.text has 25 characters; Slack takes 24/)
  })
})

describe('blocks that Slack refuses', () => {
  test('are a dead letter with the reason of Slack', async () => {
    const messages = ['[ERROR] unsupported type: sparkles [json-pointer:/blocks/0/type]']
    server.answerNext('chat.postMessage', {
      body: { ok: false, error: 'invalid_blocks', response_metadata: { messages } },
    })
    const reply = replyTo(await ask(setup), 'x', { data: { blocks: [{ type: 'sparkles' }] } })
    await assert.rejects(transport.send(reply), /invalid_blocks.*unsupported type: sparkles/)
  })
})

describe('markdown that is split', () => {
  const row = (index: number) => `| name ${index} | ${index * 7} |`

  test('inside a table repeats the header in each part, and loses no row', () => {
    const head = '| Name | Size |\n|:-----|-----:|'
    const rows = many(200, row)
    const parts = splitMarkdown(`Here it is:\n\n${head}\n${rows.join('\n')}\n\nThat is all.`, 800)
    assert.ok(parts.length > 4)
    for (const part of parts.slice(1, -1)) assert.ok(part.startsWith(`${head}\n| name`), part.slice(0, 60))
    const shown = parts
      .join('\n')
      .split('\n')
      .filter((line) => line.startsWith('| name'))
    assert.deepEqual(shown, rows)
    assert.ok(parts.every((part) => part.length <= 800))
  })

  test('before the first row of a table keeps the header with the rows', () => {
    const head = '| Name | Size |\n|---|---|'
    const parts = splitMarkdown(`${'word '.repeat(70)}\n${head}\n${many(20, row).join('\n')}`, 390)
    for (const part of parts.slice(1)) assert.ok(part.startsWith(head), part.slice(0, 60))
    assert.doesNotMatch(parts[0] ?? '', /Name/)
  })

  test('inside code that looks like a table stays code', () => {
    const code = `\`\`\`sh\na | b\n--- | ---\n${many(80, row).join('\n')}\n\`\`\``
    for (const part of splitMarkdown(code, 400)) assert.match(part, /^```sh\n[^`]*\n```$/)
  })

  test('in a table whose header nearly fills a part loses no row', () => {
    const wide = `| ${'x'.repeat(300)} | y |\n|---|---|\n${many(60, row).join('\n')}`
    const parts = splitMarkdown(wide, 400)
    assert.equal(
      parts
        .join('\n')
        .split('\n')
        .filter((line) => line.startsWith('| name')).length,
      60,
    )
  })
})
