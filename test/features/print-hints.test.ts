import assert from 'node:assert/strict'
import { test } from 'node:test'
import { humanResult } from '../../src/cli/skill-output.ts'
import { wholeText } from '../../src/lib/printed.ts'

const words = (name: string, result: object, args = {}) =>
  wholeText(humanResult(name, JSON.parse(JSON.stringify(result)), args, true)).replaceAll(/\s+/g, ' ')

test('a secret that fits is followed by what to do with it', () => {
  const tried = { ok: true, fits: 50, tried: 50 }
  assert.match(words('refused-try', tried, { gateway: 'shop' }), /Add it to `verify` of the gateway shop/)
  const other = { ok: false, fits: 0, tried: 50, reason: 'signature_invalid' }
  assert.doesNotMatch(words('refused-try', other, { gateway: 'shop' }), /verify/)
  const secret = { setting: 'verify.secret', file: 'routes.yaml', line: 8 }
  const of = (more: object) => words('refused-try', { ...tried, ...more }, { gateway: 'shop' })
  assert.match(
    of({ secrets: [{ ...secret, variables: ['A'] }] }),
    /`secret: \["\$\{A\}", "\$\{A_NEW\}"\]`.*change `A`/,
  )
  assert.match(of({ secrets: [{ ...secret, variables: ['A', 'B'] }], isChanged: true }), /Set `B` in \.env/)
  assert.match(of({ isInForce: true }), /in force already/)
})

test('the dry run of a replay of one second names it once, and says how to deliver', () => {
  const at = Date.UTC(2026, 10, 29, 14, 19, 35)
  const counts = { events: 6, redelivered: 4, queued: 2, delivered: 4, firstAt: at, lastAt: at }
  const text = words('subscription-replay', counts)
  assert.match(text, /, of 6 at 2026-11-29 14:19:35 UTC\. 4 events were delivered before/)
  assert.match(text, /2 events wait for an attempt already: delivered once\./)
  assert.match(text, /leave out --dry-run/)
})

test('a pause without an end and a reason names the flags for both', () => {
  const pause = { kind: 'skill', name: 'label' }
  assert.match(words('skill-pause', { pause }), /`--for 2h` sets an end, `--reason TEXT` tells others why/)
  assert.doesNotMatch(words('skill-pause', { pause: { ...pause, until: 1, reason: 'x' } }), /--/)
})
