import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { slack } from '../../../transports/slack/index.ts'
import { deliverEvent, richText, startWorld } from './harness.ts'

const world = await startWorld({ 'allow-bots': true })
after(() => world.close())
const { server } = world

const mrkdwn = (text: string) => ({ type: 'mrkdwn', text })
const plain = (text: string) => ({ type: 'plain_text', text })
const section = (text: string, more: JsonObject = {}) => ({ type: 'section', text: mrkdwn(text), ...more })
const alert = { fallback: 'CPU high', title: 'CPU high', title_link: 'https://a.b/1', text: 'on *host 7*' }
const ofBot = (more: JsonObject) =>
  deliverEvent(world, { subtype: 'bot_message', bot_id: 'B9', username: 'Grafana', text: '', ...more })

describe('what another bot says', () => {
  test('in attachments is its text, and there to look at', async () => {
    const fields = [{ title: 'Load', value: '12 &amp; rising', short: true }]
    const attachments = [{ ...alert, fields }, { fallback: 'only *this*' }]
    const message = await ofBot({ attachments })
    assert.equal(message.text, '[CPU high](https://a.b/1)\non **host 7**\nLoad: 12 & rising\n\nonly **this**')
    assert.deepEqual(message.data.attachments, attachments)
    assert.deepEqual([message.attachments, message.from.name], [[], 'Grafana'])
    // In an event, `attachments` are files.
    const { body, attachments: files, blocks } = slack.eventData(message)
    assert.deepEqual([body, files, blocks], [message.text, undefined, undefined])
  })

  test('in blocks is its text as well, whatever Slack writes in place of one', async () => {
    const rich = [
      { type: 'user', user_id: 'U1ANN' },
      { type: 'text', text: ' <b>' },
    ]
    const blocks = [
      { type: 'header', text: plain('CPU &lt; 5 *') },
      section('*high* for <@U1ANN>', { fields: [mrkdwn('a'), mrkdwn('b')] }),
      { type: 'divider' },
      { type: 'context', elements: [mrkdwn('_now_'), { type: 'image', alt_text: 'x' }, plain('here')] },
      { type: 'markdown', text: '**kept**' },
      { type: 'table', rows: [[{ type: 'raw_text', text: 'x' }, ...richText('y')]] },
      { type: 'image', alt_text: 'a chart' },
      { type: 'actions', elements: [{ type: 'button', text: plain('Ack') }] },
      { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: rich }] },
    ]
    const message = await ofBot({ text: "This content can't be displayed.", blocks })
    const lines = [
      'CPU < 5 *',
      '**high** for @name-U1ANN',
      'a',
      'b',
      '_now_',
      'x',
      'here',
      '**kept**',
      'x | y',
      'a chart',
    ]
    assert.equal(message.text, [...lines, '@name-U1ANN <b>'].join('\n'))
    assert.deepEqual(message.data.blocks, blocks)
  })
})

test('what somebody forwards is the text where nothing is said to it, a quote where something is, and there to look at', async () => {
  const old = {
    is_share: true,
    channel_id: 'C0SECRET',
    fallback: '[September 1st] bob: x',
    text: 'as *it* was',
  }
  const message_blocks = [{ channel: 'C0SECRET', message: { blocks: richText('as it was') } }]
  const forwarded = { ...old, message_blocks }
  for (const [text, attachment, expected] of [
    ['', forwarded, 'as it was'],
    ['<@U0BOT>', forwarded, 'as it was'],
    ['', old, 'as **it** was'],
    ['see', forwarded, 'see\n\nForwarded message:\n> as it was'],
  ] as const) {
    const blocks = text === 'see' ? { blocks: richText(text) } : {}
    const { text: read, data } = await deliverEvent(world, { text, attachments: [attachment], ...blocks })
    assert.deepEqual([read, data.attachments, data.blocks], [expected, [attachment], undefined])
  }
  const asked = server.calls.some(({ args }) => args.channel === 'C0SECRET')
  assert.equal(asked, false, 'nobody reads the name of where it came from')
})
