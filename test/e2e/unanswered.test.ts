import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
  ask: { transport: webhook, path: /ask, verify: { scheme: none }, respond: result, timeout: 1s }
  chat: { transport: websocket, path: /chat }
routes:
  - { name: hours, match: { gateway: chat, text: "*hours*" }, skill: echo }
  - { name: broken, match: { gateway: chat, text: "*break*" }, skill: fail, retry: { attempts: 1 } }
  - { name: notes, match: { gateway: [shop, chat] }, skill: note }
`
const SKILLS = {
  note: `export default { description: 'notes', run: () => undefined }`,
  fail: `export default { description: 'fails', run() { throw new Error('no') } }`,
}

for (const kind of ['embedded', 'redis'] as const) {
  describe(`unanswered conversations, on the ${kind} store`, { timeout: 300_000 }, async () => {
    const redis = kind === 'redis' ? await startRedisServer() : undefined
    if (redis) after(() => redis.stop())
    const site = openSite({ routes: ROUTES, skills: SKILLS, env: redis ? { REDIS_URL: redis.url } : {} })
    const daemon = await site.start()
    const chats = new Map<string, ReturnType<typeof daemon.chat>>()
    /** Sends a text in the conversation of `who`, which is a connection. */
    const say = async (who: string, text: string) => {
      const chat = chats.get(who) ?? daemon.chat('/chat')
      chats.set(who, chat)
      const { send } = await chat
      send({ type: 'message', text })
    }
    const submit = async (message: object) => {
      const headers = { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' }
      const body = JSON.stringify(message)
      const response = await fetch(`${daemon.control}/v1/messages`, { method: 'POST', headers, body })
      assert.equal(response.status, 200)
    }
    const list = async (args: object = {}) =>
      Object(await daemon.invoke('conversation-list', { ...args })).conversations
    const texts = async (args: object = {}) =>
      (await list({ unanswered: true, ...args })).map(({ text }: { text: string }) => text)
    const settled = async (text: string) => {
      const { messages } = Object(await daemon.invoke('message-search', { text, limit: 1 }))
      return messages[0]?.outcome === 'done' || messages[0]?.outcome === 'dead'
    }

    test('messages without an answer count with any outcome, but not answered messages, webhooks and tests', async () => {
      await say('c1', 'is it lost?')
      await say('c2', 'what are your hours?')
      await say('c3', 'please break')
      await daemon.post('/shop', JSON.stringify({ text: 'a delivery' }))
      await site.run(['message', 'chat', 'a test', '--wait', '0'])
      for (const text of ['is it lost', 'hours', 'please break', 'a delivery', 'a test'])
        await until(() => settled(text), text)
      await until(async () => (await texts()).length === 2, 'both conversations')
      assert.deepEqual(await texts(), ['please break', 'is it lost?'])
      assert.deepEqual(await texts({ gateway: 'shop' }), [])
      const [answered] = await list({ text: 'hours' })
      assert.match(answered.reply.text, /You said: what are your hours/)
      assert.equal(answered.waitingSince, undefined)
    })

    test('a list for a person leaves out what failed, and what somebody has taken over', async () => {
      const forPerson = async () =>
        (await list({ forPerson: true })).map(({ text }: { text: string }) => text)
      assert.deepEqual(await forPerson(), ['is it lost?'])
      const { out } = await site.run(['conversation', 'list', '--for-person'])
      assert.match(out, /is it lost/)
      assert.doesNotMatch(out, /please break|hours/)
      const [{ gateway, conversation }] = await list({ forPerson: true })
      await daemon.invoke('conversation-pause', { gateway, conversation })
      assert.deepEqual(await forPerson(), [])
      const none = await site.run(['conversation', 'list', '--for-person'])
      assert.match(none.err, /^No conversations match --for-person/)
      await daemon.invoke('conversation-resume', { gateway, conversation })
      assert.deepEqual(await forPerson(), ['is it lost?'])
    })

    test('a list has conversations in which somebody can be answered, and others with --all or their --gateway', async () => {
      // A conversation of its own, whose sender has got the result in the response.
      await daemon.post('/ask', JSON.stringify({ text: 'a question of a machine' }))
      const gateways = async (args: object) =>
        new Set((await list(args)).map(({ gateway }: { gateway: string }) => gateway))
      assert.deepEqual(await gateways({}), new Set(['ask', 'chat', 'shop']))
      assert.deepEqual(await gateways({ answerable: true }), new Set(['chat']))
      assert.deepEqual(await gateways({ answerable: true, gateway: 'shop' }), new Set(['shop']))
      const { out } = await site.run(['conversation', 'list'])
      assert.match(out, /please break/)
      assert.doesNotMatch(out, /a delivery|of a machine/)
      for (const more of [['--all'], ['--gateway', 'shop']])
        assert.match((await site.run(['conversation', 'list', ...more])).out, /a delivery/)
    })

    test('wait since the first message after the last answer, until a person answers', async () => {
      const [first] = await list({ text: 'is it lost' })
      const { conversation } = first
      await say('c1', 'hello?')
      await until(() => settled('hello?'), 'the second message')
      const [row] = await list({ conversation })
      assert.deepEqual([row.text, row.waitingSince], ['hello?', first.at])
      await daemon.invoke('gateway-send', { messageId: row.id, text: 'It is found.', wait: 10_000 })
      assert.deepEqual(await texts(), ['please break'])
      await say('c1', 'one more')
      await until(() => settled('one more'), 'the third message')
      const [again] = await list({ conversation })
      assert.deepEqual([again.text, again.waitingSince], ['one more', again.at])
      const shown = Object(await daemon.invoke('conversation-show', { gateway: 'chat', conversation }))
      assert.equal(shown.waitingSince, again.at)
    })

    test('are found behind more newer conversations than a page has', async () => {
      for (let n = 0; n < 60; n++) await submit({ gateway: 'chat', text: `filler ${n}` })
      const [newest] = await list({})
      assert.match(newest.text, /filler/)
      for (const limit of [2, 50]) assert.ok((await texts({ limit })).includes('please break'))
      const { out } = await site.run(['conversation', 'list', '--unanswered'])
      assert.match(out, /please break/)
      for (const limit of [1, 2, 50]) {
        const args = ['conversation', 'list', '--limit', String(limit)]
        // A message without a skill waits for a person, so it is before a failed one.
        const waiting = ['one more', 'please break'].slice(0, limit)
        const [, ...rows] = (await site.run(args)).out.split('\n')
        for (const [at, text] of waiting.entries()) assert.match(rows[at] ?? '', new RegExp(text))
        const { conversations, next } = JSON.parse((await site.run([...args, '--json'])).out)
        assert.deepEqual(
          conversations.slice(0, 2).map(({ text }: { text: string }) => text),
          waiting,
        )
        assert.equal(conversations.length, limit)
        assert.equal(next, limit <= 2 ? undefined : conversations.at(-1).id)
      }
    })

    test('a later page has no conversation whose newest message was on an earlier one', async () => {
      await say('c1', 'what are your hours now?')
      await until(() => settled('hours now'), 'its outcome')
      await until(async () => !(await texts()).includes('what are your hours now?'), 'its answer')
      const found: string[] = []
      let before: string | undefined
      do {
        const page = Object(
          await daemon.invoke('conversation-list', {
            unanswered: true,
            limit: 1,
            ...(before !== undefined && { before }),
          }),
        )
        found.push(...page.conversations.map(({ text }: { text: string }) => text))
        before = page.next
      } while (before !== undefined)
      assert.deepEqual(found, ['please break'])
    })

    test('a conversation that a person has taken over waits until they answer, and says who has it', async () => {
      const args = { gateway: 'chat', conversation: 'petra' }
      await submit({ ...args, from: 'petra', text: 'where is it?' })
      await daemon.invoke('conversation-pause', { ...args, drop: true, reason: 'I call her' })
      await submit({ ...args, from: 'petra', text: 'nobody answers?' })
      await until(async () => {
        const [row] = await list(args)
        return row?.text === 'nobody answers?' && row.outcome === 'dropped'
      }, 'the message that the person handles')
      const [row] = await list({ ...args, unanswered: true })
      assert.equal(row.heldBy.reason, 'I call her')
      assert.ok(row.waitingSince < row.at)
      const shown = Object(await daemon.invoke('conversation-show', args))
      assert.deepEqual([shown.heldBy, shown.waitingSince], [row.heldBy, row.waitingSince])
      const { out } = await site.run(['conversation', 'list', '--gateway', 'chat'])
      assert.match(out, /petra\t.*waits, .* has it/)
      await daemon.invoke('gateway-send', { messageId: row.id, text: 'On its way.', wait: 10_000 })
      const [answered] = await list(args)
      assert.deepEqual([answered.waitingSince, answered.reply.text], [undefined, 'On its way.'])
      await daemon.invoke('conversation-resume', args)
    })
  })
}
