import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { slack } from '../../../transports/slack/index.ts'
import { deliverEvent, richText, startSlackGateway } from './harness.ts'

const setup = await startSlackGateway({ 'allow-bots': true })
after(() => setup.close())
const { server } = setup

const mrkdwn = (text: string) => ({ type: 'mrkdwn', text })
const plain = (text: string) => ({ type: 'plain_text', text })
const section = (text: string, more: JsonObject = {}) => ({ type: 'section', text: mrkdwn(text), ...more })
const alert = { fallback: 'CPU high', title: 'CPU high', title_link: 'https://a.b/1', text: 'on *host 7*' }
const ofBot = (more: JsonObject) =>
  deliverEvent(setup, { subtype: 'bot_message', bot_id: 'B9', username: 'Grafana', text: '', ...more })

describe('a message of another bot', () => {
  test('has the contents of its attachments as its text, and the attachments as data', async () => {
    const fields = [{ title: 'Load', value: '12 &amp; rising', short: true }]
    const attachments = [{ ...alert, fields }, { fallback: 'only *this*' }]
    const message = await ofBot({ attachments })
    assert.equal(message.text, '[CPU high](https://a.b/1)\non **host 7**\nLoad: 12 & rising\n\nonly **this**')
    assert.deepEqual(message.data.attachments, attachments)
    assert.deepEqual([message.attachments, message.from.name], [[], 'Grafana'])
    // In event data, `attachments` are files.
    const { body, attachments: files, blocks } = slack.eventData(message)
    assert.deepEqual([body, files, blocks], [message.text, undefined, undefined])
  })

  test('has the contents of its blocks as its text, instead of the placeholder of Slack', async () => {
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
      '@name-U1ANN <b>',
    ]
    assert.equal(message.text, lines.join('\n'))
    assert.deepEqual(message.data.blocks, blocks)
  })
})

test('a message of another bot has the contents of newer kinds of blocks as its text', async () => {
  const rich = (...elements: JsonObject[]) => ({
    type: 'rich_text',
    elements: [{ type: 'rich_text_section', elements }],
  })
  const button = { type: 'button', text: plain('Open'), action_id: 'a' }
  const card = {
    type: 'card',
    icon: { type: 'image', image_url: 'https://a.b/i.png', alt_text: 'Icon' },
    title: mrkdwn('Lumon'),
    subtitle: mrkdwn('Industries'),
    body: mrkdwn('Enjoy *each* card'),
    actions: [button],
  }
  const cell = (text: string) => ({ type: 'raw_text', text })
  const task = {
    type: 'task_card',
    task_id: 't1',
    title: 'Fetch data',
    output: rich({ type: 'text', text: 'done' }),
  }
  const blocks = [
    card,
    { type: 'carousel', elements: [{ ...card, title: mrkdwn('Second') }] },
    {
      type: 'container',
      title: plain('Box'),
      subtitle: plain('below'),
      child_blocks: [section('inside'), { type: 'actions', elements: [button] }],
    },
    {
      type: 'data_table',
      caption: 'Hosts',
      rows: [
        [cell('host'), cell('load')],
        [cell('h7'), { type: 'raw_number', value: 12 }],
      ],
    },
    { type: 'plan', title: 'Thinking', tasks: [task] },
    { type: 'video', title: plain('How to'), description: plain('in a minute'), alt_text: 'x' },
    { type: 'alert', text: mrkdwn('Disk full'), level: 'error' },
    { type: 'context_actions', elements: [{ type: 'icon_button', icon: 'trash', text: plain('Delete') }] },
    rich(
      { type: 'text', text: 'due ' },
      { type: 'date', timestamp: 1795946400, format: '{date_num}', fallback: '29 Nov' },
      { type: 'text', text: ' or ' },
      { type: 'date', timestamp: 1795946400, format: '{date_num}' },
      { type: 'color', value: '#405a70' },
    ),
  ]
  const message = await ofBot({ blocks })
  assert.equal(
    message.text,
    [
      ...['Lumon', 'Industries', 'Enjoy **each** card', 'Second', 'Industries', 'Enjoy **each** card'],
      ...['Box', 'below', 'inside', 'Hosts', 'host | load', 'h7 | 12', 'Thinking', 'Fetch data', 'done'],
      ...['How to', 'in a minute', 'Disk full', 'due 29 Nov or 2026-11-29T10:00:00.000Z#405a70'],
    ].join('\n'),
  )
})

test('a forwarded message is the text if there is no comment, a quote if there is one, and also in the data', async () => {
  const withoutBlocks = {
    is_share: true,
    channel_id: 'C0SECRET',
    fallback: '[September 1st] bob: x',
    text: 'as *it* was',
  }
  const message_blocks = [{ channel: 'C0SECRET', message: { blocks: richText('as it was') } }]
  const forwarded = { ...withoutBlocks, message_blocks }
  for (const [text, attachment, expected] of [
    ['', forwarded, 'as it was'],
    ['<@U0BOT>', forwarded, 'as it was'],
    ['', withoutBlocks, 'as **it** was'],
    ['see', forwarded, 'see\n\nForwarded message:\n> as it was'],
  ] as const) {
    const blocks = text === 'see' ? { blocks: richText(text) } : {}
    const { text: read, data } = await deliverEvent(setup, { text, attachments: [attachment], ...blocks })
    // Blocks of only rich_text, as people type it, repeat the text and are not kept.
    assert.deepEqual([read, data.attachments, data.blocks], [expected, [attachment], undefined])
  }
  const isOriginLookedUp = server.calls.some(({ args }) => args.channel === 'C0SECRET')
  assert.equal(isOriginLookedUp, false)
})
