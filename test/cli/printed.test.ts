import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { printers } from '../../src/engine/print/gateways.ts'
import { wholeText } from '../../src/lib/printed.ts'
import { openSite } from '../fixtures/daemon.ts'

const ROUTES = `
gateways:
  orders: { transport: webhook, path: /orders, verify: { scheme: none } }
  ask: { transport: webhook, path: /ask, respond: result, verify: { scheme: bearer, secret: s3cret } }
subscriptions:
  - { name: crm, url: "http://127.0.0.1:9/crm", secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, allow-private: true, match: { gateway: ask } }
routes:
  - { name: paid, match: { gateway: orders, data.body.type: invoice.paid }, skill: echo }
  - { name: elsewhere, match: { gateway: ask }, skill: echo }
  - { name: deploy, match: { gateway: cli, prefix: deploy }, skill: echo }
  - { name: typed, match: { gateway: cli, text: "hello*" }, skill: echo }
`

describe('what commands print for people', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()
  const run = async (...args: string[]) => {
    const { code, out, err } = await site.run(args)
    assert.equal(code, 0, err)
    return out
  }

  test('route explain shows the routes that nearly match, and counts the others', async () => {
    const response = await fetch(`${daemon.url}/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'order.created' }),
    })
    const { id } = Object(await response.json())
    const shown = await run('route', 'explain', id)
    assert.match(shown, /paid\s+no\s+✓ gateway[\s\S]*✗ data\.body\.type\s+'invoice\.paid'\s+'order\.created'/)
    assert.doesNotMatch(
      shown,
      /elsewhere|deploy|@webhook|@cli/,
      'no route of the assistant, none for another place',
    )
    const all = await run('route', 'explain', id, '--all')
    const count = JSON.parse(await run('route', 'explain', id, '--json')).length
    assert.match(
      shown,
      new RegExp(
        `\n${count - 1} other routes are further from matching: [^.]*\\. --all shows every route\\.\n$`,
      ),
    )
    for (const name of ['paid', 'elsewhere', 'deploy', 'remember-note@cli'])
      assert.match(all, new RegExp(`^${name} `, 'm'))
    assert.doesNotMatch(all, /not shown/)
  })

  test('route explain counts a mistyped first word as nearly matching', async () => {
    const mistyped = await run('message', 'cli', 'deplyo', 'production', '--explain')
    assert.match(mistyped, /^deploy\s+no/m)
    assert.match(await run('message', 'cli', 'rememebr', 'milk', '--explain'), /^remember-note@cli\s+no/m)
    const typed = await run('message', 'cli', 'good', 'morning', '--explain')
    assert.match(typed, /^typed\s+no/m)
    assert.doesNotMatch(typed, /^deploy|@cli/m)
    const none = await run('message', 'orders', 'good', 'morning', '--explain')
    assert.match(none, /paid|No route matches or nearly matches/)
    assert.match(await run('message', 'cli', 'good', 'morning', '--explain', '--all'), /^deploy\s+no/m)
  })

  test('history shows the id and sender of each message, and the message of a reply', async () => {
    const { id } = JSON.parse(
      await run('message', 'cli', 'hello\nthere', '--from', 'ada@example.com', '--json'),
    )
    const out = await run('history', '--grep', 'hello')
    assert.match(out, new RegExp(`${id}\tuser\tada@example\\.com\tcli\t.*\thello there\n`))
    assert.match(out, new RegExp(`${id}\tassistant\techo\tcli\t.*\tYou said: hello there\n`))
  })

  test('gateways, subscriptions and schedules are listed as tables, and as JSON with --json', async () => {
    for (const words of [['subscription', 'list'], ['subscription-list']]) {
      const out = await run(...words)
      assert.match(
        out,
        /^subscription\s+state\s+new\s+again\s+dead\s+filter\s+topic\s+url\s+from\ncrm\s+active\s+0\s+0\s.*\sgateway-message\s+http:/,
      )
      assert.equal(JSON.parse(await run(...words, '--json'))[0].name, 'crm')
    }
    assert.match(await run('gateway-list'), /^ask\s+webhook\s+none\s+0\s+0\s+ok: \/ask$/m)
    await run('gateway', 'pause', 'ask')
    assert.match(await run('gateway-list'), /^ask\s+webhook\s+none\s+0\s+0\s+paused by \S+/m)
    assert.match(await run('status'), /^ask\s+webhook\s+paused$/m)
    await run('gateway', 'resume', 'ask')
    assert.match(await run('gateway-list'), /^ask\s+webhook\s+none\s+0\s+0\s+ok: \/ask$/m)
    const mail = { name: 'mail', transport: 'email', ok: true, warning: 'INBOX cannot be read; trying again' }
    assert.match(
      wholeText(printers['gateway-list']?.([mail], {}) ?? ''),
      /^mail\s+email\s+warning: INBOX cannot be read/m,
    )
    assert.equal((await site.run(['schedule', 'list'])).err, 'There are no schedules.\n')
    await run('schedule', 'create', 'echo', '--cron', '0 9 * * 1-5', '--timezone', 'Europe/Berlin')
    await run(
      'schedule-create',
      'echo',
      '--every',
      '4h',
      '--name',
      'stock',
      '--skill-args',
      '{"text":"count"}',
    )
    const out = await run('schedule', 'list')
    assert.match(
      out,
      /^schedule-1\s+echo\s+Monday to Friday at 09:00, Europe\/Berlin\s+\d{4}-\d\d-\d\dT\d\d:00:00\.000Z\s+none known\s+echo\s+cli/m,
    )
    assert.match(
      out,
      /^schedule-2\s+stock\s+every 4 h\s+\d{4}-\S+Z\s+none known\s+echo\s+cli\s+text: count$/m,
    )
    const listed = JSON.parse(await run('schedule-list', '--json'))
    assert.equal(listed.length, 2)
    await run('schedule', 'delete', 'schedule-1')
    assert.doesNotMatch(await run('schedule', 'list'), /schedule-1/)
  })

  test('skill show describes the arguments of a skill, as JSON with --json', async () => {
    const out = await run('skill', 'show', 'schedule-create')
    assert.match(out, /^schedule-create \(built-in\)\nRuns a skill by cron/)
    assert.match(out, /^skill\s+string\s+yes\s+The skill to run$/m)
    assert.match(out, /^misfire\s+string\s+"once"\s+Runs missed while/m)
    assert.match(await run('skill', 'show', 'echo'), /^access\s+100\s+Limits who may invoke/m)
    assert.match(
      await run('skill', 'show', 'gateway-list'),
      /It takes no arguments\.[\s\S]*^effect\s+changes nothing$/m,
    )
    assert.equal(JSON.parse(await run('skill', 'show', 'echo', '--json')).name, 'echo')
  })

  test('doctor warns about a webhook that does not verify its senders', async () => {
    const out = await run('doctor')
    assert.match(out, /^!\s+orders: verify\s+senders are not verified: .*set `verify`/m)
    assert.match(out, /^✓\s+ask: verify\s+bearer/m)
  })

  test('doctor warns about a skills.json in the wrong folder, and names each fault of an entry', async () => {
    const words = '[{ "name": "shop", "prefix": "buy", "ref": "echo" }]'
    site.write('skills.json', words)
    assert.match(
      await run('doctor'),
      /^!\s+skills\.json\s+.*skills\.json is not read; move it into the folder skills$/m,
    )
    site.write('skills/skills.json', words)
    await run('reload')
    const { out } = await site.run(['doctor'])
    assert.match(
      out,
      /✗\s+skill shop\s+.*line 1: prefixes is missing; unknown key "prefix"; did you mean "prefixes"\?$/m,
    )
  })
})
