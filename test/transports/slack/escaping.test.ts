// `&`, `<` and `>` are escaped once in what Slack takes as its own markup, and not at all in markdown, which Slack renders itself.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { until } from '../../fixtures/until.ts'
import { ask, click, command, deliverEvent, replyTo, shown, startWorld } from './harness.ts'

const world = await startWorld()
after(() => world.close())
const { server, transport } = world

const SAID = 'if (a < b && c > d) &amp; R&D'
const ESCAPED = 'if (a &lt; b &amp;&amp; c &gt; d) &amp;amp; R&amp;D'

/** What the last post that has this text is: its markdown, and the text for notifications. */
const posted = () =>
  server.posts.filter((post) => shown(post).includes(SAID)).map((post) => [shown(post), post.text])

describe('`&`, `<` and `>` are escaped once', () => {
  test('in a reply, and in what replaces it by `data.update`, by itself and once more', async () => {
    const message = await ask(world)
    await transport.send(replyTo(message, SAID, { key: 'first' }))
    assert.deepEqual(posted().at(-1), [SAID, ESCAPED])
    for (const more of ['one', 'two']) {
      const data = { update: 'first' }
      await transport.send(replyTo(message, `${more}: ${SAID}`, { key: more, data }))
      assert.deepEqual(posted().at(-1), [`${more}: ${SAID}`, `${more}: ${ESCAPED}`])
    }
  })

  test('in a post that a click replaces, and in what only one person sees', async () => {
    const message = await click(world, {
      container: { type: 'message', message_ts: '1.1', channel_id: 'C0GEN' },
    })
    await transport.send(replyTo(message, SAID))
    assert.deepEqual(posted().at(-1), [SAID, ESCAPED])
    await transport.send(replyTo(await command(world), SAID))
    const { args } =
      server.calls.findLast(({ method }) => method === 'response_url') ?? assert.fail('no answer')
    assert.deepEqual([shown(args), args.text], [SAID, ESCAPED])
  })

  for (const isForAgents of [false, true]) {
    test(`in ${isForAgents ? 'a stream of Slack’s own' : 'a post that is edited'}, and in the reply that replaces it`, async () => {
      server.isForAgents = isForAgents
      const message = await ask(world)
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
      transport.stream?.(piece(SAID))
      await until(() => mine()?.text, 'the beginning')
      assert.equal(isForAgents ? mine()?.text : shown(mine() ?? {}), isForAgents ? SAID : `${SAID} …`)
      transport.stream?.(piece(`${SAID} < more`))
      await until(() => shown(mine() ?? {}).includes('< more'), 'more')
      await transport.send(replyTo(message, SAID))
      assert.deepEqual([shown(mine() ?? {}), mine()?.text], [SAID, ESCAPED])
      server.isForAgents = false
    })
  }

  test('but for mentions of people and channels, which notifications show as names', async () => {
    await transport.send(replyTo(await ask(world), `<@U1ANN> in <#C1> <@${'`'}U1> & ${SAID}`))
    assert.equal(posted().at(-1)?.[1], `<@U1ANN> in <#C1> &lt;@${'`'}U1&gt; &amp; ${ESCAPED}`)
  })

  test('of an edit the text before is as readable as the text after', async () => {
    const ts = server.nextTs()
    const message = { user: 'U1ANN', text: '*a* &lt; <https://x.example|b> &amp;amp;', ts }
    const edit = { subtype: 'message_changed', ts: server.nextTs(), user: '' }
    const { text, data } = await deliverEvent(world, { ...edit, message, previous_message: { ...message } })
    assert.equal(text, '**a** < [b](https://x.example) &amp;')
    assert.equal(data.previousText, text)
  })
})
