import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { bundledCommand } from '../../ops/tests/bundled-command.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const [OLD, NEW] = ['old-secret-of-the-hub', 'new-secret-of-the-hub']
const ROUTES = `
gateways:
  hub: { transport: webhook, path: /hub, verify: { scheme: github, secret: "${OLD}" } }
  shop: { transport: webhook, path: /shop, verify: { scheme: stripe, secret: "whsec_of-the-shop" } }
  open: { transport: webhook, path: /open, verify: { scheme: none } }
tokens:
  - { name: ops, token: "a-token-of-operations", skills: ["*"], gateways: [shop] }
routes: [{ name: all, skill: echo }]
`
const hex = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest('hex')
/** The headers of a delivery that GitHub signs with `secret`. */
const github = (secret: string, body: string) => ({
  'content-type': 'application/json',
  'x-github-event': 'ping',
  'x-github-delivery': hex('id', body),
  'x-hub-signature-256': `sha256=${hex(secret, body)}`,
})

const BIN = await bundledCommand()
type Ended = { out: string; err: string; code: number | null }
/** Runs a command in a folder with `input` on its stdin. */
async function pipe(dir: string, input: string, ...args: string[]): Promise<Ended> {
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: dir,
    env: { PATH: process.env.PATH, HOME: dir },
  })
  child.stdin.end(input)
  const ended = once(child, 'close')
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { out, err, code: (await ended)[0] }
}

describe('another secret, tried on refused deliveries', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, env: { TRIVIUM_LOG_LEVEL: 'trace' } })
  let daemon = await site.start()
  const attempt = async (args: object) => Object(await daemon.invoke('refused-try', args))
  const refused = async (gateway: string) => Object(await daemon.invoke('refused', { gateway }))

  const setSecrets = async (...secrets: string[]) => {
    site.write('routes.yaml', ROUTES.replace(`"${OLD}"`, JSON.stringify(secrets)))
    const headers = { authorization: `Bearer ${daemon.token}` }
    assert.ok((await fetch(`${daemon.control}/v1/reload`, { method: 'POST', headers })).ok)
  }

  test('is compared with one delivery and all kept ones, and no delivery is accepted', async () => {
    for (const [n, secret] of [NEW, NEW, 'of a stranger'].entries())
      assert.equal((await daemon.post('/hub', `{"n":${n}}`, github(secret, `{"n":${n}}`))).status, 401)
    const { groups, refusals } = await refused('hub')
    assert.partialDeepStrictEqual(groups, [
      { gateway: 'hub', reason: 'signature_invalid', count: 3, share: 1, cause: 'wrong-secret' },
    ])
    const [stranger, rotated] = refusals
    assert.equal((await attempt({ gateway: 'hub', id: rotated.id, secret: OLD })).ok, false)
    assert.partialDeepStrictEqual(await attempt({ gateway: 'hub', id: rotated.id, secret: NEW }), {
      ok: true,
      fits: 2,
      tried: 3,
    })
    const other = await attempt({ gateway: 'hub', id: stranger.id, secret: NEW })
    assert.partialDeepStrictEqual(other, { ok: false, fits: 2, tried: 3 })
    assert.equal(typeof other.reason, 'string')
    assert.equal(Object(await daemon.invoke('message-search', {})).messages.length, 0)
  })

  test('the kept deliveries survive a reconnect of the gateway', async () => {
    assert.equal(Object(await daemon.invoke('gateway-reconnect', { gateway: 'hub' })).ok, true)
    assert.equal((await attempt({ gateway: 'hub', secret: NEW })).tried, 3)
  })

  test('the kept deliveries survive a change of the gateway', async () => {
    await setSecrets(OLD, 'not-yet-the-right-one')
    assert.partialDeepStrictEqual(await attempt({ gateway: 'hub', secret: NEW }), {
      ok: false,
      fits: 2,
      tried: 3,
    })
    const { groups, refusals } = await refused('hub')
    assert.equal(groups[0].cause, 'failed-change')
    assert.deepEqual(groups[0].changed.kept, { fits: 0, tried: 3 })
    assert.equal((await attempt({ gateway: 'hub', id: refusals[1].id, secret: NEW })).ok, true)
  })

  test('the command line reads the secret from stdin, which keeps it out of lists of processes', async () => {
    for (const args of [['hub'], ['hub', '-'], ['--gateway', 'hub', '--secret', '-']]) {
      const { out, err } = await pipe(site.dir, `${NEW}\nmore\n`, 'refused-try', ...args, '--json')
      assert.partialDeepStrictEqual(JSON.parse(out || '{}'), { fits: 2, tried: 3 }, err)
    }
    const { out, code } = await pipe(site.dir, NEW, 'refused-try', 'hub')
    assert.match(out, /does not fit this delivery.*2 of 3 kept/)
    assert.equal(code, 1)
    const { err } = await pipe(site.dir, '', 'refused-try', 'hub')
    assert.match(err, /No secret was given/)
  })

  test('a secret with blanks around it is tried without them, and one that is in force is named', async () => {
    const id = (await refused('hub')).refusals[1].id
    const trimmed = await attempt({ gateway: 'hub', id, secret: ` ${NEW}\t` })
    assert.partialDeepStrictEqual(trimmed, { ok: true, fits: 2, isTrimmed: true })
    assert.equal(trimmed.isInForce, undefined)
    assert.equal((await attempt({ gateway: 'hub', id, secret: NEW })).isTrimmed, undefined)
    assert.partialDeepStrictEqual(await attempt({ gateway: 'hub', secret: OLD }), {
      ok: false,
      isInForce: true,
    })
    await assert.rejects(attempt({ gateway: 'hub', secret: ' ' }), /usage: .*the secret is empty/)
    const command = ['refusal', 'try', '--gateway', 'hub', '--id', id]
    const { out, code } = await pipe(site.dir, `${NEW} \n`, ...command)
    assert.equal(code, 0)
    const words = out.replaceAll(/\s+/g, ' ')
    assert.match(words, /blanks around it were removed/)
    assert.match(words, /list it in `verify\.secret` of hub \(routes\.yaml, line 3\)/)
    await setSecrets(OLD, NEW)
    assert.match((await pipe(site.dir, NEW, ...command)).out, /in force already/)
    await setSecrets(OLD)
  })

  test('a command with two secrets reads a line of stdin for each', async () => {
    site.write(
      'skills/two-keys/index.ts',
      `import { z } from 'zod'
const secret = () => z.string().meta({ format: 'password' })
export default { description: 'Keys.', args: z.object({ first: secret(), second: secret() }), run: ({ args }) => args }`,
    )
    const both = async () =>
      JSON.parse((await pipe(site.dir, 'one\ntwo\n', 'two-keys', '--json')).out || '{}')
    await until(
      async () =>
        Object(await daemon.invoke('two-keys', { first: 'a', second: 'b' }).catch(() => ({}))).first,
      'the skill',
    )
    assert.deepEqual(await both(), { first: 'one', second: 'two' })
    assert.match((await pipe(site.dir, 'one\n', 'two-keys')).err, /No second was given/)
  })

  test('a signed time is compared with the time of the delivery', async () => {
    const body = '{"id":"evt_1","type":"charge.succeeded"}'
    const at = Math.floor(Date.now() / 1000)
    const sign = (time: number) => `t=${time},v1=${hex('whsec_of-another-shop', `${time}.${body}`)}`
    const post = (time: number) =>
      daemon.post('/shop', body, { 'content-type': 'application/json', 'stripe-signature': sign(time) })
    await post(at - 3_600)
    assert.match((await attempt({ gateway: 'shop', secret: 'whsec_of-another-shop' })).reason, /clock/)
    await post(at)
    assert.equal((await attempt({ gateway: 'shop', secret: 'whsec_of-another-shop' })).ok, true)
  })

  test('unknown deliveries and gateways, gateways without a secret and other tokens are refused', async () => {
    await assert.rejects(attempt({ gateway: 'hub', id: 'gone', secret: NEW }), /refused_gone/)
    await assert.rejects(attempt({ gateway: 'open', secret: NEW }), /usage: .*scheme: none/)
    await assert.rejects(attempt({ gateway: 'nowhere', secret: NEW }), /gateway_not_found/)
    const response = await fetch(`${daemon.control}/v1/skills/refused-try`, {
      method: 'POST',
      headers: { authorization: 'Bearer a-token-of-operations', 'content-type': 'application/json' },
      body: JSON.stringify({ gateway: 'hub', secret: NEW }),
    })
    assert.equal(response.status, 403)
  })

  test('the newest deliveries are kept, up to a number and a size', async () => {
    for (let n = 0; n < 55; n++) await daemon.post('/hub', `{"m":${n}}`, github(NEW, `{"m":${n}}`))
    assert.partialDeepStrictEqual(await attempt({ gateway: 'hub', secret: NEW }), { fits: 50, tried: 50 })
    const large = JSON.stringify('x'.repeat(700_000))
    for (let n = 0; n < 2; n++) await daemon.post('/hub', large, github(NEW, large))
    assert.equal((await attempt({ gateway: 'hub', secret: NEW })).tried, 1)
  })

  test('traffic has the numbers of accepted and refused deliveries, and the time of the last message', async () => {
    const good = await daemon.post('/hub', '{"ok":1}', github(OLD, '{"ok":1}'))
    assert.equal(good.status, 202)
    const [hub] = [await daemon.invoke('gateway-traffic', { gateway: 'hub' })]
      .flat()
      .map((each) => Object(each))
    // The tests above had 3 + 55 + 2 deliveries refused.
    assert.partialDeepStrictEqual(hub, { gateway: 'hub', accepted: 1, refused: 60, errorShare: 0.9836 })
    assert.ok(Date.now() - hub.lastAt < 60_000)
    assert.equal(hub.minutes.accepted.length, 60)
    assert.match((await site.run(['gateway', 'traffic'])).out, /hub\s+ok\s+0\.2\s+1\s+60 \(98\.4 %\)/)
  })

  test('traffic over time has messages, failed ones and refusals, also after a restart', async () => {
    const historyOf = async (since: string) => {
      const [hub] = [await daemon.invoke('gateway-traffic', { gateway: 'hub', since })].flat()
      const { history } = Object(hub)
      const sum = (counts: number[]) => counts.reduce((all, count) => all + count, 0)
      const spans = [history.accepted, history.failed, history.refused].map(({ length }) => length)
      assert.equal(new Set(spans).size, 1)
      const { width, accepted, failed, refused } = history
      return { width, sums: [accepted, failed, refused].map(sum) }
    }
    const sums = [1, 0, 60]
    assert.deepEqual(await historyOf('15m'), { width: 60_000, sums })
    assert.deepEqual((await historyOf('7d')).sums, sums)
    await daemon.end()
    daemon = await site.start()
    assert.deepEqual(await historyOf('6h'), { width: 300_000, sums })
    // The last hour has them too, in each list.
    const [hub] = [await daemon.invoke('gateway-traffic', { gateway: 'hub' })].flat()
    assert.partialDeepStrictEqual(hub, { accepted: 1, refused: 60, errorShare: 0.9836 })
    assert.match((await site.run(['gateway', 'list'])).out, /^hub\t.*\t60 \(98\.4 %\)\t/m)
    const { out, err } = await site.run(['gateway', 'traffic', '--gateway', 'hub', '--since', '1h'])
    assert.match(out, /^from\tmessages\tfailed\trefused\n\d{4}-.*\t\d+\n/)
    assert.match(err, /^hub: 1 message, 0 of them failed, 60 refused, in spans of 1 min\.$/m)
    assert.match((await site.run(['gateway', 'traffic', '--since', '1h'])).err, /need.* gateway/)
  })

  test('a tried secret is neither on disk nor in the log', async () => {
    await daemon.end()
    const files = readdirSync(site.dir, { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile() && each.name !== 'routes.yaml')
      .map((each) => join(each.parentPath, each.name))
    const holding = files.filter((path) => readFileSync(path).includes(NEW))
    assert.deepEqual(holding, [])
    assert.ok(!daemon.output().includes(NEW))
  })
})
