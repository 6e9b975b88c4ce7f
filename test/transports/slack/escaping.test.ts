// `&`, `<` and `>` are escaped once in texts in Slack's own markup, and not in markdown, which
// Slack renders itself.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { until } from '../../fixtures/until.ts'
import { ask, click, command, deliverEvent, replyTo, shown, startSlackGateway } from './harness.ts'

const setup = await startSlackGateway()
after(() => setup.close())
const { server, transport } = setup

const TEXT = 'if (a < b && c > d) &amp; R&D'
const ESCAPED = 'if (a &lt; b &amp;&amp; c &gt; d) &amp;amp; R&amp;D'

/** For each post with this text: its markdown, and its text for notifications. */
const posted = () =>
  server.posts.filter((post) => shown(post).includes(TEXT)).map((post) => [shown(post), post.text])

describe('`&`, `<` and `>` are escaped once', () => {
  test('in a reply, and in a later version of it by `data.update`', async () => {
    const message = await ask(setup)
    await transport.send(replyTo(message, TEXT, { key: 'first' }))
    assert.deepEqual(posted().at(-1), [TEXT, ESCAPED])
    for (const more of ['one', 'two']) {
      const data = { update: 'first' }
      await transport.send(replyTo(message, `${more}: ${TEXT}`, { key: more, data }))
      assert.deepEqual(posted().at(-1), [`${more}: ${TEXT}`, `${more}: ${ESCAPED}`])
    }
  })

  test('in the answer to a click, and in the ephemeral answer to a command', async () => {
    const message = await click(setup, {
      container: { type: 'message', message_ts: '1.1', channel_id: 'C0GEN' },
    })
    await transport.send(replyTo(message, TEXT))
    assert.deepEqual(posted().at(-1), [TEXT, ESCAPED])
    await transport.send(replyTo(await command(setup), TEXT))
    const { args } =
      server.calls.findLast(({ method }) => method === 'response_url') ?? assert.fail('no answer')
    assert.deepEqual([shown(args), args.text], [TEXT, ESCAPED])
  })

  for (const isForAgents of [false, true]) {
    test(`in ${isForAgents ? 'a stream of Slack' : 'a post that grows by edits'}, and in the reply that replaces it`, async () => {
      server.isForAgents = isForAgents
      const message = await ask(setup)
      const { target } = replyTo(message, '')
      const { conversation, id } = message
      const piece = (text: string) => ({
        conversation,
        inReplyTo: id,
        delta: text,
        text,
        ...(target && { target }),
      })
      const mine = () => server.posts.find((post) => post.thread_ts === message.data.thread)
      transport.stream?.(piece(TEXT))
      await until(() => mine()?.text, 'the beginning')
      if (isForAgents) assert.equal(mine()?.text, TEXT)
      else assert.equal(shown(mine() ?? {}), `${TEXT} …`)
      transport.stream?.(piece(`${TEXT} < more`))
      await until(() => shown(mine() ?? {}).includes('< more'), 'more')
      await transport.send(replyTo(message, TEXT))
      assert.deepEqual([shown(mine() ?? {}), mine()?.text], [TEXT, ESCAPED])
      server.isForAgents = false
    })
  }

  test('but mentions of people and channels stay, since notifications show them as names', async () => {
    // Not a mention: ids have no backtick.
    const like = '<@`U1>'
    await transport.send(replyTo(await ask(setup), `<@U1ANN> in <#C1> ${like} & ${TEXT}`))
    assert.equal(posted().at(-1)?.[1], `<@U1ANN> in <#C1> &lt;@\`U1&gt; &amp; ${ESCAPED}`)
  })
})

describe('an edit', () => {
  test('has the previous text decoded like the new one', async () => {
    const ts = server.nextTs()
    const message = { user: 'U1ANN', text: '*a* &lt; <https://x.example|b> &amp;amp;', ts }
    const edit = { subtype: 'message_changed', ts: server.nextTs(), user: '' }
    const { text, data } = await deliverEvent(setup, { ...edit, message, previous_message: { ...message } })
    assert.equal(text, '**a** < [b](https://x.example) &amp;')
    assert.equal(data.previousText, text)
  })
})
