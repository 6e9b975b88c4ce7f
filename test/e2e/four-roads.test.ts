import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { type ModelRequest, startOpenAiServer } from '../fixtures/openai-server.ts'
import { parsedMail } from '../fixtures/parsed-mail.ts'
import { startRoads } from '../fixtures/roads.ts'
import { until } from '../fixtures/until.ts'

const HELPER = `---
name: helper
description: Ships what people ask for.
allowed-tools: ship
---
You ship what people ask for.

:arg[text]
`
const ship = `import { appendFileSync } from 'node:fs'
import { z } from 'zod'
export default {
  description: 'Ships something.',
  args: z.object({ what: z.string() }),
  metadata: { approval: { title: 'Ship it?', approvers: ['role:lead'] } },
  run({ args }) {
    appendFileSync('shipped', args.what + '\\n')
    return args.what + ' is at sea'
  },
}`

const dock = `export default { description: 'Docks.', metadata: { approval: { approvers: ['*'] } }, run: () => 'docked' }`

/** The model: calls the tool `ship`, then answers with the result of the tool. */
function answerOfModel({ messages, tools }: ModelRequest) {
  const last = messages.at(-1)
  if (last?.role === 'tool') return { text: `Done: ${String(last.content)}.` }
  const [, what] = /please ship (\w+)/.exec(JSON.stringify(last?.content)) ?? []
  return what && tools.includes('ship')
    ? { calls: [{ name: 'ship', args: { what } }] }
    : { text: 'What shall I ship?' }
}

describe('the same skill on four roads', { timeout: 300_000 }, async () => {
  const [setup, model] = await Promise.all([
    startRoads(),
    startOpenAiServer(Array.from({ length: 100 }, () => answerOfModel)),
  ])
  after(() => Promise.all([setup.close(), model.close()]))
  const site = openSite({
    ownProcess: true,
    routes: `
gateways: ${setup.gateways}
  open: { transport: websocket, path: /open }
  wild: { transport: webhook, path: /wild, respond: result, from: data.body.who, conversation: data.body.room, text: data.body.text }
model: { name: "openai-compatible:tiny", base-url: "${model.url}", api-key: "test-key-123456" }
access: { roles: { lead: { members: ${setup.members}, skills: ["*"] }, all: { members: ["*"], skills: ["*"] } } }
routes:
  - { name: anybody, match: { gateway: [open, wild] }, skill: dock }
  - { name: rest, skill: helper }
`,
    skills: { ship, dock },
  })
  site.write('skills/helper/SKILL.md', HELPER)
  let daemon = await site.start()

  const roads = await setup.roads(daemon)
  const bob = await daemon.chat("/chat?token=bob's%20long%20token")
  await bob.ask('hello')

  for (const { name, say } of roads) {
    test(`${name}: a skill calls a tool after an approval by words, and replies to the sender`, async () => {
      const asked = await say(`please ship ${name}`)
      await asked(/Ship it\?[\s\S]*Requested by: [a-z]+:/)
      await (await say('Yes.'))(/^Approved: Ship it\?/)
      await asked(new RegExp(`Done: .*${name} is at sea`))
    })
  }

  for (const { name, say } of roads) {
    test(`${name}: the assistant replies to the sender, also to schedules and delegations`, async () => {
      const assertReply = async (text: string, reply: RegExp) => (await say(text))(reply)
      await assertReply('help', /schedule every weekday at 9 digest/)
      await assertReply(`remember the ${name} code is ${name.length}000`, /^Stored note memory-\d+\./)
      const found = await assertReply(`search ${name}`, new RegExp(`^memory-\\d+ .*${name.length}000`))
      assert.doesNotMatch(found, /search/)
      await assertReply('digest', /^Since .*: \d+ messages?/m)
      await assertReply('delegate to echo: count the boxes', /\(echo\): You said: count the boxes/)
      await assertReply(
        'schedule every weekday at 9 digest',
        /^schedule-\d+: digest, every weekday at 9\. Next: .* 09:00/,
      )
      const planned = await say('schedule in 3 seconds digest')
      await planned(/^schedule-\d+: digest, in 3 seconds/)
      await planned(/^Since .*: \d+ messages?/m)
      const given = await say(`delegate to chat:bob: weigh the ${name} box`)
      const [, id] = /^Asked chat:bob \((delegation-\d+)\)/.exec(await given(/^Asked/)) ?? []
      assert.match(String((await bob.next('message')).text), new RegExp(`\\(${id}\\): weigh the ${name} box`))
      bob.send({ text: `done ${id}: it weighs 2 kg` })
      assert.match(String((await bob.next('message')).text), /sent it to the requester/)
      await given(new RegExp(`^${id} \\(chat:bob\\): it weighs 2 kg`))
    })
  }

  test('an unverified sender is shown as such, and cannot decide', async () => {
    const open = await daemon.chat('/open')
    const post = async (text: string) => {
      const body = JSON.stringify({ who: 'ada', room: 'r1', text })
      return String(Object((await daemon.post('/wild', body)).body).reply)
    }
    const byChat = await open.ask('now')
    const byPost = await post('now')
    assert.match(byChat, /Requested by: \S+ \(unverified\)/)
    assert.match(byPost, /Requested by: ada \(unverified\)/)
    for (const asked of [byChat, byPost]) assert.doesNotMatch(asked, /replies yes or no here/)
    const pending = async () => Object(await daemon.invoke('approval-list', { status: 'pending' })).length
    assert.equal(await pending(), 2)
    for (const word of ['yes', 'approve', 'No.']) {
      assert.match(await open.ask(word), /Requested by/, 'the word goes to the skill of the route')
      assert.match(await post(word), /Requested by/)
    }
    // Each of the six further messages has asked for another approval.
    assert.equal(await pending(), 8)
  })

  test('a mail decides by words only if it is verified, written by a person, and has no other words', async () => {
    const chat = await daemon.chat("/chat?token=bob's%20long%20token")
    await chat.ask('please ship grain')
    const asking = async () => {
      const mails = await Promise.all(setup.smtp.taken.map(parsedMail))
      return mails.findLast(
        ({ subject, text }) => /^Approval needed/.test(subject ?? '') && text?.includes('grain'),
      )
    }
    const asked = await until(asking, 'the mail that asks')
    assert.match(asked.text ?? '', /Requested by: chat:bob/)
    const answer = (text: string, { headers = [] as string[], isProven = true } = {}) => {
      const id = randomUUID()
      const head = [
        'From: Ada <ada@example.net>',
        'To: bot@example.com',
        'Subject: Re: Approval needed: Ship it?',
        `Message-ID: <${id}@example.net>`,
        `Date: ${new Date().toUTCString()}`,
        `In-Reply-To: ${asked.messageId}`,
        ...headers,
      ]
      const quote = [
        '',
        'On Mon, 1 Jun 2026 at 10:00, Bot <bot@example.com> wrote:',
        '> Ship it?',
        '>',
        '> Or reply yes or no.',
      ]
      return setup.mail([...head, '', text, ...quote, ''], isProven)
    }
    const received = async () =>
      Number(Object(await daemon.invoke('message-list', { gateway: 'support', limit: 100 })).length)
    const before = await received()
    await answer('Yes', { isProven: false })
    await answer('Yes', { headers: ['Auto-Submitted: auto-replied'] })
    await answer('Yes,\n\nBest,\nAda')
    await until(async () => (await received()) === before + 3, 'the three mails')
    await chat.ask('is it at sea?')
    const pending = async () =>
      Object(await daemon.invoke('approval-list', { status: 'pending' })).filter(
        ({ args }: { args: object }) => JSON.stringify(args).includes('grain'),
      )
    assert.equal((await pending()).length, 1, 'the approval is still pending')
    await answer('Yes')
    assert.match(String((await chat.next('message')).text), /grain is at sea/)
  })

  test('a decision that is sent again after a kill gets the same answer, and decides no other approval', async () => {
    const trace = () => readFileSync(join(site.dir, '.trivium', 'events.jsonl'), 'utf8')
    const decided = () => trace().split('approval_decided').length
    const hook = async (id: string, text: string) => {
      const body = JSON.stringify({ id, who: 'ada', room: 'kill', text })
      const headers = { 'content-type': 'application/json', authorization: 'Bearer the-token-of-the-hook' }
      return String(Object((await daemon.post('/hook', body, headers)).body).reply)
    }
    const shipped = () =>
      readFileSync(join(site.dir, 'shipped'), { encoding: 'utf8', flag: 'a+' })
        .trim()
        .split('\n')
        .filter((what) => what.startsWith('load'))
    for (const round of [1, 2]) {
      assert.match(await hook(`ask-${round}`, `please ship load${round}`), /Requested by: hook:ada/)
      const before = decided()
      const lost = hook(`yes-${round}`, 'yes').catch(() => undefined)
      await until(() => decided() > before, 'the decision')
      await daemon.end('SIGKILL')
      await lost
      daemon = await site.start()
      assert.equal(
        await until(
          async () => [await hook(`yes-${round}`, 'yes')].find((reply) => reply !== 'undefined'),
          'the answer',
        ),
        'Approved: Ship it?',
      )
      const result = await until(async () => {
        const reply = await hook(`ask-${round}`, `please ship load${round}`)
        return /is at sea|its outcome is unknown/.test(reply) ? reply : undefined
      }, 'the result')
      // If the kill came while the call ran, the daemon asks whether it shall run again.
      if (!/is at sea/.test(result))
        await hook(`check-${round}`, shipped().includes(`load${round}`) ? 'no' : 'yes')
      await until(() => shipped().includes(`load${round}`), 'the load')
    }
    assert.deepEqual(shipped(), ['load1', 'load2'])
  })
})
