import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { ask, click, failing, lost, replyTo, sendLost, shown, startSlackGateway } from './harness.ts'

describe('a reply with `update: true`', async () => {
  const setup = await startSlackGateway()
  after(() => setup.close())
  const { server, transport } = setup
  const data = { update: true }
  const textOf = (ts: string) => server.posts.filter((post) => post.ts === ts).map(shown)
  const buttons = { blocks: [{ type: 'actions', elements: [{ type: 'button', action_id: 'pick' }] }] }

  /**
   * Posts buttons in answer to a message. Resolves with a click on them, and the timestamp of the
   * post.
   */
  async function clickOnAnswer() {
    const question = await ask(setup)
    await transport.send(replyTo(question, 'Deploy?', { data: buttons }))
    const { ts = '', thread_ts, channel } = server.posts.at(-1) ?? assert.fail('nothing was posted')
    const clicked = await click(setup, {
      channel: { id: String(channel) },
      container: { type: 'message', channel_id: String(channel), message_ts: ts },
      message: { ts, thread_ts: String(thread_ts) },
    })
    return { clicked, ts }
  }

  test('replaces the post that was clicked, with its buttons', async () => {
    const { clicked, ts } = await clickOnAnswer()
    const count = server.posts.length
    await transport.send(replyTo(clicked, 'Deployed', { data }))
    assert.deepEqual(textOf(ts), ['Deployed'])
    assert.equal(server.posts.length, count)
  })

  test('replaces it once, even if the answer of Slack is lost', async () => {
    const { clicked, ts } = await clickOnAnswer()
    const count = server.posts.length
    server.answerNext('chat.update', lost)
    await sendLost(setup, replyTo(clicked, 'Deployed', { data }))
    assert.deepEqual(textOf(ts), ['Deployed'])
    assert.equal(server.posts.length, count)
  })

  test('is a new post if the clicked post was deleted', async () => {
    const { clicked } = await clickOnAnswer()
    server.posts.pop()
    await transport.send(replyTo(clicked, 'Deployed', { data }))
    assert.equal(shown(server.posts.at(-1) ?? {}), 'Deployed')
  })

  test('replaces an ephemeral post through the response URL', async () => {
    const response_url = server.apiUrl.replace('/api/', '/respond/private')
    const container = { type: 'message', channel_id: 'C0GEN', message_ts: '7.7', is_ephemeral: true }
    const clicked = await click(setup, { container, response_url })
    await transport.send(replyTo(clicked, 'Deployed', { data }))
    await transport.send(replyTo(clicked, 'And more', { key: 'more' }))
    const answers = server.calls.filter(({ method }) => method === 'response_url')
    assert.deepEqual(
      answers.map(({ args }) => [shown(args), args.replace_original]),
      [
        ['Deployed', true],
        ['And more', false],
      ],
    )
  })

  test('is refused if the message is not a click on a post', async () => {
    await assert.rejects(
      transport.send(replyTo(await ask(setup), 'Deployed', { data })),
      failing('send_rejected'),
    )
  })
})
