import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { argumentsOf, flagsOf } from '../../src/cli/operation-flags.ts'
import { refuseTimes } from '../../src/cli/time-as-id.ts'
import { spokenArguments } from '../../src/core/spoken.ts'
import { looksLikeTime } from '../../src/core/units.ts'
import { builtInSkills } from '../../src/daemon/built-in-skills.ts'
import { openSite } from '../fixtures/daemon.ts'

const ROUTES = `
subscriptions:
  - { name: crm, url: "https://crm.example/hook", secret: whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3 }
`

test('each argument of a built-in skill that takes an id refuses a time', () => {
  let checked = 0
  for (const { name, args } of builtInSkills) {
    for (const [argument, { id }] of Object.entries(spokenArguments(args))) {
      if ((id === undefined && argument !== 'before') || id === 'conversation') continue
      checked++
      const flags = flagsOf(argumentsOf(args), args)
      const refuse = () => refuseTimes(args, { [argument]: '2026-11-28T14:00Z' }, flags)
      assert.throws(
        refuse,
        /^TriviumError: --?[a-z-]+ takes (an id|the id of an? [a-z ]+), not a time\./,
        `${name} ${argument}`,
      )
      refuseTimes(args, { [argument]: '019ac3a0-7f11-7c3e-8000-0123456789ab' }, flags)
    }
  }
  assert.ok(checked > 20, `${checked}`)
})

test('a part of an id is no time, even if it could be an age', () => {
  for (const part of ['120d', '2026', '7f11ac3a', '019ac3a0-7f11', 'outbox:019ac3a0:team:0', 'job-1'])
    assert.equal(looksLikeTime(part), false, part)
  for (const time of ['2026-11-28T14:00Z', '2026-11-28', 'yesterday', 'monday 9:30', '2h'])
    assert.equal(looksLikeTime(time), true, time)
})

describe('a replay', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()

  test('with a time as an id is refused, and names the flag for it', async () => {
    const { code, err } = await site.run(['subscription', 'replay', 'crm', '--from', '2026-11-28T14:00Z'])
    assert.equal(code, 2)
    assert.match(
      err,
      /--from takes the id of an event, not a time\. For a time: --since "2026-11-28T14:00Z"\./,
    )
    const args = { name: 'crm', to: 'yesterday' }
    await assert.rejects(
      daemon.invoke('subscription-replay', args),
      /to: expected an id; for a time use `until`/,
    )
  })
})
