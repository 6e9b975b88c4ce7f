import assert from 'node:assert/strict'
import { test } from 'node:test'
import { humanResult } from '../../src/cli/skill-output.ts'

const pause = {
  kind: 'route',
  name: 'confirm-orders',
  since: Date.now() - 3_600_000,
  waiting: 12,
  reason: 'a wave of spam from one sender',
  by: 'oidc:ingrid@kitchen.example',
}

test('a list of pauses says at any width who paused and why', (t) => {
  const { columns } = process.stdout
  t.after(() => {
    process.stdout.columns = columns
  })
  const at = (width: number) => {
    process.stdout.columns = width
    return humanResult('pause-list', [pause], {}, true)
  }
  assert.match(at(80), /confirm-orders .* 12\n {2}ingrid@kitchen.example: a wave of spam from one sender\n/)
  assert.match(at(140), /confirm-orders .* 12 +ingrid@kitchen.example +a wave of spam from one sender\n/)
  for (const width of [48, 80, 140]) assert.match(at(width), /wave of spam/)
})
