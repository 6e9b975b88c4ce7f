import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { contentData, contentOf, contentText, idsIn } from '../../../transports/slack/inbound/content.ts'
import { slack } from '../../../transports/slack/index.ts'
import fc from '../../fixtures/fast-check.ts'
import { callback, deliverEvent, richText, startWorld } from './harness.ts'

const world = await startWorld({ 'allow-bots': true })
after(() => world.close())
const { server, fixture } = world

const mrkdwn = (text: string) => ({ type: 'mrkdwn', text })
const plain = (text: string) => ({ type: 'plain_text', text })
const section = (text: string, more: JsonObject = {}) => ({ type: 'section', text: mrkdwn(text), ...more })
const alert = { fallback: 'CPU high', title: 'CPU high', title_link: 'https://a.b/1', text: 'on *host 7*' }
const ofBot = (more: JsonObject) =>
  deliverEvent(world, { subtype: 'bot_message', bot_id: 'B9', username: 'Grafana', text: '', ...more })

describe('what another bot says', () => {
  test('in attachments is its text, and there to look at', async () => {
    const fields = [{ title: 'Load', value: '12 &amp; rising', short: true }]
    const message = await ofBot({ attachments: [{ ...alert, fields }, { fallback: 'only *this*' }] })
    assert.equal(message.text, '[CPU high](https://a.b/1)\non **host 7**\nLoad: 12 & rising\n\nonly **this**')
    assert.deepEqual(message.data.attachments, [{ ...alert, fields }, { fallback: 'only *this*' }])
    assert.deepEqual([message.attachments, message.from.name], [[], 'Grafana'])
  })

  test('in blocks is its text as well, whatever Slack writes in place of one', async () => {
    const blocks = [
      { type: 'header', text: plain('CPU &lt; 5 *') },
      section('*high* for <@U1ANN>', { fields: [mrkdwn('a'), mrkdwn('b')] }),
      { type: 'divider' },
      { type: 'context', elements: [mrkdwn('_now_'), { type: 'image', alt_text: 'x' }, plain('here')] },
      { type: 'markdown', text: '**kept**' },
      { type: 'table', rows: [[{ type: 'raw_text', text: 'x' }, ...richText('y')]] },
      { type: 'image', alt_text: 'a chart' },
      { type: 'actions', elements: [{ type: 'button', text: plain('Ack') }] },
      ...richText('rich'),
    ]
    const message = await ofBot({ text: "This content can't be displayed.", blocks })
    assert.equal(
      message.text,
      'CPU < 5 *\n**high** for @name-U1ANN\na\nb\n_now_ here\n**kept**\nx | y\na chart\nrich',
    )
    assert.deepEqual(message.data.blocks, blocks)
  })

  test('in its text stays its text', async () => {
    const message = await ofBot({ text: 'CPU *high*', blocks: [section('more')], attachments: [alert] })
    assert.equal(message.text, 'CPU **high**')
    assert.deepEqual([message.data.blocks, message.data.attachments], [[section('more')], [alert]])
  })

  test('by the screen is left out of what is kept, and that is said', async () => {
    const blocks = [section('x'.repeat(40_000))]
    const message = await ofBot({ blocks, attachments: [alert] })
    assert.ok(message.text.length > 40_000)
    assert.equal(message.data.blocks, undefined)
    assert.deepEqual(message.data.leftOut, { blocks: JSON.stringify(blocks).length })
    assert.deepEqual(message.data.attachments, [alert])
  })
})

describe('what somebody forwards', () => {
  const forwarded = {
    is_share: true,
    is_msg_unfurl: true,
    channel_id: 'C0SECRET',
    author_name: 'Bob',
    fallback: '[September 1st] bob: as it was',
    text: 'as *it* was',
    message_blocks: [{ team: 'T0TEAM', channel: 'C0SECRET', message: { blocks: richText('as it was') } }],
  }

  test('is the text where nothing is said to it, or only the bot is called', async () => {
    assert.equal((await deliverEvent(world, { text: '', attachments: [forwarded] })).text, 'as it was')
    const called = await deliverEvent(world, { text: '<@U0BOT>', attachments: [forwarded] })
    assert.deepEqual([called.text, called.data.mention], ['as it was', true])
    const { message_blocks: _blocks, ...old } = forwarded
    assert.equal((await deliverEvent(world, { text: '', attachments: [old] })).text, 'as **it** was')
    const asked = server.calls.some(({ args }) => args.channel === 'C0SECRET')
    assert.equal(asked, false, 'nobody reads the name of where it came from')
  })

  test('is there to look at where something is said to it', async () => {
    const said = { text: 'see', blocks: richText('see'), attachments: [forwarded] }
    const message = await deliverEvent(world, said)
    assert.deepEqual([message.text, message.data.attachments], ['see', [forwarded]])
    assert.equal(message.data.blocks, undefined, 'rich text is the text')
  })
})

test('what a deleted message showed is gone', async () => {
  const before = { user: 'U9', bot_id: 'B9', ts: '9.1', text: '', attachments: [alert] }
  const message = await deliverEvent(world, { subtype: 'message_deleted', previous_message: before })
  assert.deepEqual([message.text, message.data.attachments], ['', undefined])
})

test('a shortcut on an alert has the text of the alert', async () => {
  const payload = {
    type: 'message_action',
    team: { id: 'T0TEAM' },
    user: { id: 'U1ANN', name: 'ann' },
    channel: { id: 'C0GEN', name: 'general' },
    trigger_id: 't1',
    callback_id: 'ticket',
    message: { ts: '9.2', bot_id: 'B9', text: '', attachments: [{ text: 'CPU high' }] },
  }
  assert.ok((await server.sockets.deliver('interactive', payload)).acked)
  assert.equal(fixture.store.messages.at(-1)?.text, 'CPU high')
})

test('an event on the topic has files for attachments, and nothing of what is shown', async () => {
  const message = await ofBot({ attachments: [alert], blocks: [section('x')] })
  const data = slack.eventData(message)
  assert.deepEqual([data.body, data.attachments, data.blocks], [message.text, undefined, undefined])
})

test('whatever stands in blocks and attachments can be read', () => {
  const key = fc.constantFrom(
    'type',
    'text',
    'elements',
    'fields',
    'rows',
    'title',
    'message_blocks',
    'fallback',
  )
  const { tree } = fc.letrec((tie) => ({
    leaf: fc.constantFrom('section', 'table', 'context', 'rich_text', 'mrkdwn', '<@U1>', null, 7),
    tree: fc.oneof({ maxDepth: 5 }, tie('leaf'), fc.array(tie('tree')), fc.dictionary(key, tie('tree'))),
  }))
  fc.assert(
    fc.property(fc.array(tree), fc.array(tree), (blocks, attachments) => {
      const content = contentOf(JSON.parse(JSON.stringify({ blocks, attachments })))
      assert.equal(typeof contentText(content, new Map()), 'string')
      idsIn(content)
      contentData(content)
    }),
  )
})

test('what people write keeps no blocks', async () => {
  const before = fixture.store.messages.length
  await server.sockets.deliver('events_api', callback({ ts: '9.3', text: 'hi', blocks: richText('hi') }))
  assert.equal(fixture.store.messages[before]?.data.blocks, undefined)
})
