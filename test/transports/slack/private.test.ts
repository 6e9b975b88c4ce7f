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
  startWorld,
} from './harness.ts'

const world = await startWorld()
after(() => world.close())
const { server, transport } = world
const refused = (error: string) => ({ body: { ok: false, error } })
const expired = { status: 404, ...refused('expired_url') }
let channels = 0
/** Each in a channel of its own, as Slack limits what is posted to one. */
const typed = () => command(world, { channel_id: `C${++channels}` })

/** What was shown since, as [how, text]; `how` is `url`, a kind of channel, or that and who alone saw it there. */
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

const ways = (shown: string[][]) => shown.map(([how]) => how)

describe('the answer to a slash command', () => {
  test('goes where only its author sees it', async () => {
    const message = await typed()
    assert.deepEqual([message.text, message.data.command], ['why?', ['/ask', 'ask']])
    const blocks = [{ type: 'divider' }]
    await transport.send(replyTo(message, 'because', { data: { blocks } }))
    const expected = { response_type: 'ephemeral', replace_original: false, text: 'because', blocks }
    assert.deepEqual(server.calls.at(-1)?.args, expected)
  })

  for (const [how, fault] of Object.entries({ expired, 'used up': refused('used_url') })) {
    test(`is never shown to the channel, also where Slack says that its URL is ${how}`, async () => {
      const reply = replyTo(await typed(), 'your salary')
      server.fail('response_url', fault)
      assert.deepEqual(await shownBy(() => transport.send(reply)), [['channel/U1ANN', 'your salary']])
    })
  }

  for (const error of ['not_in_channel', 'channel_not_found', 'user_not_in_channel']) {
    test(`that comes late where Slack says ${error} goes to the direct messages, once`, async () => {
      const reply = replyTo(await typed(), 'your salary')
      server.fail('response_url', expired, expired)
      server.fail('chat.postEphemeral', refused(error), refused(error))
      server.fail('chat.postMessage', lost)
      const shown = await shownBy(() => sendLost(world, reply))
      assert.deepEqual(shown, [['D1ANN', 'your salary']])
    })
  }

  test('that is longer than Slack takes at once goes on where still only its author sees it', async () => {
    const parts = paragraphs(7)
    const shown = await shownBy(async () => transport.send(replyTo(await typed(), parts.join('\n\n'))))
    assert.deepEqual(ways(shown), [...Array(5).fill('url'), 'channel/U1ANN', 'channel/U1ANN'])
    assert.deepEqual(
      shown.map(([, text]) => text),
      parts,
    )
  })

  test('is ambiguous where nobody said whether it arrived, and only there', async () => {
    const reply = replyTo(await typed(), 'because')
    assert.deepEqual(await transport.probe?.(reply), { sent: false })
    server.fail('response_url', { status: 429 })
    await assert.rejects(transport.send(reply), (error) => error instanceof SendPostponed)
    assert.deepEqual(await transport.probe?.(reply), { sent: false })
    server.fail('response_url', { hangUp: true })
    await assert.rejects(transport.send(reply), failing('send_ambiguous'))
    assert.deepEqual(await transport.probe?.(reply), { sent: 'unknown' })
  })

  test('has its files in the direct messages, and shares them once', async () => {
    const reply = replyTo(await typed(), 'here', { attachments: [await file(world)] })
    server.fail('files.completeUploadExternal', lost)
    const shown = await shownBy(() => sendLost(world, reply))
    assert.deepEqual(ways(shown), ['url', 'D1ANN'])
  })
})

describe('an approval that a slash command needs', () => {
  const approval = (id: string, more: JsonObject = {}) => ({ approval: { id, title: 'Deploy?', ...more } })
  const question = (message: Message, id: string) =>
    replyTo(message, 'Deploy? trivium approval-decide', { key: `approval:${id}`, data: approval(id) })
  const decision = (message: Message, id: string) =>
    replyTo(message, '', {
      key: `${id}:decided`,
      data: approval(id, { status: 'approved', by: 'team:U2BOB' }),
    })

  test('is asked where its approvers see it, once, and answered in the same post', async () => {
    const message = await typed()
    server.fail('chat.postMessage', lost)
    const asked = await shownBy(async () => {
      await sendLost(world, question(message, 'p1'))
      await transport.send(question(message, 'p2'))
    })
    assert.deepEqual(ways(asked), ['channel', 'channel'])
    assert.match(JSON.stringify(server.posts.at(-1)?.blocks), /"action_id":"trivium-approve"/)
    assert.deepEqual(await shownBy(() => transport.send(decision(message, 'p2'))), [])
    assert.match(JSON.stringify(server.posts.at(-1)?.blocks), /Approved by <@U2BOB>/)
  })

  test('is asked of its author where the bot is not in the channel, and so is told how it ended', async () => {
    const message = await typed()
    server.fail('chat.postMessage', refused('not_in_channel'))
    const asked = await shownBy(() => transport.send(question(message, 'p3')))
    assert.deepEqual(asked, [['url', 'Deploy? trivium approval-decide']])
    const told = await shownBy(() => transport.send(decision(message, 'p3')))
    assert.deepEqual(told, [['url', 'Deploy?: approved']])
  })
})

describe('an ephemeral reply', () => {
  test('is shown to who is answered, in the thread only where there is one already', async () => {
    for (const thread_ts of [undefined, '1600000000.000001']) {
      const question = await deliverEvent(world, { text: 'more', ...(thread_ts ? { thread_ts } : {}) })
      await transport.send(replyTo(question, 'psst', { data: { ephemeral: true } }))
      assert.deepEqual(
        [server.posts.at(-1)?.ephemeralTo, server.posts.at(-1)?.thread_ts],
        ['U1ANN', thread_ts],
      )
    }
    const clicked = await click(world, { message: { ts: '1700000000.000100' } })
    await transport.send(replyTo(clicked, 'psst', { data: { ephemeral: true } }))
    assert.deepEqual([server.posts.at(-1)?.ephemeralTo, server.posts.at(-1)?.thread_ts], ['U1ANN', undefined])
  })

  test('goes by the response URL to who typed, and never to another by that', async () => {
    const message = await typed()
    const to = (ephemeral: string | true) =>
      shownBy(() =>
        transport.send(replyTo(message, 'psst', { key: `for ${ephemeral}`, data: { ephemeral } })),
      )
    assert.deepEqual(await to('U2BOB'), [['channel/U2BOB', 'psst']])
    assert.deepEqual(await to(true), [['url', 'psst']])
  })

  test('to another is for the channel: where they are not in it, and with files, they are not written to', async () => {
    const message = await deliverEvent(world, { text: 'tell the boss', channel: 'C0BOSS' })
    const data = { ephemeral: 'U9BOSS' }
    const shown = await shownBy(async () => {
      server.fail('chat.postEphemeral', refused('user_not_in_channel'))
      await assert.rejects(transport.send(replyTo(message, 'a link', { data })), failing('send_rejected'))
      const reply = replyTo(message, 'a link', { key: 'files', attachments: [await file(world)], data })
      await assert.rejects(transport.send(reply), failing('send_rejected'))
    })
    assert.deepEqual(shown, [])
    assert.doesNotMatch(JSON.stringify(server.calls), /D9BOSS|"users":"U9BOSS"/)
  })
})

describe('a click on what only one person sees', () => {
  const response_url = server.apiUrl.replace('/api/', '/respond/click')
  const shown = { type: 'message', channel_id: 'C0GEN', message_ts: '1999.000001', is_ephemeral: true }
  const clickOn = (more: JsonObject) => click(world, { response_url, container: { ...shown, ...more } })

  test('is answered to that person, and starts no thread', async () => {
    const message = await clickOn({})
    assert.deepEqual([message.data.thread, message.conversation], [undefined, 'slack:T0TEAM:C0GEN:U1ANN'])
    assert.deepEqual(await shownBy(() => transport.send(replyTo(message, 'noted'))), [['url', 'noted']])
  })
})
