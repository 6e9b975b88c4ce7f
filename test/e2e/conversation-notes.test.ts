import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  chat: { transport: websocket, path: /chat }
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
tokens:
  - { name: crm, token: "a-token-of-the-crm", skills: ["conversation-*"], gateways: [chat] }
  - { name: shop, token: "a-token-of-the-shop", skills: ["conversation-*"], gateways: [shop] }
  - { name: desk, token: "a-token-of-the-desk", skills: ["conversation-show"], gateways: ["*"] }
routes:
  - { name: snoop, match: { text: "*snoop*" }, skill: snoop }
`
const SKILLS = {
  snoop: `export default { description: 'reads and writes notes', async run({ message, manager }) {
    const { gateway, conversation } = message
    const shown = await manager.invoke('conversation-show', { gateway, conversation })
    const refused = await manager.invoke('conversation-note', { gateway, conversation, text: 'x' }).catch((error) => error.code)
    return 'I see ' + shown.entries.length + ' entries, notes: ' + JSON.stringify(shown.notes ?? refused)
  } }`,
}
const SECRET = 'quite-upset-4711'
const place = { gateway: 'chat', conversation: 'petra' }

for (const store of ['embedded', 'redis'] as const) {
  describe(`notes of operators in a conversation, on ${store}`, { timeout: 300_000 }, () => {
    const suite = suiteWithDaemon({ routes: ROUTES, skills: SKILLS, store })
    const headers = (token: string) => ({
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
    })
    const write = (text: string) =>
      fetch(`${suite.daemon.control}/v1/messages`, {
        method: 'POST',
        headers: headers(suite.daemon.token),
        body: JSON.stringify({ ...place, from: 'petra', text }),
      })
    /** The status and result of an operation that a program calls with its token. */
    const as = async (name: string, operation: string, args: object) => {
      const url = `${suite.daemon.control}/v1/skills/${operation}`
      const request = {
        method: 'POST',
        headers: headers(`a-token-of-the-${name}`),
        body: JSON.stringify(args),
      }
      const response = await fetch(url, request)
      const { result, error } = Object(await response.json())
      return { status: response.status, result, code: error?.code }
    }
    const notes = async (): Promise<Record<string, string>[]> =>
      Object(await suite.daemon.invoke('conversation-show', place)).notes ?? []

    test('are in the conversation after a restart, but not in the audit log, the transcript and events', async () => {
      await write('Where is my tent?')
      await suite.daemon.invoke('event-subscribe', { topic: 'gateway-message', queue: 'audit' })
      await suite.daemon.invoke('conversation-note', { ...place, text: `  She is ${SECRET}.\n` })
      await suite.restart()
      const [note, ...others] = await notes()
      assert.deepEqual([note?.text, others], [`She is ${SECRET}.`, []])
      assert.match(note?.by ?? '', /control-token/)
      const { entries } = Object(await suite.daemon.invoke('audit-list', { action: 'conversation-note' }))
      const { messageId, ...target } = entries[0].target
      assert.deepEqual(target, place)
      assert.equal(entries[0].about.messageId, messageId)
      assert.doesNotMatch(JSON.stringify(entries), new RegExp(SECRET))
    })

    test('reach neither a skill nor the sender', async () => {
      const { send, next, close } = await suite.daemon.chat('/chat')
      send({ type: 'message', text: 'hello' })
      const { messageId } = await next('ack')
      const { message } = Object(await suite.daemon.invoke('message-show', { id: messageId }))
      const { gateway, conversation } = message
      await suite.daemon.invoke('conversation-note', { gateway, conversation, text: SECRET })
      send({ type: 'message', text: 'snoop' })
      assert.equal((await next('message')).text, 'I see 2 entries, notes: "forbidden"')
      close()
      const dataDir = join(suite.site.dir, '.trivium')
      for (const file of readdirSync(dataDir).filter((name) => name.endsWith('.jsonl')))
        assert.doesNotMatch(readFileSync(join(dataDir, file), 'utf8'), new RegExp(SECRET), file)
      const events = await suite.daemon.invoke('event-list', { topic: 'gateway-message' })
      assert.doesNotMatch(JSON.stringify(events), new RegExp(SECRET))
    })

    test('are written, read and deleted with the rights of their gateway', async () => {
      assert.equal((await as('shop', 'conversation-note', { ...place, text: 'x' })).status, 403)
      assert.equal((await as('desk', 'conversation-note', { ...place, text: 'x' })).status, 403)
      const { result } = await as('crm', 'conversation-note', { ...place, text: 'of the CRM' })
      assert.equal(result.by, 'token:crm')
      const shown = await as('desk', 'conversation-show', place)
      assert.ok(shown.result.notes.some(({ id }: { id: string }) => id === result.id))
      const [ofPerson] = await notes()
      assert.equal((await as('crm', 'conversation-note-delete', { id: ofPerson?.id })).code, 'forbidden')
      assert.equal((await as('shop', 'conversation-note-delete', { id: result.id })).code, 'forbidden')
      assert.equal((await as('crm', 'conversation-note-delete', { id: result.id })).status, 200)
      await until(async () => (await notes()).length === 1, 'the note of the person alone')
    })

    test('are refused in an unknown conversation, without a text, and above 10,000 characters', async () => {
      const refused = (args: object) => as('crm', 'conversation-note', args)
      assert.equal((await refused({ ...place, conversation: 'nobody', text: 'x' })).code, 'not_found')
      for (const text of ['', ' \n', 'x'.repeat(10_001)])
        assert.equal((await refused({ ...place, text })).code, 'skill_args_invalid')
      assert.equal((await refused({ ...place, text: 'x'.repeat(10_000) })).status, 200)
      assert.equal((await as('crm', 'conversation-note-delete', { id: 'nothing' })).code, 'not_found')
    })

    test('are written, shown and deleted by commands', async () => {
      const { site } = suite
      const added = await site.run(['conversation', 'note', 'chat', 'petra', 'She', 'moves to Oslo.'])
      assert.equal(added.code, 0, added.err)
      const id = /`trivium conversation note delete (\S+)` deletes it/.exec(added.out)?.[1] ?? ''
      const shown = await site.run(['conversation', 'show', 'chat', 'petra'])
      assert.match(
        shown.out,
        new RegExp(`# note of .*, only for colleagues {2}${id}\\n {4}She moves to Oslo\\.`),
      )
      const json = JSON.parse((await site.run(['conversation', 'show', 'chat', 'petra', '--json'])).out)
      assert.equal(json.notes.at(-1).text, 'She moves to Oslo.')
      const removed = await site.run(['conversation', 'note', 'delete', id])
      assert.equal(removed.code, 0, removed.err)
      assert.ok((await notes()).every((note) => note.id !== id))
      const { out } = await site.run(['conversation', 'note', '--help'])
      assert.match(out, /Usage: trivium conversation note \[options\] \[gateway\] <conversation> <text>/)
    })
  })
}
