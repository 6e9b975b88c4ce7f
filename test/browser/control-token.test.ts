import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { createControlToken } from '../../src/api/token.ts'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole, openContext } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

describe('the control token', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: 'routes: [{ name: rest, skill: echo, fallback: true }]' })
  const daemon = await site.start()
  const { page, show, press, answer } = await openConsole(() => daemon)
  const stored = () => readFileSync(join(site.dir, '.trivium', 'control-token'), 'utf8').trim()
  const statusWith = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(`${daemon.control}/v1/status`, { headers })).status
  }

  test('can be replaced in the console, which signs everybody else out', async () => {
    const before = stored()
    const other = await (await openContext()).newPage()
    await other.goto(`${daemon.control}/#token=${before}`)
    await other.getByText('Live', { exact: true }).waitFor()
    const stream = fetch(`${daemon.control}/v1/stream`, { headers: { authorization: `Bearer ${before}` } })
    const reader = (await stream).body?.getReader()
    assert.ok(reader)
    const streamEnded = (async () => {
      for (;;) if ((await reader.read()).done) return
    })().catch(() => undefined)
    await show('configuration')
    await press('Replace the control token …')
    await answer('Replace')
    await page.getByText(/The new control token is in .*control-token/).waitFor()
    await streamEnded
    assert.notEqual(stored(), before)
    assert.deepEqual([await statusWith(before), await statusWith(stored())], [401, 200])
    await other.getByLabel('Control token').waitFor()
    await show('audit')
    await page.getByRole('row').filter({ hasText: 'Replaced the control token' }).getByText('done').waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    await show('configuration')
    await page.getByRole('heading', { name: 'Control token' }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
  })

  test('can be replaced by `trivium token rotate`; later commands use the new one', async () => {
    const before = stored()
    const { out, code } = await site.run(['token', 'rotate'])
    assert.equal(code, 0)
    assert.match(out, /replaced; the new one is in .*control-token/)
    assert.doesNotMatch(out, new RegExp(stored()))
    assert.equal(await statusWith(before), 401)
    assert.equal((await site.run(['status'])).code, 0)
    await until(async () => (await page.getByLabel('Control token').count()) > 0, 'the sign-in form')
  })

  test('cannot be replaced by the daemon if it was set by TRIVIUM_TOKEN', async () => {
    const { rotate, current } = createControlToken(site.dir, 'a-token-of-mine')
    await assert.rejects(rotate(), /bad_request|TRIVIUM_TOKEN.*restart/)
    assert.equal(current(), 'a-token-of-mine')
  })
})
