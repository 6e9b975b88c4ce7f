import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import type { Message } from '../../../src/core/message.ts'
import { SendPostponed } from '../../../src/core/transport.ts'
import {
  click,
  command,
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
const refused = (error: string) => ({ body: { ok: false, error } })
const expired = { status: 404, ...refused('expired_url') }
let channels = 0
/** A slash command in a new channel, since Slack limits the posts to each channel. */
const newCommand = () => command(setup, { channel_id: `C${++channels}` })

/**
 * The posts and answers that `run` causes, as [way, text]. The way is `url` (the response URL), the
 * id of a direct conversation, or `channel`; followed by `/` and a user for an ephemeral post.
 */
async function shownBy(run: () => Promise<unknown>): Promise<string[][]> {
  const [calls, posts] = [server.calls.length, server.posts.length]
  await run()
  const answers = server.calls.slice(calls).filter(({ method }) => method === 'response_url')
  return [
    ...answers.map(({ args }) => ['url', shown(args)]),
    ...server.posts.slice(posts).map((post) => {
      const place = post.channel.startsWith('D') ? post.channel : 'channel'
      return [post.ephemeralTo ? `${place}/${post.ephemeralTo}` : place, shown(post)]
    }),
  ]
}

const ways = (shown: string[][]) => shown.map(([way]) => way)

describe('the answer to a slash command', () => {
  test('is ephemeral', async () => {
    const message = await newCommand()
    assert.deepEqual([message.text, message.data.command], ['why?', ['/ask', 'ask']])
    const blocks = [{ type: 'divider' }]
    await transport.send(replyTo(message, 'because', { data: { blocks } }))
    const expected = { response_type: 'ephemeral', replace_original: false, text: 'because', blocks }
    assert.deepEqual(server.calls.at(-1)?.args, expected)
  })

  test('is ephemeral if it is sent to its conversation instead', async () => {
    const { conversation } = await newCommand()
    const reply = { key: conversation, gateway: 'team', conversation, to: conversation, text: 'your salary' }
    assert.deepEqual(await shownBy(() => transport.send(reply)), [['channel/U1ANN', 'your salary']])
  })

  for (const [state, fault] of Object.entries({ expired, 'used up': refused('used_url') })) {
    test(`is still ephemeral if its response URL is ${state}`, async () => {
      const reply = replyTo(await newCommand(), 'your salary')
      server.answerNext('response_url', fault)
      assert.deepEqual(await shownBy(() => transport.send(reply)), [['channel/U1ANN', 'your salary']])
    })
  }

  for (const error of ['not_in_channel', 'channel_not_found', 'user_not_in_channel']) {
    test(`goes to the direct messages, once, if the response URL is expired and the channel answers ${error}`, async () => {
      const reply = replyTo(await newCommand(), 'your salary')
      server.answerNext('response_url', expired, expired)
      server.answerNext('chat.postEphemeral', refused(error), refused(error))
      server.answerNext('chat.postMessage', lost)
      const shown = await shownBy(() => sendLost(setup, reply))
      assert.deepEqual(shown, [['D1ANN', 'your salary']])
    })
  }

  test('is continued by ephemeral posts if it is longer than the response URL allows', async () => {
    const parts = paragraphs(7)
    const shown = await shownBy(async () => transport.send(replyTo(await newCommand(), parts.join('\n\n'))))
    assert.deepEqual(ways(shown), [...Array(5).fill('url'), 'channel/U1ANN', 'channel/U1ANN'])
    assert.deepEqual(
      shown.map(([, text]) => text),
      parts,
    )
  })

  test('is ambiguous only if the connection broke during the call', async () => {
    const reply = replyTo(await newCommand(), 'because')
    assert.deepEqual(await transport.probe?.(reply), { sent: false })
    server.answerNext('response_url', { status: 429 })
    await assert.rejects(transport.send(reply), (error) => error instanceof SendPostponed)
    assert.deepEqual(await transport.probe?.(reply), { sent: false })
    server.answerNext('response_url', { hangUp: true })
    await assert.rejects(transport.send(reply), failing('send_ambiguous'))
    assert.deepEqual(await transport.probe?.(reply), { sent: 'unknown' })
  })

  test('has its files in the direct messages, shared once', async () => {
    const reply = replyTo(await newCommand(), 'here', { attachments: [await file(setup)] })
    server.answerNext('files.completeUploadExternal', lost)
    const shown = await shownBy(() => sendLost(setup, reply))
    assert.deepEqual(ways(shown), ['url', 'D1ANN'])
  })
})

describe('the approval of a slash command', () => {
  const approval = (id: string, more: JsonObject = {}) => ({ approval: { id, title: 'Deploy?', ...more } })
  const question = (message: Message, id: string) =>
    replyTo(message, 'Deploy? trivium approval-decide', { key: `approval:${id}`, data: approval(id) })
  const decision = (message: Message, id: string) =>
    replyTo(message, '', {
      key: `${id}:decided`,
      data: approval(id, { status: 'approved', by: 'team:U2BOB' }),
    })

  test('is requested once in the channel, and decided in the same post', async () => {
    const message = await newCommand()
    server.answerNext('chat.postMessage', lost)
    const requests = await shownBy(async () => {
      await sendLost(setup, question(message, 'p1'))
      await transport.send(question(message, 'p2'))
    })
    assert.deepEqual(ways(requests), ['channel', 'channel'])
    assert.match(JSON.stringify(server.posts.at(-1)?.blocks), /"action_id":"trivium-approve"/)
    assert.deepEqual(await shownBy(() => transport.send(decision(message, 'p2'))), [])
    assert.match(JSON.stringify(server.posts.at(-1)?.blocks), /Approved by <@U2BOB>/)
  })

  test('is shown to the author, with its decision, if the bot is not in the channel', async () => {
    const message = await newCommand()
    server.answerNext('chat.postMessage', refused('not_in_channel'))
    const requests = await shownBy(() => transport.send(question(message, 'p3')))
    assert.deepEqual(requests, [['url', 'Deploy? trivium approval-decide']])
    const decisions = await shownBy(() => transport.send(decision(message, 'p3')))
    assert.deepEqual(decisions, [['url', 'Deploy?: approved']])
  })
})

describe('an ephemeral reply', () => {
  test('is shown to the author of the message, and in a thread only if the message is in one', async () => {
    for (const thread_ts of [undefined, '1600000000.000001']) {
      const question = await deliverEvent(setup, { text: 'more', ...(thread_ts ? { thread_ts } : {}) })
      await transport.send(replyTo(question, 'psst', { data: { ephemeral: true } }))
      assert.deepEqual(
        [server.posts.at(-1)?.ephemeralTo, server.posts.at(-1)?.thread_ts],
        ['U1ANN', thread_ts],
      )
    }
    const clicked = await click(setup, { message: { ts: '1700000000.000100' } })
    await transport.send(replyTo(clicked, 'psst', { data: { ephemeral: true } }))
    assert.deepEqual([server.posts.at(-1)?.ephemeralTo, server.posts.at(-1)?.thread_ts], ['U1ANN', undefined])
  })

  test('uses the response URL of a command for its author, and never for another person', async () => {
    const message = await newCommand()
    const to = (ephemeral: string | true) =>
      shownBy(() =>
        transport.send(replyTo(message, 'psst', { key: `for ${ephemeral}`, data: { ephemeral } })),
      )
    assert.deepEqual(await to('U2BOB'), [['channel/U2BOB', 'psst']])
    assert.deepEqual(await to(true), [['url', 'psst']])
  })

  test('to another person is rejected, instead of sent directly, if they are not in the channel or it has files', async () => {
    const message = await deliverEvent(setup, { text: 'tell the boss', channel: 'C0BOSS' })
    const data = { ephemeral: 'U9BOSS' }
    const shown = await shownBy(async () => {
      server.answerNext('chat.postEphemeral', refused('user_not_in_channel'))
      await assert.rejects(transport.send(replyTo(message, 'a link', { data })), failing('send_rejected'))
      const reply = replyTo(message, 'a link', { key: 'files', attachments: [await file(setup)], data })
      await assert.rejects(transport.send(reply), failing('send_rejected'))
    })
    assert.deepEqual(shown, [])
    assert.doesNotMatch(JSON.stringify(server.calls), /D9BOSS|"users":"U9BOSS"/)
  })
})

describe('a click on an ephemeral post', () => {
  const response_url = server.apiUrl.replace('/api/', '/respond/click')
  const shown = { type: 'message', channel_id: 'C0GEN', message_ts: '1999.000001', is_ephemeral: true }
  const clickOn = (more: JsonObject) => click(setup, { response_url, container: { ...shown, ...more } })

  test('is answered ephemerally, and starts no thread', async () => {
    const message = await clickOn({})
    assert.deepEqual([message.data.thread, message.conversation], [undefined, 'slack:T0TEAM:C0GEN:U1ANN'])
    assert.deepEqual(await shownBy(() => transport.send(replyTo(message, 'noted'))), [['url', 'noted']])
  })
})
