import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'

const ROUTES = `
gateways:
  hub: { transport: webhook, path: /hub, verify: { scheme: github, secret: "\${HUB_SECRET}" } }
  cli: { transport: cli }
routes:
  - { name: pushes, match: { gateway: hub }, skill: echo }
`

describe('a gateway that refuses every delivery', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  const secret = { HUB_SECRET: 'the-secret-of-the-hub' }
  const daemon = await site.start(secret)
  for (let n = 0; n < 12; n++) {
    const headers = { 'x-hub-signature-256': `sha256=${'ab'.repeat(32)}`, 'x-github-event': 'ping' }
    const { status } = await fetch(`${daemon.url}/hub`, { method: 'POST', headers, body: `{"n":${n}}` })
    assert.equal(status, 401)
  }
  const run = async (...args: string[]) => {
    const { code, out, err } = await site.run(args, secret)
    assert.equal(code, 0, err)
    return out
  }

  /** The list of refusals: its rows, and the notes beside them. */
  const refused = (...args: string[]) => site.run(['refusal', 'list', ...args], secret)

  test('is shown as refusing in every list', async () => {
    assert.match(
      await run('gateway', 'list'),
      /^hub\s+webhook\s+none\s+0\s+12 \(100\.0 %\)\s+refuses every delivery$/m,
    )
    assert.match(await run('gateway', 'traffic'), /^hub\s+refuses all\t.*12 \(100\.0 %\)/m)
    assert.match(await run('status'), /^hub\s+webhook\s+refuses every delivery$/m)
    const [hub] = JSON.parse(await run('gateway', 'list', '--json'))
    assert.deepEqual([hub.ok, hub.refuses], [true, 'every delivery'])
    const cli = JSON.parse(await run('gateway', 'list', '--json')).find(
      ({ name }: { name: string }) => name === 'cli',
    )
    assert.equal(cli.refuses, undefined)
  })

  test('is shown with the cause before the single refusals', async () => {
    const { out, err } = await refused()
    assert.match(
      err,
      /^hub: 12 of 12 deliveries refused since .* \(signature_invalid\)\n {2}No delivery was ever accepted/,
    )
    assert.match(err, /\n {2}→ Copy the secret from the sender into `verify`/)
    assert.match(out, /\n12\t\d{4}-\S+Z\thub\t.*\{"n":\d+\}/)
    const each = await run('refusal', 'list', '--each')
    assert.equal(each.match(/\{"n":\d+\}/g)?.length, 12)
  })

  test('is shown as accepting again after a delivery with a signature that fits', async () => {
    const body = '{"n":99}'
    const signature = createHmac('sha256', secret.HUB_SECRET).update(body).digest('hex')
    const deliver = async (n: number) => {
      const headers = {
        'x-hub-signature-256': `sha256=${signature}`,
        'x-github-event': 'ping',
        'x-github-delivery': `delivery-${n}`,
      }
      const { status } = await fetch(`${daemon.url}/hub`, { method: 'POST', headers, body })
      assert.ok(status < 300, String(status))
    }
    for (let n = 0; n < 3; n++) await deliver(n)
    assert.match(
      await run('gateway', 'list'),
      /^hub\s+webhook\s+20\S+Z\s+\S+\s+12 \(80\.0 %\)\s+ok, accepts deliveries again$/m,
    )
    assert.match(await run('status'), /^hub\s+webhook\s+ok, accepts deliveries again$/m)
    assert.match(
      await run('gateway', 'show', 'hub'),
      /^ok, accepts deliveries again; the last refusal was at 20.* UTC \(\d+ (?:s|min) ago\)/m,
    )
    assert.match(
      (await refused()).err,
      /^hub: 12 of 12 deliveries refused\s+from .* to .* \(\d+ (?:s|min)\), 3 accepted\s+since \(signature_invalid\)/,
    )
    const { page, show, shots } = await openConsole(() => daemon)
    await show('gateways')
    const card = page.getByRole('article', { name: 'hub' })
    await card.getByText('accepts deliveries again', { exact: true }).waitFor()
    await card.getByText(/^12 refused \(80 %\), last (under a minute|\d+ .+) ago$/).waitFor()
    await page
      .getByRole('navigation', { name: 'Views' })
      .getByRole('link', { name: 'Gateways', exact: true })
      .waitFor()
    await shots('gateway-recovered')
    await show('now')
    const recovering = page.getByRole('list', { name: 'Recovering' })
    await recovering.getByRole('link', { name: 'Gateway hub accepts deliveries again' }).waitFor()
    assert.equal(await page.getByRole('list', { name: 'Paused' }).count(), 0)
    await show('gateways/hub')
    const group = page.locator('.refusal-groups > li')
    await group.getByText(/^refused from .* to .* \(lasted \d+ (?:s|min)\)$/).waitFor()
    await group.getByText(/^3 accepted since\. Last good delivery/).waitFor()
    assert.equal(await group.getByText('of the deliveries').count(), 0)
    // Refusals that are over are not red.
    await page.locator('.figure', { hasText: 'Refused' }).locator('b:not(.bad)').waitFor()
    // Those that are alike are one row, which has each of them.
    await page.getByText('Each of the 12', { exact: true }).click()
    const sent = await page.locator('.refusals ol > li pre').allTextContents()
    assert.equal(new Set(sent).size, 12)
    // With the headers, but without signatures.
    for (const one of sent) {
      assert.match(one, /^x-github-event: ping$/m)
      assert.match(one, /^x-hub-signature-256: sha256=\[64 characters\]$/m)
    }
    assert.deepEqual(await faultsOf(page), [])
    // What was accepted before a change proves nothing about it.
    site.write('routes.yaml', ROUTES.replace(`"\${HUB_SECRET}"`, `["\${HUB_SECRET}", "another"]`))
    const { ok } = await fetch(`${daemon.control}/v1/reload`, {
      method: 'POST',
      headers: { authorization: `Bearer ${daemon.token}` },
    })
    assert.ok(ok)
    await page.getByText(/^The gateway was changed .* Nothing was delivered since\.$/).waitFor()
    await group.getByText(/^The new configuration would accept none of the 12 refused deliveries/).waitFor()
    assert.match(
      await run('gateway', 'show', 'hub'),
      /^ok, changed, and has accepted nothing since \(\d+ (?:s|min) ago\)/m,
    )
    assert.match(await run('gateway', 'list'), /ok, changed, and has accepted nothing since$/m)
    assert.match(
      (await refused()).err,
      /\n {2}Changed at .* after the last refusal; nothing\s+was delivered since\.\n {2}The new configuration would accept none/,
    )
    // An open page follows what is accepted.
    await deliver(3)
    await group.getByText(/^4 accepted since\. Last good delivery \d+ (?:s|min) ago/).waitFor()
    await page.getByText(/^The gateway was changed .* 1 accepted since\.$/).waitFor()
  })

  test('does not prevent a command without its secret', async () => {
    const result = await site.run(['history', '--channel', 'hub'])
    assert.deepEqual([result.code, result.out], [0, ''])
    assert.match(
      result.err,
      /^Nothing found\. Messages at hub cannot be answered.*`trivium message list --gateway hub`/,
    )
  })
})
