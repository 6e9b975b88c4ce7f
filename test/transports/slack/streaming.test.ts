import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { after, describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Message } from '../../../src/core/message.ts'
import { type ReplyPiece, SendPostponed } from '../../../src/core/transport.ts'
import { until } from '../../fixtures/until.ts'
import { deliverEvent, failing, paragraphs as filling, replyTo, shown, startWorld } from './harness.ts'

const world = await startWorld()
after(() => world.close())
const { server, fixture, transport } = world
let channels = 0
/** Each question is in a channel of its own, as Slack limits what is posted to one. */
const asked = () => deliverEvent(world, { text: 'a question', channel: `C${++channels}` })
const postsOf = (thread: unknown) => server.posts.filter((post) => post.thread_ts === thread)
const textsOf = (message: Message) => postsOf(message.data.thread).map(shown)
const lost = { apply: true, hangUp: true }
const paragraphs = filling(3)

function pieceOf(message: Message, text: string): ReplyPiece {
  const { target } = replyTo(message, '')
  const { conversation, id } = message
  return { conversation, inReplyTo: id, delta: text, text, ...(target ? { target } : {}) }
}

/** Shows the beginning of an answer, and waits until it is there. */
async function begun(text = 'It is'): Promise<Message> {
  const message = await asked()
  transport.stream?.(pieceOf(message, text))
  await until(() => textsOf(message)[0] === `${text} …`, 'the beginning')
  return message
}

describe('a reply that is shown while it is written', () => {
  test('is one post, which the whole reply replaces', async () => {
    const message = await asked()
    transport.stream?.(pieceOf(message, 'It is'))
    transport.stream?.(pieceOf(message, 'It is **almost**'))
    await until(() => textsOf(message)[0] === 'It is **almost** …', 'the beginning')
    transport.stream?.(pieceOf(message, 'It is almost d'))
    const whole = replyTo(message, 'It is done')
    await transport.send(whole)
    await transport.send(whole)
    await transport.send(replyTo(message, 'And more', { key: 'another' }))
    assert.deepEqual(textsOf(message), ['It is done', 'And more'])
  })

  test('grows while there is more', async () => {
    const message = await begun('It')
    transport.stream?.(pieceOf(message, 'It grows'))
    await until(() => textsOf(message)[0] === 'It grows …', 'the next piece')
    assert.equal(textsOf(message).length, 1)
  })

  test('and takes several posts has each once, though the answer to one was lost', async () => {
    const message = await begun()
    const reply = replyTo(message, paragraphs.join('\n\n'))
    server.fail('chat.postMessage', lost)
    await assert.rejects(transport.send(reply), failing('send_ambiguous'))
    assert.deepEqual(await transport.probe?.(reply), { sent: false })
    server.fail('chat.postMessage', lost)
    await assert.rejects(transport.send(reply), failing('send_ambiguous'))
    assert.equal((await transport.probe?.(reply))?.sent, true)
    assert.deepEqual(textsOf(message), paragraphs)
  })

  test('whose last change was not confirmed is changed again', async () => {
    const message = await begun()
    const reply = replyTo(message, 'It is done')
    server.fail('chat.update', { hangUp: true })
    await assert.rejects(transport.send(reply), failing('send_ambiguous'))
    assert.deepEqual(await transport.probe?.(reply), { sent: false })
    await transport.send(reply)
    assert.deepEqual(textsOf(message), ['It is done'])
  })

  test('and has files replaces its beginning, and shares the files once', async () => {
    const message = await begun()
    const body = Readable.from([Buffer.from('hi')])
    const file = await fixture.deps.artifacts.save('report.txt', 'text/plain', body, 100)
    const reply = replyTo(message, 'It is done', { attachments: [file] })
    server.fail('files.completeUploadExternal', lost)
    await assert.rejects(transport.send(reply), failing('send_ambiguous'))
    assert.equal((await transport.probe?.(reply))?.sent, true)
    await transport.send(reply)
    assert.deepEqual([textsOf(message)[0], textsOf(message).length], ['It is done', 2])
  })

  test('whose first post was not confirmed is found, and replaced', async () => {
    server.fail('chat.postMessage', lost)
    const message = await begun()
    await transport.send(replyTo(message, 'It is done'))
    assert.deepEqual(textsOf(message), ['It is done'])
  })

  test('is posted anew where somebody deleted its beginning', async () => {
    const message = await begun()
    server.posts.splice(server.posts.indexOf(postsOf(message.data.thread)[0] ?? assert.fail()), 1)
    await transport.send(replyTo(message, 'It is done'))
    assert.deepEqual(textsOf(message), ['It is done'])
  })

  test('is not begun by one daemon after another has sent all of it', async () => {
    const { transport: other } = await world.another()
    const message = await asked()
    transport.stream?.(pieceOf(message, 'It is'))
    await other.send(replyTo(message, 'It is done'))
    const later = await begun('The next')
    await until(() => textsOf(later).length === 1, 'a piece that came later')
    assert.deepEqual(textsOf(message), ['It is done'])
  })

  test('has all of it in the end, though one daemon shows a piece while another sends the whole', async () => {
    const { transport: other } = await world.another()
    const message = await begun()
    const goOn = server.hold('chat.update')
    transport.stream?.(pieceOf(message, 'It is al'))
    await until(() => textsOf(message)[0] === 'It is al …', 'the piece')
    const send = () => other.send(replyTo(message, 'It is done')).catch((error: unknown) => error)
    let late = await send()
    assert.ok(late instanceof SendPostponed)
    goOn()
    while (late instanceof SendPostponed) {
      await nextTurn()
      late = await send()
    }
    assert.deepEqual(textsOf(message), ['It is done'])
  })
})

describe('a reply that replaces an earlier one', () => {
  test('is put in its place', async () => {
    const message = await asked()
    await transport.send(replyTo(message, 'thinking', { key: 'first' }))
    await transport.send(replyTo(message, 'thought', { key: 'second', data: { update: 'first' } }))
    assert.deepEqual(textsOf(message), ['thought'])
  })

  test('does so by the key that gateway-send was given, in its channel only', async () => {
    const message = await asked()
    const other = await deliverEvent(world, { text: 'x', channel: 'C0OTHER' })
    await transport.send(replyTo(message, 'first', { key: 'team:status' }))
    await transport.send(replyTo(message, 'second', { key: 'k2', data: { update: 'status' } }))
    await transport.send(replyTo(other, 'elsewhere', { key: 'k3', data: { update: 'status' } }))
    assert.deepEqual(textsOf(message), ['second'])
    assert.equal(server.posts.at(-1)?.channel, 'C0OTHER')
  })

  test('does so in its own conversation only, and leaves what others were answered', async () => {
    const ann = await asked()
    await transport.send(replyTo(ann, paragraphs.join('\n\n')))
    const eve = await deliverEvent(world, { text: 'mine', user: 'U6EVE' })
    const update = `${ann.id}:route:0`
    await transport.send(replyTo(eve, 'Eve was here', { data: { update } }))
    assert.deepEqual([textsOf(ann), textsOf(eve)], [paragraphs, ['Eve was here']])
  })

  test('never replaces the question of an approval, nor the beginning of another answer', async () => {
    const message = await begun()
    const approval = { id: 'x1', title: 'Deploy?', status: 'pending' }
    await transport.send(replyTo(message, 'Deploy?', { key: 'approval:x1', data: { approval } }))
    const before = textsOf(message)
    for (const update of ['approval:x1', `stream:${message.id}`]) {
      const { inReplyTo: _, ...reply } = replyTo(message, 'Approved', {
        key: `no ${update}`,
        data: { update },
      })
      await transport.send(reply)
    }
    assert.deepEqual(textsOf(message), [...before, 'Approved', 'Approved'])
    assert.match(JSON.stringify(postsOf(message.data.thread)[1]?.blocks), /trivium-approve/)
  })

  test('and takes more posts has each once, and none is left when the next is shorter', async () => {
    const message = await asked()
    await transport.send(replyTo(message, 'thinking', { key: 'long' }))
    const reply = replyTo(message, paragraphs.join('\n\n'), { key: 'long/2', data: { update: 'long' } })
    server.fail('chat.postMessage', {}, lost)
    await assert.rejects(transport.send(reply))
    await assert.rejects(transport.send(reply), failing('send_ambiguous'))
    assert.deepEqual(await transport.probe?.(reply), { sent: false })
    await transport.send(reply)
    assert.deepEqual(textsOf(message), paragraphs)
    const next = paragraphs.toReversed()
    await transport.send(replyTo(message, next.join('\n\n'), { key: 'long/3', data: { update: 'long' } }))
    assert.deepEqual(textsOf(message), next)
    await transport.send(replyTo(message, 'in short', { key: 'long/4', data: { update: 'long' } }))
    assert.deepEqual(textsOf(message), ['in short'])
  })

  test('is posted where the earlier one was deleted, and can be replaced in turn', async () => {
    const message = await asked()
    const update = { data: { update: 'gone' } }
    await transport.send(replyTo(message, 'first', { key: 'gone' }))
    server.posts.pop()
    await transport.send(replyTo(message, 'second', { key: 'gone/2', ...update }))
    await transport.send(replyTo(message, 'third', { key: 'gone/3', ...update }))
    assert.deepEqual(textsOf(message), ['third'])
  })

  test('is posted once where the earlier one was deleted, though the answer was lost', async () => {
    const message = await asked()
    await transport.send(replyTo(message, 'first', { key: 'away' }))
    server.posts.pop()
    const reply = replyTo(message, 'second', { key: 'away/2', data: { update: 'away' } })
    server.fail('chat.postMessage', lost)
    await assert.rejects(transport.send(reply), failing('send_ambiguous'))
    assert.equal((await transport.probe?.(reply))?.sent, true)
    assert.deepEqual(textsOf(message), ['second'])
  })
})
