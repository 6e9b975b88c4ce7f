import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  mail:
    transport: email
    address: a@example.com
    open: true
    imap: { host: 127.0.0.1, port: 1, tls: none, user: clerk, pass: closed }
    smtp: { host: 127.0.0.1, port: 1, tls: none, user: clerk, pass: closed }
  hub: { transport: webhook, path: /hub, verify: { scheme: github, secret: "the-secret-of-the-hub" } }
  shop: { transport: webhook, path: /shop, verify: { scheme: github, secret: "the-secret-of-the-shop" } }
  open: { transport: webhook, path: /open, verify: { scheme: none } }
tokens:
  - { name: ops, token: "a-token-of-operations", skills: ["*"], gateways: [open, shop] }
routes: [{ name: all, skill: echo }]
`

describe('gateway show', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()
  const run = async (...words: string[]) => {
    const { code, out, err } = await site.run(words)
    assert.equal(code, 0, `${words.join(' ')}: ${err}`)
    return out
  }

  const showWithToken = (gateway: string) =>
    fetch(`${daemon.control}/v1/skills/gateway-show`, {
      method: 'POST',
      headers: { authorization: 'Bearer a-token-of-operations', 'content-type': 'application/json' },
      body: JSON.stringify({ gateway }),
    })

  test('has the state and since when, the traffic, and the checks once they ran', async () => {
    await daemon.post('/open', '{"n":1}')
    const out = await run('gateway', 'show', 'open')
    assert.match(out, /^open {2}webhook, verified by none$/m)
    assert.match(out, /^ok since \d{4}-\d\d-\d\d \d\d:\d\d UTC \(\d+ (?:s|min)\): \/open$/m)
    assert.match(out, /^Last message: .* ago\); 0\.2 a minute, 1 accepted and 0 refused in the last hour\.$/m)
    assert.match(out, /^Not checked since the start/m)
    await site.run(['doctor'])
    assert.match(
      await run('gateway', 'show', 'open'),
      /^!\s+open: verify\s+\d+ (?:s|min) ago\s+senders are not verified/m,
    )
  })

  test('has the refusals by cause, and what to do', async () => {
    for (let n = 0; n < 60; n++)
      await daemon.post('/hub', `{"n":${n}}`, {
        'x-hub-signature-256': 'sha256=00',
        'x-github-event': 'ping',
      })
    const out = await run('gateway', 'show', 'hub')
    assert.match(out, /^refuses every delivery since .* UTC \(\d+ (?:s|min)\): \/hub$/m)
    assert.match(
      out,
      /^hub: 60 of 60 deliveries refused since .* UTC \(\d+ (?:s|min)\) \(signature_invalid\)$/m,
    )
    assert.match(out, /`trivium refusal try --gateway hub`/)
    assert.match(out, /^✗ +hub: deliveries +now +refuses every delivery, see above$/m)
    const doctor = await site.run(['doctor'])
    assert.equal(doctor.code, 1)
    assert.match(
      doctor.out,
      /^✓ +hub: verify +github: the secret is set and readable; only a delivery shows/m,
    )
    assert.match(doctor.out, /^✗ +hub: deliveries +refuses every delivery: 60 of 60 deliveries/m)
    assert.match(
      (await site.run(['refusal', 'list'])).err,
      /the newest 50 of 60 of hub; the others are only counted/,
    )
  })

  test('has the pause with its author, reason, end and waiting messages', async () => {
    await run('gateway', 'pause', 'open', '--for', '1h', '--reason', 'the shop is moved')
    await daemon.post('/open', '{"n":2}')
    const shown = await run('gateway', 'show', 'open')
    assert.match(shown, /^ok since .*: \/open$/m)
    assert.match(shown, /^Paused by .* since .* UTC, until .* UTC: the shop is moved\. [01] message/m)
    assert.match(shown, /`trivium gateway resume open` ends the pause/)
    const { pause, paused } = JSON.parse(await run('gateway', 'show', 'open', '--json'))
    assert.deepEqual([pause.kind, pause.reason, paused], ['gateway', 'the shop is moved', true])
    assert.match((await site.run(['pause', 'list'])).err, /To end it: `trivium gateway resume open`/)
  })

  test('fails for an unknown gateway, and for one that a token may not use', async () => {
    const { code, err } = await site.run(['gateway', 'show', 'hup'])
    assert.equal(code, 1)
    assert.match(err, /hup.*Did you mean hub/)
    assert.equal((await showWithToken('hub')).status, 403)
  })

  test('says where the secret of a gateway is configured, but not to a program', async () => {
    assert.match(await run('gateway', 'show', 'shop'), /^Secret: verify\.secret in routes\.yaml/m)
    const shown = await (await showWithToken('shop')).text()
    assert.match(shown, /\/shop/)
    assert.doesNotMatch(shown, /verify\.secret|the-secret/)
  })

  test('says since when it fails as the list of troubles does, also after a restart', async () => {
    const troubleOf = async () => {
      const { troubles } = JSON.parse((await site.run(['trouble', 'list', '--json'])).out)
      return troubles.find(({ code }: { code: string }) => code === 'gateway-down')
    }
    const shown = async () => JSON.parse(await run('gateway', 'show', 'mail', '--json'))
    await until(async () => (await shown()).ok === false, 'the failure')
    const { since } = await troubleOf()
    await daemon.end()
    await site.start()
    await until(async () => (await shown()).ok === false, 'the failure after the restart')
    assert.equal((await shown()).since, since)
    assert.equal((await troubleOf()).since, since)
  })
})

test('gateway show counts the deliveries of the last hour also from before a restart', async (t) => {
  const site = openSite({
    routes: 'gateways:\n  open: { transport: webhook, path: /open, verify: { scheme: none } }\nroutes: []\n',
  })
  const first = await site.start()
  for (const n of [1, 2]) await first.post('/open', `{"n":${n}}`)
  await first.end()
  const second = await site.start()
  t.after(() => second.end())
  await second.post('/open', '{"n":3}')
  const { out } = await site.run(['gateway', 'show', 'open'])
  assert.match(out, /, 3 accepted and 0 refused in the last hour\.$/m)
})
