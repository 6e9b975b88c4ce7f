import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { after, describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { SendPostponed } from '../../../src/core/transport.ts'
import {
  callback,
  deliverEvent,
  failing,
  interact,
  paragraphs,
  replyTo,
  shown,
  startWorld,
} from './harness.ts'

const world = await startWorld()
after(() => world.close())
const { server, fixture, transport } = world
let channels = 0
/** Each question is in a channel of its own, as Slack limits what is posted to one. */
const asked = () => deliverEvent(world, { text: 'a question', channel: `C${++channels}` })
const postsOf = (thread: unknown) => server.posts.filter((post) => post.thread_ts === thread)

describe('a post that Slack does not answer', () => {
  test('is ambiguous, found by its key, and not sent again', async () => {
    const message = await asked()
    const reply = replyTo(message, 'once')
    server.fail('chat.postMessage', { apply: true, hangUp: true })
    await assert.rejects(transport.send(reply), failing('send_ambiguous'))
    const found = await transport.probe?.(reply)
    assert.equal(found?.sent, true)
    await transport.send(reply)
    assert.equal(postsOf(message.data.thread).length, 1)
  })

  test('stays ambiguous while Slack cannot be asked, so that it is not sent again without looking', async () => {
    const message = await asked()
    const reply = replyTo(message, 'once')
    server.fail('chat.postMessage', { apply: true, hangUp: true })
    await assert.rejects(transport.send(reply), failing('send_ambiguous'))
    server.fail('conversations.replies', { hangUp: true })
    await assert.rejects(async () => transport.probe?.(reply), failing('send_ambiguous'))
    assert.equal((await transport.probe?.(reply))?.sent, true)
  })

  test('to a person is looked for in the direct messages with them', async () => {
    const reply = { key: 'direct', gateway: 'team', conversation: 'U1ANN', to: 'U1ANN', text: 'psst' }
    server.fail('chat.postMessage', { apply: true, hangUp: true })
    await assert.rejects(transport.send(reply), failing('send_ambiguous'))
    const found = await transport.probe?.(reply)
    assert.ok(found?.sent === true && found.receipt.id.startsWith('D1ANN/'))
  })

  test('is sent again where it is not found', async () => {
    const message = await asked()
    const reply = replyTo(message, 'once')
    server.fail('chat.postMessage', { hangUp: true })
    await assert.rejects(transport.send(reply), failing('send_ambiguous'))
    assert.deepEqual(await transport.probe?.(reply), { sent: false })
    await transport.send(reply)
    assert.equal(postsOf(message.data.thread).length, 1)
  })

  test('in the middle of a long text is followed by the parts that are missing only', async () => {
    const message = await asked()
    const parts = paragraphs(3)
    const reply = replyTo(message, parts.join('\n\n'))
    server.fail('chat.postMessage', { apply: true, hangUp: true })
    await assert.rejects(transport.send(reply), failing('send_ambiguous'))
    assert.deepEqual(await transport.probe?.(reply), { sent: false })
    await transport.send(reply)
    assert.deepEqual(postsOf(message.data.thread).map(shown), parts)
  })
})

describe('what Slack refuses', () => {
  test('is repeated after the time that Slack asks for, and not before', async () => {
    const message = await asked()
    server.fail('chat.postMessage', {
      status: 429,
      headers: { 'retry-after': '1' },
      body: { ok: false, error: 'ratelimited' },
    })
    const from = server.calls.length
    await transport.send(replyTo(message, 'later'))
    const tries = server.calls.slice(from).filter((call) => call.method === 'chat.postMessage')
    assert.equal(tries.length, 2)
    assert.ok((tries[1]?.at ?? 0) - (tries[0]?.at ?? 0) >= 950)
  })

  test('for longer than is worth waiting for is put off, and Slack is not asked again', async () => {
    const message = await deliverEvent(world, { text: 'x', channel: 'C0BUSY' })
    server.fail('chat.postMessage', { status: 429, headers: { 'retry-after': '600' } })
    const from = server.calls.length
    await assert.rejects(transport.send(replyTo(message, 'later')), (error) => error instanceof SendPostponed)
    await assert.rejects(transport.send(replyTo(message, 'later')), (error) => error instanceof SendPostponed)
    const tries = server.calls.slice(from).filter((call) => call.method === 'chat.postMessage')
    assert.equal(tries.length, 1)
  })

  test('for good is a dead letter, with what to do', async () => {
    const message = await asked()
    server.fail('chat.postMessage', { body: { ok: false, error: 'not_in_channel' } })
    await assert.rejects(
      transport.send(replyTo(message, 'x')),
      /refused to send for good: not_in_channel.*invite/,
    )
  })

  test('with an error of its own is looked for, as Slack may have done it', async () => {
    const message = await asked()
    server.fail('chat.postMessage', { status: 503, body: {} })
    await assert.rejects(transport.send(replyTo(message, 'x')), failing('send_ambiguous'))
  })
})

describe('an approval', () => {
  const approval = { id: 'abc123', title: 'Deploy <prod>' }

  test('calls nobody by its title', async () => {
    const message = await asked()
    const loud = { id: 'loud', title: 'Tell <!channel>', status: 'denied' }
    await transport.send(replyTo(message, '', { key: 'loud', data: { approval: loud } }))
    assert.doesNotMatch(JSON.stringify(postsOf(message.data.thread)), /<!/)
  })

  test('is asked with buttons, whose click is a message with the decision, and shows who decided', async () => {
    const message = await asked()
    await transport.send(replyTo(message, '', { key: 'ask', data: { approval } }))
    const [post] = postsOf(message.data.thread)
    assert.match(JSON.stringify(post?.blocks), /"action_id":"trivium-approve".*"value":"abc123"/)
    assert.match(JSON.stringify(post?.blocks), /Deploy &lt;prod&gt;/)

    const click = await interact(world, {
      type: 'block_actions',
      trigger_id: '1.2.3',
      container: {
        type: 'message',
        message_ts: post?.ts ?? '',
        channel_id: post?.channel ?? '',
        thread_ts: post?.thread_ts ?? '',
      },
      channel: { id: post?.channel ?? '', name: 'general' },
      message: { ts: post?.ts ?? '', thread_ts: post?.thread_ts ?? '' },
      actions: [{ action_id: 'trivium-approve', value: 'abc123', action_ts: '1', type: 'button' }],
    })
    assert.deepEqual(click.data.approval, { id: 'abc123', decision: 'approve' })
    assert.deepEqual(
      [click.data.action, click.from.id, click.from.verified],
      ['trivium-approve', 'U1ANN', true],
    )
    assert.equal(click.conversation, message.conversation)

    const decided = { ...approval, status: 'approved', by: 'U1ANN' }
    await transport.send(replyTo(message, '', { key: 'told', data: { approval: decided } }))
    assert.equal(postsOf(message.data.thread).length, 1)
    assert.match(JSON.stringify(postsOf(message.data.thread)[0]?.blocks), /Approved by <@U1ANN>/)
    assert.doesNotMatch(JSON.stringify(postsOf(message.data.thread)[0]?.blocks), /trivium-approve/)
  })
})

describe('other ways to answer', () => {
  test('blocks are shown in place of the text', async () => {
    const blocks = [{ type: 'divider' }]
    await transport.send(replyTo(await asked(), 'a line', { data: { blocks } }))
    assert.deepEqual([server.posts.at(-1)?.text, server.posts.at(-1)?.blocks], ['a line', blocks])
  })

  test('blocks make one post, however long the text is that they stand for', async () => {
    const message = await asked()
    const text = paragraphs(2).join('\n\n')
    await transport.send(replyTo(message, text, { data: { blocks: [{ type: 'divider' }] } }))
    assert.equal(postsOf(message.data.thread).length, 1)
  })

  test('blocks call people, and never everybody', async () => {
    const loud = '<@U1ANN> <!channel|x> <!here> <!subteam^S1> <!date^1^{date}|today>'
    const shout = [
      { type: 'broadcast', range: 'here' },
      { type: 'user', user_id: 'U1ANN' },
    ]
    const blocks = [
      {
        type: 'section',
        text: { type: 'mrkdwn', text: loud },
        fields: [{ type: 'mrkdwn', text: '<!everyone>' }],
      },
      { type: 'markdown', text: '<!channel>' },
      { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: shout }] },
    ]
    await transport.send(replyTo(await asked(), 'hear', { data: { blocks } }))
    const quiet = '<@U1ANN> &lt;!channel|x> &lt;!here> &lt;!subteam^S1> <!date^1^{date}|today>'
    const calm = [{ type: 'text', text: '@here' }, shout[1]]
    assert.deepEqual(server.posts.at(-1)?.blocks, [
      {
        type: 'section',
        text: { type: 'mrkdwn', text: quiet },
        fields: [{ type: 'mrkdwn', text: '&lt;!everyone>' }],
      },
      { type: 'markdown', text: '<!\u200Bchannel>' },
      { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: calm }] },
    ])
  })

  test("buttons of a skill cannot be those of Trivium's approvals", async () => {
    const button = {
      type: 'button',
      action_id: 'trivium-approve',
      value: 'abc123',
      text: { type: 'plain_text', text: 'OK' },
    }
    const data = { blocks: [{ type: 'actions', elements: [button] }] }
    await assert.rejects(transport.send(replyTo(await asked(), 'Lunch?', { data })), failing('send_rejected'))
  })

  test('files are uploaded and shared in the thread, once', async () => {
    const message = await asked()
    const file = await fixture.deps.artifacts.save(
      'report.txt',
      'text/plain',
      Readable.from([Buffer.from('hi')]),
      100,
    )
    const reply = replyTo(message, '', { key: 'files', attachments: [file] })
    server.fail('files.completeUploadExternal', { apply: true, hangUp: true })
    await assert.rejects(transport.send(reply), failing('send_ambiguous'))
    assert.equal((await transport.probe?.(reply))?.sent, true)
    await transport.send(reply)
    assert.equal(postsOf(message.data.thread).length, 1)
  })
})

test('own messages, other bots and what Slack tells of itself start nothing', async () => {
  const calls = fixture.store.calls
  const silent: JsonObject[] = [
    { user: 'U0BOT', text: 'mine' },
    { bot_id: 'B0BOT', text: 'mine' },
    { bot_id: 'B9', user: 'U9', text: 'of another bot' },
    { subtype: 'channel_join', text: 'joined' },
    {
      type: 'reaction_added',
      user: 'U0BOT',
      reaction: 'eyes',
      item: { type: 'message', channel: 'C0GEN', ts: '1.1' },
    },
    { type: 'member_joined_channel' },
  ]
  for (const event of silent) {
    const outcome = await server.sockets.deliver('events_api', callback({ ts: server.nextTs(), ...event }))
    assert.equal(outcome.acked, true, JSON.stringify(event))
  }
  assert.equal(fixture.store.calls, calls)
})
