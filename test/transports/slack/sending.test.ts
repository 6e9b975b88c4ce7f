import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { SendPostponed } from '../../../src/core/transport.ts'
import {
  ask,
  deliverEvent,
  failing,
  file,
  lost,
  paragraphs,
  replyTo,
  sendLost,
  shown,
  startSlackGateway,
} from './harness.ts'

const setup = await startSlackGateway()
after(() => setup.close())
const { server, transport } = setup
const newQuestion = () => ask(setup)
const postsOf = (thread: unknown) => server.posts.filter((post) => post.thread_ts === thread)

test('a post with an expired token is retried, since the token may be renewed meanwhile', async () => {
  const reply = replyTo(await newQuestion(), 'late')
  server.answerNext('chat.postMessage', { body: { ok: false, error: 'token_expired' } })
  await assert.rejects(transport.send(reply), failing('send_failed'))
  assert.ok(await transport.send(reply))
})

describe('a post whose answer is lost', () => {
  test('is ambiguous until it is found by its key, and then not sent again', async () => {
    const message = await newQuestion()
    const reply = replyTo(message, 'once')
    server.answerNext('chat.postMessage', lost)
    server.answerNext('conversations.replies', { hangUp: true })
    await assert.rejects(sendLost(setup, reply), failing('send_ambiguous'))
    const receipt = await transport.send(reply)
    assert.deepEqual(await transport.send(reply), receipt)
    assert.equal(postsOf(message.data.thread).length, 1)
  })

  test('to a person is searched in the direct messages with them', async () => {
    server.answerNext('chat.postMessage', lost)
    const to = { conversation: 'U1ANN', to: 'U1ANN' }
    const { id } = await sendLost(setup, { key: 'direct', gateway: 'team', text: 'psst', ...to })
    assert.equal(id, `D1ANN/${server.posts.at(-1)?.ts}`)
    assert.equal(server.posts.filter(({ channel }) => channel === 'D1ANN').length, 1)
  })

  test('is sent again if it is not found', async () => {
    const message = await newQuestion()
    server.answerNext('chat.postMessage', { hangUp: true })
    await sendLost(setup, replyTo(message, 'once'))
    assert.equal(postsOf(message.data.thread).length, 1)
  })

  test('in the middle of a long text is followed only by the missing parts', async () => {
    const message = await newQuestion()
    const parts = paragraphs(3)
    server.answerNext('chat.postMessage', {}, lost)
    const reply = replyTo(message, parts.join('\n\n'))
    await assert.rejects(transport.send(reply))
    await sendLost(setup, reply)
    assert.deepEqual(postsOf(message.data.thread).map(shown), parts)
  })

  test('with files shares them once in the thread', async () => {
    const message = await newQuestion()
    server.answerNext('files.completeUploadExternal', lost)
    await sendLost(setup, replyTo(message, '', { attachments: [await file(setup)] }))
    assert.equal(postsOf(message.data.thread).length, 1)
  })

  test('stays ambiguous if the channel cannot be read', async () => {
    const to = { conversation: '#general', to: '#general' }
    const reply = { key: 'named', gateway: 'team', text: 'hello', ...to }
    server.answerNext('chat.postMessage', { hangUp: true })
    server.answerNext('conversations.history', { body: { ok: false, error: 'channel_not_found' } })
    await assert.rejects(sendLost(setup, reply), failing('send_ambiguous'))
    assert.deepEqual(await transport.probe?.(reply), { sent: 'unknown' })
  })
})

describe('a post that Slack refuses', () => {
  test('permanently is a dead letter, with advice', async () => {
    server.answerNext('chat.postMessage', { body: { ok: false, error: 'not_in_channel' } })
    const reply = replyTo(await newQuestion(), 'x')
    await assert.rejects(transport.send(reply), /permanently rejected the message: not_in_channel.*invite/)
    server.answerNext('chat.postMessage', { body: { ok: false, error: 'is_archived' } })
    await assert.rejects(transport.send(reply), /message: is_archived: the channel is archived; unarchive it/)
  })

  test('with a server error is ambiguous, since Slack may have posted it', async () => {
    server.answerNext('chat.postMessage', { status: 503, body: {} })
    await assert.rejects(transport.send(replyTo(await newQuestion(), 'x')), failing('send_ambiguous'))
  })
})

describe('an approval', () => {
  const call = { by: 'team:U1ANN', skill: 'deploy', args: '{ "to": "<!channel>" }' }
  const approval = { id: 'abc123', title: 'Deploy <!channel> <prod>', ...call }

  test('is requested with its call, without mentions, and with buttons if `buttons` is set', async () => {
    for (const buttons of [true, false]) {
      const message = await newQuestion()
      await transport.send(
        replyTo(message, '', { key: `ask ${buttons}`, data: { approval: { ...approval, buttons } } }),
      )
      const blocks = JSON.stringify(postsOf(message.data.thread).map((post) => post.blocks))
      assert.equal(/"action_id":"trivium-approve","value":"abc123"/.test(blocks), buttons)
      assert.match(blocks, /Deploy &lt;!channel&gt; &lt;prod&gt;.*<@U1ANN>.*`deploy`/)
      assert.match(blocks, /"type":"markdown","text":"```\\n\{ \\"to\\": \\"<!\u200Bchannel>/)
    }
  })

  test('has buttons that skills cannot create', async () => {
    const button = { type: 'button', action_id: 'trivium-approve', value: 'abc123' }
    const data = { blocks: [{ type: 'actions', elements: [button] }] }
    await assert.rejects(
      transport.send(replyTo(await newQuestion(), 'Lunch?', { data })),
      failing('send_rejected'),
    )
  })
})

describe('blocks', () => {
  test('mention people, but never a channel or group', async () => {
    const text = '<@U1ANN> <!channel|x> <!here> <!subteam^S1> <!date^1^{date}|today>'
    const shout = [
      { type: 'broadcast', range: 'here' },
      { type: 'user', user_id: 'U1ANN' },
    ]
    const fields = [{ type: 'mrkdwn', text: '<!everyone>' }]
    const blocks = [
      { type: 'section', text: { type: 'mrkdwn', text }, fields },
      { type: 'markdown', text: '<!channel>' },
      { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: shout }] },
    ]
    await transport.send(replyTo(await newQuestion(), 'hear', { data: { blocks } }))
    const posted = JSON.stringify(server.posts.at(-1)?.blocks)
    assert.doesNotMatch(posted, /<!(?!date)(?!\u200B)|broadcast/)
    for (const kept of ['<@U1ANN>', '<!date^1^{date}|today>', '"user_id":"U1ANN"', '@here']) {
      assert.ok(posted.includes(kept), kept)
    }
  })
})

/** A predicate for sends that are postponed by about this time, without counting as an attempt. */
const postponed = (seconds: number) => (error: unknown) =>
  error instanceof SendPostponed && Math.abs(error.delay / 1000 - seconds) < 2
const limited = { status: 429, headers: { 'retry-after': '600' } }

describe("Slack's rate limits", () => {
  test('postpone a send also if they are reported as an error with status 200', async () => {
    for (const error of ['ratelimited', 'rate_limited']) {
      const message = await deliverEvent(setup, { text: 'x', channel: `C0${error.length}` })
      server.answerNext('chat.postMessage', { body: { ok: false, error } })
      await assert.rejects(transport.send(replyTo(message, 'x')), postponed(30))
    }
  })

  for (const [method, dataOf] of [
    ['chat.update', (key: string) => ({ update: key })],
    ['chat.postEphemeral', () => ({ ephemeral: 'U1ANN' })],
  ] as const) {
    test(`of ${method} apply to all channels: another channel makes no call`, async () => {
      const sendIn = async (channel: string) => {
        const message = await deliverEvent(setup, { text: 'x', channel })
        const key = `${method}/${channel}`
        await transport.send(replyTo(message, 'first', { key }))
        return () => transport.send(replyTo(message, 'x', { key: `${key}/later`, data: dataOf(key) }))
      }
      const [one, two] = [await sendIn('C0ONE'), await sendIn('C0TWO')]
      server.answerNext(method, limited)
      const before = server.calls.length
      await assert.rejects(one(), postponed(600))
      await assert.rejects(two(), postponed(600))
      assert.equal(server.calls.slice(before).filter((call) => call.method === method).length, 1)
    })
  }

  test('of a busy channel postpone each reply a second longer, so that they are sent one after another', async () => {
    const message = await deliverEvent(setup, { text: 'x', channel: 'C0CROWD' })
    server.answerNext('chat.postMessage', limited)
    for (const seconds of [600, 601, 602, 603, 604, 605]) {
      await assert.rejects(transport.send(replyTo(message, 'x', { key: `${seconds}` })), (error) => {
        return error instanceof SendPostponed && Math.round(error.delay / 1000) === seconds
      })
    }
  })
})
