import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  demo: { transport: webhook, path: /demo }
  hub: { transport: webhook, path: /hub, verify: { scheme: github, secret: hub-secret } }
  chat: { transport: websocket, path: /chat, tokens: { root: "root's long token" } }
access:
  roles:
    everybody: { members: ["*"], skills: [echo, fails] }
    staff: { members: ['chat:root'], skills: [danger] }
routes:
  - { name: danger, match: { gateway: [hub, chat] }, skill: danger }
  - { name: fails, match: { gateway: demo, text: "*fail*" }, skill: fails, retry: { attempts: 1 } }
  - { name: rest, skill: echo }
`
const SKILLS = {
  danger: `import { writeFileSync } from 'node:fs'
export default { description: 'writes', run: () => { writeFileSync(new URL('../../danger', import.meta.url), ''); return 'done' } }`,
  fails: `export default { description: 'fails', run: ({ args }) => { throw new Error(args.text) } }`,
}

/** Escape sequences that set the clipboard, clear the screen or change colours. */
const ESCAPES = '\u001b]52;c;ZXZpbA==\u0007 \u001b[2J \u009b31m'
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f]|\u001b(?!\[[\d;]*m)/

describe('a stranger', { timeout: 300_000 }, () => {
  const suite = suiteWithDaemon({ routes: ROUTES, skills: SKILLS })

  const idOf = ({ body }: { body: unknown }) => String(Object(body).id)
  const deadLetter = (id: string) =>
    until(async () => {
      const letters = Object(await suite.daemon.invoke('dead-letter-list', {}))
      return letters.find((one: { messageId?: string; id: string }) => JSON.stringify(one).includes(id))
    }, 'the dead letter')

  test('does not have the rights of a person with the same name at another gateway', async () => {
    const body = JSON.stringify({ sender: { login: 'root' } })
    const signature = `sha256=${createHmac('sha256', 'hub-secret').update(body).digest('hex')}`
    const headers = { 'x-hub-signature-256': signature, 'content-type': 'application/json' }
    const letter = await deadLetter(idOf(await suite.daemon.post('/hub', body, headers)))
    assert.match(JSON.stringify(letter), /forbidden/)
    assert.equal(existsSync(join(suite.site.dir, 'danger')), false)
    const { ask: root } = await suite.daemon.chat(`/chat?token=${encodeURIComponent("root's long token")}`)
    assert.equal(await root('go'), 'done')
  })

  test('can read only the open pages of the control listener', async () => {
    const { control, token } = suite.daemon
    for (const authorization of ['', 'Bearer ', `Bearer ${token}x`, `Basic ${token}`, token]) {
      for (const path of '/v1/status /v1/skills /v1/skills/echo /v1/messages /v1/reload /mcp /v1/no'.split(
        ' ',
      )) {
        for (const method of ['GET', 'POST']) {
          const answer = await fetch(control + path, { method, headers: { authorization } })
          assert.equal(answer.status, 401, `${method} ${path} with ${authorization}`)
          assert.match(String(answer.headers.get('www-authenticate')), /^Bearer/)
        }
      }
    }
    const metrics = async (host: string, authorization = '') => {
      const sent = request(`${control}/metrics`, { headers: { host, authorization } }).end()
      const [answer] = await once(sent, 'response')
      return answer.resume().statusCode
    }
    // The host name of a web page may point to this machine.
    assert.equal(await metrics('evil.example:8787'), 403)
    assert.equal(await metrics('trivium.example', `Bearer ${token}`), 200)
    for (const host of ['localhost:8787', '[::1]', 'api.localhost']) assert.equal(await metrics(host), 200)
  })

  test('cannot store credentials in a message', async () => {
    const query = 'api_key key code sig pwd token'.split(' ').map((name) => `${name}=hunter2`)
    const headers = {
      'ocp-apim-subscription-key': 'hunter2',
      'x-functions-key': 'hunter2',
      'x-goog-iap-jwt-assertion': 'hunter2',
      authorization: 'Bearer hunter2',
    }
    const answer = await suite.daemon.post(`/demo?page=2&${query.join('&')}`, 'hello', headers)
    const shown = await suite.site.run(['message', 'show', idOf(answer), '--json'])
    assert.match(shown.out, /"page"/)
    assert.doesNotMatch(shown.out + suite.daemon.output(), /hunter2/)
    for (const name of readdirSync(join(suite.site.dir, '.trivium'))) {
      const path = join(suite.site.dir, '.trivium', name)
      if (statSync(path).isFile()) assert.ok(!readFileSync(path).includes('hunter2'), name)
    }
  })

  test('cannot send escape sequences to a terminal', async () => {
    const id = idOf(await suite.daemon.post('/demo', `fail ${ESCAPES}`, { 'content-type': 'text/plain' }))
    await deadLetter(id)
    const commands = [
      ['message', 'show', id],
      ['message-list'],
      ['history'],
      ['status'],
      ['dead-letters', 'list'],
    ]
    for (const args of commands) {
      const { out, err } = await suite.site.run(args)
      assert.doesNotMatch(out + err, CONTROL, args.join(' '))
    }
    assert.match((await suite.site.run(['message', 'show', id])).out, /fail/)
    assert.doesNotMatch(suite.daemon.output(), CONTROL)
  })
})
