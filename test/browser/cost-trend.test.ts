import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { DAY, MINUTE } from '../../src/core/units.ts'
import { createCostLedger } from '../../src/features/usage/cost-ledger.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { silent, toEvent } from '../features/kit.ts'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

/** The cost (EUR) of usage at these ages (ms). */
const USED = [
  [0, 0.06],
  [25 * MINUTE, 0.01],
  [DAY, 0.03],
  [8 * DAY, 0.02],
] as const

describe('the trend of the cost', { timeout: 300_000 }, async () => {
  const site = openSite({
    routes:
      'model: { name: "openai:m", prices: { "*:m": { input: 1, output: 1 } }, budget: { total: 20 EUR/30d } }\n',
  })
  await spendBefore(join(site.dir, '.trivium'))
  const daemon = await site.start()
  const { page, show, shots } = await openConsole(() => daemon)
  const cost = page.locator('.figure').filter({ hasText: 'Cost' })
  const words = async () => ((await cost.textContent()) ?? '').replace(/\s+/g, ' ')

  test('of a short time is that of the shown amount, up to now', async () => {
    await show('cost?since=15m')
    await cost.getByText('▲ 500 %').waitFor()
    assert.match(
      await words(),
      /0\.060 EUR ?▲ 500 % in .*\d\d:\d[05] to .*\d\d:\d\d UTC, compared with .* UTC \(0\.010 EUR\)$/,
    )
    assert.deepEqual(await faultsOf(page), [])
    await shots('cost-trend')
    const { out } = await site.run(['cost', '--since', '15m', '--compare'])
    assert.match(out.replace(/\s+/g, ' '), /UTC: 0\.06 EUR, ▲ 500 %, against 0\.01 EUR from /)
  })

  test('of days leaves out today, and shows the amount that is compared', async () => {
    await show('cost')
    // Until it has loaded, the page has the short time of before.
    await until(async () => !(await words()).includes('UTC'), 'the days')
    assert.match(
      await words(),
      /▲ \d+ % in \d+ (\w+ )?to \d+ \w+ \(0\.(?:03|04|10)0? EUR\), compared with \d+ (\w+ )?to \d+ \w+ \(0\.020 EUR\)$/,
    )
  })
})

/** Stores usage of the past, before a daemon runs. */
async function spendBefore(dir: string): Promise<void> {
  mkdirSync(dir, { recursive: true })
  const store = await createEmbeddedStore({ dir, log: silent, toEvent })
  const start = Date.now()
  for (const [age, money] of USED) {
    const ledger = createCostLedger({ kv: store.kv, now: () => start - age })
    await ledger.add({
      model: 'openai:m',
      skill: 's',
      sender: 'ada',
      inputTokens: 100,
      outputTokens: 0,
      money,
    })
  }
  await store.close()
}
