import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { after, describe, test } from 'node:test'
import { isJsonObject, type JsonObject } from '../../../src/core/json.ts'
import type { Message } from '../../../src/core/message.ts'
import { SendPostponed } from '../../../src/core/transport.ts'
import { deliverEvent, failing, paragraphs, replyTo, shown, startWorld } from './harness.ts'

const world = await startWorld()
after(() => world.close())
const { server, fixture, transport } = world
const refused = (error: string) => ({ body: { ok: false, error } })
const expired = { status: 404, body: { ok: false, error: 'expired_url' } }

let commands = 0

/** What Ann typed in #general: `/ask why?`. */
async function command(channel = 'C0GEN'): Promise<Message> {
  const id = String(++commands)
  await server.sockets.deliver('slash_commands', {
    command: '/ask',
    text: 'why?',
    user_id: 'U1ANN',
    user_name: 'ann',
    channel_id: channel,
    team_id: 'T0TEAM',
    response_url: server.apiUrl.replace('/api/', `/respond/${id}`),
    trigger_id: `${id}.9`,
  })
  const message = fixture.store.messages.at(-1)
  assert.ok(message)
  return message
}

/** What was shown since, as [how, text]; `how` is a channel, or a channel and who alone saw it. */
async function shownBy(run: () => Promise<unknown>): Promise<string[][]> {
  const [calls, posts] = [server.calls.length, server.posts.length]
  await run()
  const answers = server.calls.slice(calls).filter(({ method }) => method === 'response_url')
  return [
    ...answers.map(({ args }) => ['url', shown(args)]),
    ...server.posts
      .slice(posts)
      .map((post) => [[post.channel, post.ephemeralTo].filter(Boolean).join('/'), shown(post)]),
  ]
}

describe('the answer to a slash command', () => {
  test('goes where only its author sees it', async () => {
    const message = await command()
    assert.deepEqual([message.text, message.data.command], ['why?', ['/ask', 'ask']])
    await transport.send(replyTo(message, 'because'))
    const blocks = [{ type: 'markdown', text: 'because' }]
    const expected = { response_type: 'ephemeral', replace_original: false, text: 'because', blocks }
    assert.deepEqual(server.calls.at(-1)?.args, expected)
  })

  test('has blocks where the skill gives some', async () => {
    const blocks = [{ type: 'divider' }]
    await transport.send(replyTo(await command(), 'a line', { data: { blocks } }))
    assert.deepEqual(server.calls.at(-1)?.args.blocks, blocks)
  })

  test('is never shown to the channel, however late it comes', async () => {
    const reply = replyTo(await command(), 'your salary')
    server.fail('response_url', expired)
    assert.deepEqual(await shownBy(() => transport.send(reply)), [['C0GEN/U1ANN', 'your salary']])
  })

  for (const error of ['not_in_channel', 'channel_not_found', 'user_not_in_channel']) {
    test(`that comes late where Slack says ${error} goes to the direct messages, once`, async () => {
      const reply = replyTo(await command(), 'your salary')
      server.fail('response_url', expired)
      server.fail('chat.postEphemeral', refused(error))
      server.fail('chat.postMessage', { apply: true, hangUp: true })
      const shown = await shownBy(async () => {
        await assert.rejects(transport.send(reply), failing('send_ambiguous'))
        assert.equal((await transport.probe?.(reply))?.sent, true)
        await transport.send(reply)
      })
      assert.deepEqual(shown, [['D1ANN', 'your salary']])
    })
  }

  test('that is longer than Slack takes at once goes on where still only its author sees it', async () => {
    const message = await command()
    const parts = paragraphs(7)
    const shown = await shownBy(() => transport.send(replyTo(message, parts.join('\n\n'))))
    assert.deepEqual(
      shown.map(([how]) => how),
      ['url', 'url', 'url', 'url', 'url', 'C0GEN/U1ANN', 'C0GEN/U1ANN'],
    )
    assert.deepEqual(
      shown.map(([, text]) => text),
      parts,
    )
  })

  for (const { name, fault } of [
    { name: '404', fault: expired },
    { name: 'that it is used up, with status 200', fault: { body: { ok: false, error: 'used_url' } } },
  ]) {
    test(`is shown otherwise where the response URL says ${name}`, async () => {
      server.fail('response_url', fault)
      const shown = await shownBy(async () => transport.send(replyTo(await command(), 'still')))
      assert.deepEqual(shown.at(-1), ['C0GEN/U1ANN', 'still'])
    })
  }

  test('that Slack refuses with status 200 is a dead letter', async () => {
    server.fail('response_url', refused('invalid_blocks'))
    await assert.rejects(
      transport.send(replyTo(await command(), 'x')),
      /refused to send for good.*invalid_blocks/,
    )
  })

  test('is ambiguous where nobody said whether it arrived, and only there', async () => {
    const reply = replyTo(await command(), 'because')
    assert.deepEqual(await transport.probe?.(reply), { sent: false })
    server.fail('response_url', { status: 429 })
    await assert.rejects(transport.send(reply), (error) => error instanceof SendPostponed)
    assert.deepEqual(await transport.probe?.(reply), { sent: false })
    server.fail('response_url', { hangUp: true })
    await assert.rejects(transport.send(reply), failing('send_ambiguous'))
    assert.deepEqual(await transport.probe?.(reply), { sent: 'unknown' })
  })

  test('has its files in the direct messages, and shares them once', async () => {
    const message = await command()
    const body = Readable.from([Buffer.from('hi')])
    const file = await fixture.deps.artifacts.save('salary.txt', 'text/plain', body, 100)
    const reply = replyTo(message, 'here', { attachments: [file] })
    server.fail('files.completeUploadExternal', { apply: true, hangUp: true })
    const shown = await shownBy(async () => {
      await assert.rejects(transport.send(reply), failing('send_ambiguous'))
      assert.equal((await transport.probe?.(reply))?.sent, true)
      await transport.send(reply)
    })
    assert.deepEqual(
      shown.map(([how]) => how),
      ['url', 'D1ANN'],
    )
  })

  test('cannot be replaced, so what should replace it is shown beside it', async () => {
    const message = await command()
    await transport.send(replyTo(message, 'thinking', { key: 'thinking' }))
    const next = replyTo(message, 'thought', { key: 'thought', data: { update: 'thinking' } })
    const from = server.calls.length
    assert.deepEqual(await shownBy(() => transport.send(next)), [['url', 'thought']])
    assert.equal(
      server.calls.slice(from).some(({ method }) => method === 'chat.update'),
      false,
    )
  })
})

describe('an approval that a slash command needs', () => {
  const approval = (id: string, more: JsonObject = {}) => ({ approval: { id, title: 'Deploy?', ...more } })
  const question = (message: Message, id: string) =>
    replyTo(message, 'Deploy? trivium approval-decide', { key: `approval:${id}`, data: approval(id) })
  const decision = (message: Message, id: string) => {
    const data = approval(id, { status: 'approved', by: 'U2BOB' })
    return replyTo(message, '', { key: `approval:${id}:decided`, data })
  }

  test('is asked where its approvers see it, and answered in the same post', async () => {
    const message = await command()
    const shown = await shownBy(() => transport.send(question(message, 'p1')))
    assert.deepEqual(
      shown.map(([how]) => how),
      ['C0GEN'],
    )
    assert.match(JSON.stringify(server.posts.at(-1)?.blocks), /"action_id":"trivium-approve"/)
    assert.deepEqual(await shownBy(() => transport.send(decision(message, 'p1'))), [])
    assert.match(JSON.stringify(server.posts.at(-1)?.blocks), /Approved by <@U2BOB>/)
  })

  test('whose question was not confirmed is looked for in the channel', async () => {
    const reply = question(await command(), 'p2')
    server.fail('chat.postMessage', { apply: true, hangUp: true })
    await assert.rejects(transport.send(reply), failing('send_ambiguous'))
    assert.equal((await transport.probe?.(reply))?.sent, true)
  })

  test('is asked of its author where the bot is not in the channel, and so is told how it ended', async () => {
    const message = await command('C0SHUT')
    server.fail('chat.postMessage', refused('not_in_channel'))
    const asked = await shownBy(() => transport.send(question(message, 'p3')))
    assert.deepEqual(asked, [['url', 'Deploy? trivium approval-decide']])
    assert.match(JSON.stringify(server.calls.at(-1)?.args.blocks), /"action_id":"trivium-approve"/)
    const told = await shownBy(() => transport.send(decision(message, 'p3')))
    assert.deepEqual(told, [['url', 'Deploy?: approved']])
  })
})

describe('an ephemeral reply', () => {
  test('is shown to who is answered, beside a message that has no thread yet', async () => {
    const message = await deliverEvent(world, { text: 'a question' })
    await transport.send(replyTo(message, 'psst', { data: { ephemeral: true } }))
    assert.equal(server.posts.at(-1)?.ephemeralTo, 'U1ANN')
    assert.equal(server.posts.at(-1)?.thread_ts, undefined)
  })

  test('is shown in the thread that the message is in', async () => {
    const message = await deliverEvent(world, { text: 'more', thread_ts: '1600000000.000001' })
    await transport.send(replyTo(message, 'psst', { data: { ephemeral: true } }))
    assert.equal(server.posts.at(-1)?.thread_ts, '1600000000.000001')
  })

  test('is shown beside the post that was clicked on, where that has no thread yet', async () => {
    await server.sockets.deliver('interactive', {
      type: 'block_actions',
      team: { id: 'T0TEAM' },
      user: { id: 'U1ANN', name: 'ann' },
      trigger_id: '5.5',
      channel: { id: 'C0GEN', name: 'general' },
      message: { ts: '1700000000.000100' },
      actions: [{ action_id: 'pick', value: 'x', action_ts: '5', type: 'button' }],
    })
    const message = fixture.store.messages.at(-1)
    assert.ok(message)
    await transport.send(replyTo(message, 'psst', { data: { ephemeral: true } }))
    assert.deepEqual([server.posts.at(-1)?.ephemeralTo, server.posts.at(-1)?.thread_ts], ['U1ANN', undefined])
  })

  test('goes by the response URL to who clicked, and never to another by that', async () => {
    const message = await command()
    const other = replyTo(message, 'for Bob', { key: 'for-bob', data: { ephemeral: 'U2BOB' } })
    assert.deepEqual(await shownBy(() => transport.send(other)), [['C0GEN/U2BOB', 'for Bob']])
    const own = replyTo(message, 'for Ann', { key: 'for-ann', data: { ephemeral: true } })
    assert.deepEqual(await shownBy(() => transport.send(own)), [['url', 'for Ann']])
  })

  test('to another is for the channel: where they are not in it they are not written to', async () => {
    const message = await deliverEvent(world, { text: 'tell the boss' })
    const reply = replyTo(message, 'a link', { data: { ephemeral: 'U9BOSS' } })
    const from = server.calls.length
    server.fail('chat.postEphemeral', refused('user_not_in_channel'))
    await assert.rejects(transport.send(reply), /U9BOSS cannot be shown that in C0GEN/)
    const methods = server.calls.slice(from).map(({ method }) => method)
    assert.deepEqual(methods, ['chat.postEphemeral'])
  })

  test('to another has no files, which only direct messages could show to one person', async () => {
    const body = Readable.from([Buffer.from('hi')])
    const file = await fixture.deps.artifacts.save('link.txt', 'text/plain', body, 100)
    const more = { attachments: [file], data: { ephemeral: 'U9BOSS' } }
    const reply = replyTo(await deliverEvent(world, { text: 'tell the boss' }), 'a link', more)
    const shown = await shownBy(() => assert.rejects(transport.send(reply), failing('send_rejected')))
    assert.deepEqual(shown, [])
    assert.doesNotMatch(JSON.stringify(server.calls), /D9BOSS|"users":"U9BOSS"/)
  })

  test('is not lost where the direct messages cannot be opened at first', async () => {
    const message = await command()
    const target = { team: 'T0TEAM', channel: 'C0GEN', user: 'U3NEW' }
    const reply = replyTo(message, 'psst', { key: 'first-direct', target, data: { ephemeral: true } })
    server.fail('chat.postEphemeral', refused('user_not_in_channel'))
    server.fail('conversations.open', { hangUp: true })
    await assert.rejects(transport.send(reply))
    assert.deepEqual(await transport.probe?.(reply), { sent: false })
    server.fail('chat.postEphemeral', refused('user_not_in_channel'))
    assert.deepEqual(await shownBy(() => transport.send(reply)), [['D3NEW', 'psst']])
  })

  test('is not needed for a click on what one person saw: the answer is for them, in their thread', async () => {
    await server.sockets.deliver('interactive', {
      type: 'block_actions',
      team: { id: 'T0TEAM' },
      user: { id: 'U1ANN', name: 'ann' },
      trigger_id: '6.6',
      response_url: server.apiUrl.replace('/api/', '/respond/click'),
      container: {
        type: 'message',
        is_ephemeral: true,
        message_ts: '1999.000001',
        thread_ts: '1998.000001',
        channel_id: 'C0GEN',
      },
      channel: { id: 'C0GEN', name: 'general' },
      actions: [{ action_id: 'pick', value: 'x', action_ts: '6', type: 'button' }],
    })
    const message = fixture.store.messages.at(-1)
    assert.ok(message)
    assert.deepEqual(await shownBy(() => transport.send(replyTo(message, 'noted'))), [['url', 'noted']])
    const {
      response_type: how,
      replace_original: replaces,
      thread_ts: thread,
    } = server.calls.at(-1)?.args ?? {}
    assert.deepEqual([how, replaces, thread], ['ephemeral', false, '1998.000001'])
    server.fail('response_url', expired)
    const later = replyTo(message, 'later', { key: 'later' })
    assert.deepEqual(await shownBy(() => transport.send(later)), [['C0GEN/U1ANN', 'later']])
  })

  test('to a click in a thread is shown in that thread', async () => {
    const message = await command()
    const { replyTarget } = message.data
    assert.ok(isJsonObject(replyTarget))
    const target = { ...replyTarget, thread: '1600000000.000001' }
    await transport.send(replyTo(message, 'psst', { target }))
    assert.equal(server.calls.at(-1)?.args.thread_ts, '1600000000.000001')
  })
})
