import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { parsedMail } from '../fixtures/parsed-mail.ts'
import { startSmtpServer } from '../fixtures/smtp-server.ts'
import { until } from '../fixtures/until.ts'

const routes = (smtp: number, lead: string) => `
daemon: { public-url: "https://bot.example.com" }
gateways:
  chat: { transport: websocket, path: /ws }
  support: { transport: email, address: bot@example.com, imap: { host: 127.0.0.1, port: 1, tls: none },
             smtp: { host: 127.0.0.1, port: ${smtp}, tls: none } }
access: { roles: { lead: { members: [${lead}], skills: [nothing] }, all: { members: ["*"], skills: [deploy] } } }
routes:
  - { name: deploys, match: { gateway: chat }, skill: deploy, args: { to: "<prod> \\u202e" } }
`
const BOSS = '"support:boss@example.com"'
const deploy = `export default { description: 'Deploys.', metadata: { approval: { approvers: ['role:lead'] } }, run: () => 'deployed' }`

describe('a request for approval', { timeout: 300_000 }, async () => {
  const smtp = await startSmtpServer()
  after(() => smtp.close())
  const site = openSite({ routes: routes(smtp.port, BOSS), skills: { deploy } })
  const daemon = await site.start()

  /**
   * Asks for a deployment in the chat. Resolves with the chat, the frame of the request, and the
   * text of the mail to the approver. `page()` opens the link in that mail; `page(decision)`
   * decides.
   */
  const ask = async (text: string) => {
    const chat = await daemon.chat('/ws')
    chat.send({ text })
    const frame = await chat.next('message')
    const mail = await until(() => smtp.taken.pop(), 'the mail')
    assert.deepEqual(mail.to, ['boss@example.com'])
    const mailText = (await parsedMail(mail)).text ?? ''
    const [, path = ''] = /https:\/\/bot\.example\.com(\/\S+)/.exec(mailText) ?? []
    const page = async (decision?: string, at = path) => {
      const body = decision ? { method: 'POST', body: new URLSearchParams({ decision }) } : {}
      const response = await fetch(daemon.url + at, body)
      return { status: response.status, text: await response.text() }
    }
    return { chat, frame, mailText, path, page }
  }

  test('shows the requester, skill and arguments in a frame, a mail, its page and on the command line', async () => {
    const { chat, frame, mailText, page } = await ask('now')
    const patterns = [/\S+ \(unverified\)/, /deploy/, /"to": "(<|&lt;)prod(>|&gt;) \\u202e"/]
    const { id, buttons } = Object(Object(frame.data).approval)
    const listed = await site.run(['approval-list', '--id', id])
    const opened = await page()
    const shown = await site.run(['approval', 'show', id])
    assert.match(shown.out, /^request posted\s+in the conversation, /m)
    assert.match(shown.out, /^The message of /m)
    for (const pattern of patterns.slice(0, 2)) assert.match(listed.out, pattern)
    for (const pattern of patterns)
      for (const text of [String(frame.text), mailText, opened.text]) assert.match(text, pattern)
    assert.equal(buttons, false, 'the chat has no approver')
    await daemon.invoke('approval-decide', { id, approve: true })
    assert.equal((await chat.next('message')).text, 'deployed')
  })

  test('is decided by a click on the page of the approver, and not by opening it', async () => {
    const { chat, path, page } = await ask('again')
    const forgedPath = path.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
    assert.equal((await page(undefined, forgedPath)).status, 404)
    const transcript = await until(() => {
      const text = readFileSync(join(site.dir, '.trivium', 'messages.jsonl'), 'utf8')
      return text.split('/trivium/approval?').length > 2 ? text : undefined
    }, 'both mails in the transcript')
    assert.ok(!transcript.includes(path), 'the transcript has no valid link')
    for (const _ of [1, 2]) assert.match((await page()).text, /<button/)
    assert.equal(Object(await daemon.invoke('approval-list', { status: 'pending' })).length, 1)
    assert.match((await page('deny')).text, /denied by support:boss@example.com/)
    assert.match(
      String((await chat.next('message')).text),
      /not approved: support:boss@example.com denied it/,
    )
    const late = await page('approve')
    assert.deepEqual([late.status, /already decided/.test(late.text)], [409, true])
  })

  test('cannot be decided by the link of a former approver', async () => {
    const { page } = await ask('once more')
    site.write('routes.yaml', routes(smtp.port, ''))
    await site.run(['reload'])
    const refused = await page('approve')
    assert.deepEqual([refused.status, /not among its approvers/.test(refused.text)], [403, true])
  })
})
