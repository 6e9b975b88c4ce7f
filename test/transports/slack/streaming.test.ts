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
  startSlackGateway,
} from './harness.ts'

const setup = await startSlackGateway()
after(() => setup.close())
const { server, transport } = setup
const { transport: other } = await setup.another()
const newQuestion = () => ask(setup)
const textsOf = ({ data }: Message) =>
  server.posts.filter((post) => post.thread_ts === data.thread).map(shown)
const paragraphs = filling(3)

function pieceOf(message: Message, text: string): ReplyPiece {
  const { target } = replyTo(message, '')
  const { conversation, id } = message
  return { conversation, inReplyTo: id, delta: text, text, ...(target ? { target } : {}) }
}

/** Streams the beginning of an answer, and waits until it is posted. Resolves with the question. */
async function begun(text = 'It is'): Promise<Message> {
  const message = await newQuestion()
  transport.stream?.(pieceOf(message, text))
  await until(() => textsOf(message)[0] === `${text} …`, 'the beginning')
  return message
}

/**
 * Sends a reply from another daemon, repeatedly while it is postponed. Resolves with the number of
 * postponements.
 */
async function sendElsewhere(reply: Reply): Promise<number> {
  for (let postponed = 0; ; postponed++) {
    const error = await other.send(reply).catch((error: unknown) => error)
    if (!(error instanceof SendPostponed)) return postponed
    await nextTurn()
  }
}

describe('a streamed reply', () => {
  test('is one growing post, which the first complete reply replaces', async () => {
    const message = await begun('It is **almost**')
    // A second answer begins before the first one continues, as with a slow model.
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
    test(`is begun once, and replaced, although the answer of ${method} was lost`, async (t) => {
      const message = await newQuestion()
      t.after(() => Object.assign(server, { isForAgents: false }))
      for (const text of ['It is', 'It is almost']) {
        server.isForAgents = method === 'chat.startStream'
        if (text === 'It is') server.answerNext(method, lost)
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

  test('is not begun by one daemon after another has sent the complete reply', async () => {
    const message = await newQuestion()
    transport.stream?.(pieceOf(message, 'It is'))
    await sendElsewhere(replyTo(message, 'It is done'))
    await begun('The next')
    assert.deepEqual(textsOf(message), ['It is done'])
  })

  test('ends with the complete reply, although one daemon posts a piece while another sends the reply', async () => {
    const message = await begun()
    const release = server.hold('chat.update')
    transport.stream?.(pieceOf(message, 'It is al'))
    await until(() => textsOf(message)[0] === 'It is al …', 'the piece')
    const sent = sendElsewhere(replyTo(message, 'It is done'))
    await nextTurn()
    release()
    assert.ok((await sent) > 0, 'the reply was postponed')
    assert.deepEqual(textsOf(message), ['It is done'])
  })
})

describe('a reply with `data.update`', () => {
  /**
   * Sends a reply with this key. If the key has a slash, it updates the reply with the key before
   * the slash.
   */
  const send = (message: Message, key: string, text: string) =>
    transport.send(
      replyTo(message, text, {
        key,
        ...(key.includes('/') ? { data: { update: key.split('/')[0] ?? '' } } : {}),
      }),
    )

  const assertRefused = async (message: Message, sending: Promise<unknown>) => {
    const before = textsOf(message)
    await assert.rejects(sending, failing('send_rejected'))
    assert.deepEqual(textsOf(message), before)
  }

  test('replaces the reply with the key that was passed to gateway-send', async () => {
    const message = await newQuestion()
    for (const key of ['team:status', `answer:${message.id}:report`]) {
      const name = key.split(':').at(-1) ?? ''
      await send(message, key, 'first')
      await send(message, `${name}/2`, 'second')
      assert.equal(textsOf(message).at(-1), 'second')
    }
    assert.equal(textsOf(message).length, 2)
  })

  test('is refused if the key belongs to another conversation or gateway', async () => {
    const ann = await newQuestion()
    await send(ann, 'long', paragraphs.join('\n\n'))
    const [channel = ''] = [ann.data.channel].flat().map(String)
    const eve = await deliverEvent(setup, { text: 'mine', user: 'U6EVE', channel })
    await assertRefused(eve, send(eve, 'long/eve', 'Eve was here'))
    await assertRefused(eve, send(eve, 'chat:other/eve', 'never posted here'))
    assert.deepEqual(textsOf(ann), paragraphs)
  })

  test('cannot replace the request of an approval, or a streamed answer', async () => {
    const message = await begun()
    const approval = { id: 'x1', title: 'Deploy?', status: 'pending' }
    await transport.send(replyTo(message, 'Deploy?', { key: 'approval:x1', data: { approval } }))
    for (const update of ['approval:x1', `stream:${message.id}`]) {
      await assertRefused(message, send(message, `${update}/no`, 'Approved'))
    }
  })

  for (const threads of ['reply', 'channel']) {
    test(`replaces a post that was sent with \`to\` when it answers a click on it (threads: ${threads})`, async (t) => {
      const here = await startSlackGateway({ threads })
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

  test('may need more posts, each sent once, or fewer, and then the others are deleted', async () => {
    const message = await newQuestion()
    await send(message, 'grow', 'thinking')
    const reply = replyTo(message, paragraphs.join('\n\n'), { key: 'grow/2', data: { update: 'grow' } })
    server.answerNext('chat.postMessage', {}, lost)
    await assert.rejects(transport.send(reply))
    await sendLost(setup, reply)
    assert.deepEqual(textsOf(message), paragraphs)
    await send(message, 'grow/3', 'in short')
    assert.deepEqual(textsOf(message), ['in short'])
  })

  for (const left of [0, 1]) {
    test(`is posted once if ${left} of the two earlier posts exist, although an answer was lost`, async () => {
      const message = await newQuestion()
      await send(message, `gone${left}`, paragraphs.slice(0, 2).join('\n\n'))
      server.posts.length -= 2 - left
      const data = { update: `gone${left}` }
      const reply = replyTo(message, paragraphs.slice(1).join('\n\n'), { key: `gone${left}/2`, data })
      server.answerNext('chat.postMessage', lost)
      await sendLost(setup, reply)
      assert.deepEqual(textsOf(message), paragraphs.slice(1))
    })
  }
})
