import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Message } from '../../../src/core/message.ts'
import { type Reply, type ReplyPiece, SendPostponed } from '../../../src/core/transport.ts'
import { until } from '../../fixtures/until.ts'
import {
  ask,
  click,
  deliverEvent,
  failing,
  paragraphs as filling,
  lost,
  replyTo,
  sendLost,
  shown,
  startWorld,
} from './harness.ts'

const world = await startWorld()
after(() => world.close())
const { server, transport } = world
const { transport: other } = await world.another()
const asked = () => ask(world)
const textsOf = ({ data }: Message) =>
  server.posts.filter((post) => post.thread_ts === data.thread).map(shown)
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

/** Another daemon sends it, again while it is told to come later; resolves with how often it was. */
async function sendElsewhere(reply: Reply): Promise<number> {
  for (let postponed = 0; ; postponed++) {
    const error = await other.send(reply).catch((error: unknown) => error)
    if (!(error instanceof SendPostponed)) return postponed
    await nextTurn()
  }
}

describe('a reply that is shown while it is written', () => {
  test('is one post that grows, and that the first whole reply replaces', async () => {
    const message = await begun('It is **almost**')
    // Meanwhile a model may say nothing for longer than what is shown waits for it.
    await begun()
    transport.stream?.(pieceOf(message, 'It is almost d'))
    await until(() => textsOf(message)[0] === 'It is almost d …', 'the next piece')
    transport.stream?.(pieceOf(message, 'It is almost do'))
    const whole = replyTo(message, 'It is done')
    await transport.send(whole)
    await transport.send(whole)
    await transport.send(replyTo(message, 'And more', { key: 'another' }))
    assert.deepEqual(textsOf(message), ['It is done', 'And more'])
  })

  for (const [method, beginning] of [
    ['chat.postMessage', 'It is …'],
    ['chat.startStream', 'It is'],
  ] as const) {
    test(`is begun once, and replaced, though the answer to its ${method} was lost`, async (t) => {
      const message = await asked()
      t.after(() => Object.assign(server, { isForAgents: false }))
      for (const text of ['It is', 'It is almost']) {
        server.isForAgents = method === 'chat.startStream'
        if (text === 'It is') server.fail(method, lost)
        transport.stream?.(pieceOf(message, text))
        await until(() => textsOf(message)[0] === beginning, 'the beginning')
        server.isForAgents = false
        await begun()
      }
      assert.deepEqual(textsOf(message), [beginning])
      server.isForAgents = true
      await transport.send(replyTo(message, 'It is done'))
      assert.deepEqual(textsOf(message), ['It is done'])
    })
  }

  test('is not begun by one daemon after another has sent all of it', async () => {
    const message = await asked()
    transport.stream?.(pieceOf(message, 'It is'))
    await sendElsewhere(replyTo(message, 'It is done'))
    await begun('The next')
    assert.deepEqual(textsOf(message), ['It is done'])
  })

  test('has all of it in the end, though one daemon shows a piece while another sends the whole', async () => {
    const message = await begun()
    const goOn = server.hold('chat.update')
    transport.stream?.(pieceOf(message, 'It is al'))
    await until(() => textsOf(message)[0] === 'It is al …', 'the piece')
    const sent = sendElsewhere(replyTo(message, 'It is done'))
    await nextTurn()
    goOn()
    assert.ok((await sent) > 0, 'it waited')
    assert.deepEqual(textsOf(message), ['It is done'])
  })
})

describe('a reply that replaces an earlier one', () => {
  /** Sends a reply under this key, in place of that of the key before the slash. */
  const send = (message: Message, key: string, text: string) =>
    transport.send(
      replyTo(message, text, {
        key,
        ...(key.includes('/') ? { data: { update: key.split('/')[0] ?? '' } } : {}),
      }),
    )

  /** Refused, and nothing was posted. */
  const refused = async (message: Message, sending: Promise<unknown>) => {
    const before = textsOf(message)
    await assert.rejects(sending, failing('send_rejected'))
    assert.deepEqual(textsOf(message), before)
  }

  test('does so by the key that gateway-send was given', async () => {
    const message = await asked()
    for (const key of ['team:status', `answer:${message.id}:report`]) {
      const name = key.split(':').at(-1) ?? ''
      await send(message, key, 'first')
      await send(message, `${name}/2`, 'second')
      assert.equal(textsOf(message).at(-1), 'second')
    }
    assert.equal(textsOf(message).length, 2)
  })

  test('is refused where the key is of another conversation or gateway, and leaves what others were answered', async () => {
    const ann = await asked()
    await send(ann, 'long', paragraphs.join('\n\n'))
    const [channel = ''] = [ann.data.channel].flat().map(String)
    const eve = await deliverEvent(world, { text: 'mine', user: 'U6EVE', channel })
    await refused(eve, send(eve, 'long/eve', 'Eve was here'))
    await refused(eve, send(eve, 'chat:other/eve', 'never posted here'))
    assert.deepEqual(textsOf(ann), paragraphs)
  })

  test('never replaces the question of an approval, nor the beginning of another answer', async () => {
    const message = await begun()
    const approval = { id: 'x1', title: 'Deploy?', status: 'pending' }
    await transport.send(replyTo(message, 'Deploy?', { key: 'approval:x1', data: { approval } }))
    for (const update of ['approval:x1', `stream:${message.id}`]) {
      await refused(message, send(message, `${update}/no`, 'Approved'))
    }
  })

  for (const threads of ['reply', 'channel']) {
    test(`does so when it answers a click on what was sent with \`to\` (threads: ${threads})`, async (t) => {
      const here = await startWorld({ threads })
      t.after(() => here.close())
      for (const to of ['C0GEN', '#general', 'C0GEN/1600000000.000001']) {
        await here.transport.send({ key: to, gateway: 'team', conversation: to, to, text: 'Deploy?' })
        const { ts = '', thread_ts } = here.server.posts.at(-1) ?? {}
        const clicked = await click(here, { message: { ts, ...(thread_ts ? { thread_ts } : {}) } })
        await here.transport.send(replyTo(clicked, `to ${to}`, { data: { update: to } }))
      }
      const expected = ['to C0GEN', 'to #general', 'to C0GEN/1600000000.000001']
      assert.deepEqual(here.server.posts.map(shown), expected)
    })
  }

  test('and takes more posts has each once, and none is left when the next is shorter', async () => {
    const message = await asked()
    await send(message, 'grow', 'thinking')
    const reply = replyTo(message, paragraphs.join('\n\n'), { key: 'grow/2', data: { update: 'grow' } })
    server.fail('chat.postMessage', {}, lost)
    await assert.rejects(transport.send(reply))
    await sendLost(world, reply)
    assert.deepEqual(textsOf(message), paragraphs)
    await send(message, 'grow/3', 'in short')
    assert.deepEqual(textsOf(message), ['in short'])
  })

  for (const left of [0, 1]) {
    test(`is posted once where ${left} of the two earlier posts are left, though the answer was lost`, async () => {
      const message = await asked()
      await send(message, `gone${left}`, paragraphs.slice(0, 2).join('\n\n'))
      server.posts.length -= 2 - left
      const data = { update: `gone${left}` }
      const reply = replyTo(message, paragraphs.slice(1).join('\n\n'), { key: `gone${left}/2`, data })
      server.fail('chat.postMessage', lost)
      await sendLost(world, reply)
      assert.deepEqual(textsOf(message), paragraphs.slice(1))
    })
  }
})
